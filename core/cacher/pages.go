package cacher

import (
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/watcher"
)

// Pages is the answer to a list that is read some items at a time, all as of one
// resource version. Between two reads it holds no versions, whatever the number of
// objects: it goes on for as long as the window has what happened since.
type Pages struct {
	ListResult // without Items

	cacher *Cacher
	plan   listPlan
	filter *watcher.Filter
	state  *past
	next   api.Key // the first that was not read
	left   int     // items to read of a list that is limited
}

// maxScanned is how many objects one read looks at.
const maxScanned = 4096

// OpenList is like List for an answer that is read with Pages.Next.
func (c *Cacher) OpenList(opt ListOptions, done func(*Pages, *api.Status)) *api.Status {
	plan, filter, status := c.planList(&opt)
	if status != nil {
		return status
	}
	c.WhenFresh(plan.notOlderThan, func(status *api.Status) {
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
	p := &Pages{cacher: c, plan: *plan, filter: filter, state: state, next: plan.from}
	if plan.limit > 0 {
		if status := c.scan(plan, filter, state, r, func(store.Ref) { p.left++ }); status != nil {
			return nil, status
		}
	}
	p.ListResult = *r
	return p, nil
}

// Next yields the items that come next, without counts, until take returns false or
// enough was looked at, and reports whether those were all. It fails with a 410 when
// the window no longer has what happened since the list was opened.
func (p *Pages) Next(take func(*Cacher, store.Ref) (more bool)) (done bool, status *api.Status) {
	c := p.cacher
	if !p.state.catchUp(p.next) {
		return true, api.Expired("the objects at resource version " + p.ResourceVersion.String() +
			" changed too much or were listed anew while the list was being read, list again")
	}
	scanned, full := 0, false
	done = true
	p.state.ascend(p.next, func(ref store.Ref) bool {
		key := c.heap.Key(ref)
		switch {
		case p.plan.beyond(key), p.plan.limit > 0 && p.left == 0:
			return false
		case full, scanned == maxScanned:
			done, p.next = false, api.Key(strings.Clone(string(key)))
			return false
		}
		scanned++
		if p.filter.Matches(ref) {
			p.left--
			full = !take(c, ref)
		}
		return true
	})
	if c.damage != nil {
		return true, c.damage
	}
	return done, nil
}
