package cacher

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/watcher"
)

// Pages is a list that is read in parts, all at one resource version. Between two
// reads it holds no references to versions, regardless of the number of objects.
// It can continue as long as the window has all changes since the list was
// opened.
type Pages struct {
	ListResult // without Items

	cacher *Cacher
	plan   listPlan
	filter *watcher.Filter
	state  *past
	next   api.Key // the first unread key
	count  *scan   // counts the items of a list with a limit; nil after the count
	left   int     // remaining items of a list with a limit
}

// maxScanned is the number of objects that one read examines.
const maxScanned = 4096

// OpenList is like List for a result that is read with Pages.Next, after
// Pages.Prepare has reported that it is prepared.
func (c *Cacher) OpenList(opt ListOptions, done func(*Pages, *api.Status)) *api.Status {
	plan, filter, status := c.planList(&opt)
	if status != nil {
		return status
	}
	filter.Meter(opt.Meter)
	c.waits.WhenFresh(plan.notOlderThan, func(status *api.Status) {
		if status != nil {
			done(nil, status)
			return
		}
		done(c.openPages(&plan, filter))
	})
	return nil
}

func (c *Cacher) openPages(plan *listPlan, filter *watcher.Filter) (*Pages, *api.Status) {
	r, state, status := c.openList(plan, filter)
	if status != nil {
		return nil, status
	}
	p := &Pages{ListResult: *r, cacher: c, plan: *plan, filter: filter, state: state, next: plan.from}
	if plan.limit > 0 {
		counted := *state
		p.count = &scan{plan: &p.plan, filter: filter, state: &counted, next: plan.from}
	}
	return p, nil
}

// Prepare counts the items of a list with a limit until the meter is exhausted. It
// reports whether the list is prepared. Continue and Remaining are then set. It
// fails with 410 like Next.
func (p *Pages) Prepare() (done bool, status *api.Status) {
	if p.count == nil {
		return true, nil
	}
	done, status = p.count.run(&p.ListResult, func(store.Ref) { p.left++ })
	if p.cacher.restored.corruption != nil {
		return true, p.cacher.restored.corruption
	}
	if done && status == nil {
		p.count = nil
	}
	return done, status
}

// Next yields the next items until take returns false, maxScanned objects were
// examined or the meter is exhausted, and reports whether the list is complete. It adds no references. It
// fails with 410 if the window has evicted changes since the list was opened.
func (p *Pages) Next(take func(*Cacher, store.Ref) (more bool)) (done bool, status *api.Status) {
	c := p.cacher
	if !p.state.catchUp(p.next) {
		return true, p.expired()
	}
	scanned, full := 0, false
	done = true
	p.state.ascend(p.next, func(ref store.Ref) bool {
		key := c.heap.Key(ref)
		switch {
		case p.plan.beyond(key), p.plan.limit > 0 && p.left == 0:
			return false
		case full, scanned == maxScanned, p.filter.Exhausted():
			done, p.next = false, api.Key(lite.Clone(string(key)))
			return false
		}
		scanned++
		if p.filter.Matches(ref) {
			p.left--
			full = !take(c, ref)
		}
		return true
	})
	if c.restored.corruption != nil {
		return true, c.restored.corruption
	}
	return done, nil
}
