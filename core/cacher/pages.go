package cacher

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/watcher"
)

// Pages is a list that is read in parts, all at one resource version. Call Next only
// after Prepare has reported that the list is prepared; All calls Prepare and Next.
// Between two reads, a list holds no references to versions. The list can continue as
// long as the window has all changes after ResourceVersion.
type Pages struct {
	ResourceVersion api.ResourceVersion
	// Continue is the token of the next page, or empty. Prepare sets it.
	Continue string
	// Remaining is the number of items after this page. It is zero if unknown, as
	// under a selector (rules C42, C43). Prepare sets it.
	Remaining uint64
	// Limited means that the list has a limit, so it may be incomplete.
	Limited bool

	cacher *Cacher
	plan   listPlan
	filter *watcher.Filter
	state  *past
	next   api.Key // the first unread key
	count  *count  // nil for a list without limit, and after the count
	left   int     // remaining items of a list with a limit
}

// count is the progress of Prepare, which counts the items of a list with a limit.
type count struct {
	state *past
	next  api.Key // the first key that is not counted
	last  string  // key of the last item
}

// maxScanned is the maximum number of objects that one call of Next examines.
const maxScanned = 4096

const expiredContinue = "The provided continue parameter is too old to display a consistent list result. " +
	"You can start a new list without it, or use the continue token of this response to continue with the latest " +
	"state, which may lack or repeat objects that changed since."

// open opens a list at the state that the plan selects. The 410 for an expired continue
// token contains a token that continues with the latest state (rule C52).
func (c *Cacher) open(plan *listPlan, filter *watcher.Filter) (*Pages, *api.Status) {
	p := &Pages{
		ResourceVersion: c.at.Version, Limited: plan.limit > 0, cacher: c, plan: *plan, filter: filter, next: plan.from,
	}
	if plan.exact == 0 {
		p.state = c.stateNow()
	} else {
		state, status := c.stateAt(plan.exact)
		if status != nil {
			if plan.continued {
				status = api.Expired(expiredContinue)
				status.Continue = formatContinue(0, plan.start)
			}
			return nil, status
		}
		p.state, p.ResourceVersion = state, plan.exact
	}
	if p.Limited {
		counted := *p.state
		p.count = &count{state: &counted, next: plan.from}
	}
	return p, nil
}

// Prepare counts the items of a list with a limit until the meter is exhausted. It
// reports whether the count is complete, in which case Continue and Remaining are set.
// Like Next, it fails with 410 if the window has evicted changes after ResourceVersion.
func (p *Pages) Prepare() (done bool, status *api.Status) {
	n := p.count
	if n == nil {
		return true, nil
	}
	if !n.state.catchUp(n.next) {
		return true, p.expired()
	}
	done = true
	n.state.ascend(n.next, func(ref store.Ref) bool {
		key := p.cacher.arena.Key(ref)
		if p.plan.beyond(key) {
			return false
		}
		if p.filter.Exhausted() {
			done, n.next = false, api.Key(lite.Clone(string(key)))
			return false
		}
		if !p.filter.Covers(key) {
			return true // the client must not learn that the object exists
		}
		if p.left == p.plan.limit {
			p.Remaining++
			return !p.filter.Selective()
		}
		if p.filter.Matches(ref) {
			p.left++
			n.last = string(key)
		}
		return true
	})
	n.last = lite.Clone(n.last) // the arena may reuse the memory
	if corruption := p.cacher.restored.corruption; corruption != nil {
		return true, corruption
	}
	if done {
		p.counted(api.Key(n.last))
	}
	return done, nil
}

// counted sets Continue and Remaining after the count. The argument last is the key of
// the last item on the page.
func (p *Pages) counted(last api.Key) {
	p.count = nil
	if p.Remaining > 0 {
		p.continueAfter(last)
	}
	if p.filter.Selective() {
		p.Remaining = 0
	}
}

func (p *Pages) continueAfter(last api.Key) {
	p.Continue = formatContinue(p.ResourceVersion, string(last)[len(p.plan.prefix):]+"\x00")
}

// Next yields the next items, and reports whether the list is complete. It stops when take
// returns false, maxScanned objects were examined, or the meter is exhausted. It adds no
// references to the items. It fails with 410 if the window has evicted changes after
// ResourceVersion.
func (p *Pages) Next(take func(*Cacher, store.Ref) (more bool)) (done bool, status *api.Status) {
	c := p.cacher
	if !p.state.catchUp(p.next) {
		return true, p.expired()
	}
	scanned, full := 0, false
	done = true
	p.state.ascend(p.next, func(ref store.Ref) bool {
		key := c.arena.Key(ref)
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

// All returns the items of a list without a meter, in key order. All adds no
// references, so the items are valid only until the cacher changes.
func (p *Pages) All() (items []store.Ref, status *api.Status) {
	_, status = p.Prepare()
	for done := false; !done && status == nil; {
		done, status = p.Next(func(_ *Cacher, ref store.Ref) bool {
			items = append(items, ref)
			return true
		})
	}
	return items, status
}

// Cut ends a page after the item with the given key, omits the n items after it, and
// sets the continue token. A page has at least one item and may be shorter
// than its limit (rule P16).
func (p *Pages) Cut(last api.Key, n int) {
	if !p.filter.Selective() {
		p.Remaining += uint64(n)
	}
	p.continueAfter(last)
}

// expired returns the status of a list whose state can no longer be read.
func (p *Pages) expired() *api.Status {
	return api.Expired("the objects at resource version " + p.ResourceVersion.String() +
		" can no longer be read: the collection changed too much or was relisted; list again")
}
