package cacher

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/selector"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/watcher"
	"github.com/watchglass/watchglass/core/wire"
)

// ListOptions are those of a Kubernetes list request.
type ListOptions struct {
	Namespace       string
	Selection       selector.Selection
	ResourceVersion string
	Match           wire.Match
	Limit           uint32
	Continue        string
}

// ListResult is the answer to a list. Items are in ascending key order; they
// carry no counts and live only as long as the callback they are handed to.
type ListResult struct {
	Items           []store.Ref
	ResourceVersion api.ResourceVersion
	Continue        string
	// Remaining is how many items come after this page; zero when that is not
	// known, which it is not under a selector (rules C42, C43).
	Remaining uint64
	// Paged: less than all may be answered, as a limit was given.
	Paged  bool
	prefix string // of the keys, which a token leaves out
	counts bool   // Remaining
}

// Cut leaves out all but the first items of a page, of which the last has the
// key: there is always at least one, and a page may be shorter than its limit
// (rule P16).
func (r *ListResult) Cut(n int, last api.Key) {
	if r.counts {
		r.Remaining += uint64(len(r.Items) - n)
	}
	r.Items = r.Items[:n]
	r.Continue = formatContinue(r.ResourceVersion, string(last)[len(r.prefix):]+"\x00")
}

const expiredContinue = "The provided continue parameter is too old to display a consistent list result. " +
	"You can start a new list without it, or use the continue token of this response to go on with the latest " +
	"state, which may lack or repeat objects that changed since."

// List checks the options and answers once the collection is fresh enough
// (rules C39 to C52). A refusal that can be given at once is returned; done is
// then not called. With the 410 for a continue token comes a result that holds
// a token to go on with all the same (rule C52), and nothing else.
func (c *Cacher) List(opt ListOptions, done func(*ListResult, *api.Status)) *api.Status {
	plan, filter, status := c.planList(&opt)
	if status != nil {
		return status
	}
	c.WhenFresh(plan.notOlderThan, func(status *api.Status) {
		if status != nil {
			done(nil, status)
			return
		}
		done(c.list(&plan, filter))
	})
	return nil
}

func (c *Cacher) planList(o *ListOptions) (listPlan, *watcher.Filter, *api.Status) {
	plan, status := o.plan()
	if status != nil {
		return plan, nil, status
	}
	filter, status := c.NewFilter(o.Namespace, o.Selection)
	if status != nil {
		return plan, nil, status
	}
	plan.from, plan.to = c.span(filter.Scope())
	plan.from = max(plan.from, api.Key(plan.prefix+plan.start))
	return plan, filter, nil
}

// span is the range of the keys of a scope: from the first up to and without the last.
// An empty last key is the end.
func (c *Cacher) span(s api.Scope) (from, to api.Key) {
	switch {
	case s.Name != "" && (s.Namespace != "" || !c.schema.Namespaced):
		key := api.NewKey(s.Namespace, s.Name)
		return key, key + "\x00"
	case s.Namespace != "":
		return api.Key(s.Namespace + "/"), api.Key(s.Namespace + "0") // which follows the slash
	}
	return "", ""
}

// Survey returns what a list will take: the resource version that it waits for, and
// how many objects it looks at.
func (c *Cacher) Survey(opt ListOptions) (notOlderThan api.ResourceVersion, objects int, status *api.Status) {
	plan, filter, status := c.planList(&opt)
	if status != nil {
		return 0, 0, status
	}
	objects = c.state.Between(plan.from, plan.to)
	if plan.limit > 0 && !filter.Selective() {
		objects = min(objects, plan.limit)
	}
	return plan.notOlderThan, objects, nil
}

// listPlan is where the decision table of rule C39 leads.
type listPlan struct {
	notOlderThan api.ResourceVersion
	exact        api.ResourceVersion // zero for the latest state
	prefix       string              // of the keys of the namespace
	continued    bool
	start        string // after the prefix
	limit        int    // zero for no limit
	from, to     api.Key
}

func (o *ListOptions) plan() (listPlan, *api.Status) {
	rv, err := api.ParseResourceVersion(o.ResourceVersion)
	if err != nil {
		return listPlan{}, api.AsStatus(err)
	}
	if status := o.validate(rv); status != nil {
		return listPlan{}, status
	}
	plan := listPlan{notOlderThan: rv, limit: int(o.Limit), prefix: namespacePrefix(o.Namespace)}
	switch {
	case o.Continue != "":
		token, status := parseContinue(o.Continue)
		if status != nil {
			return listPlan{}, status
		}
		plan.continued, plan.start, plan.exact, plan.notOlderThan = true, token.start, token.rv, token.rv
	case o.Match == wire.MatchExact, o.Match == wire.MatchUnset && o.Limit > 0 && rv > 0:
		plan.exact = rv
	case o.ResourceVersion == "0":
		plan.limit = 0 // rule C40
	}
	return plan, nil
}

// validate refuses what contradicts itself (rule C47).
func (o *ListOptions) validate(rv api.ResourceVersion) *api.Status {
	switch {
	case o.Match != wire.MatchUnset && o.Continue != "":
		return api.Invalid("resourceVersionMatch is forbidden when continue is given")
	case o.Match != wire.MatchUnset && o.ResourceVersion == "":
		return api.Invalid("resourceVersionMatch is forbidden unless resourceVersion is given")
	case o.Match == wire.MatchExact && rv == 0:
		return api.Invalid(`resourceVersionMatch "Exact" is forbidden for resourceVersion "0"`)
	case o.Continue != "" && rv != 0:
		return api.BadRequest("resourceVersion must be empty when continue is given: the token has its own")
	}
	return nil
}

func (c *Cacher) list(p *listPlan, filter *watcher.Filter) (*ListResult, *api.Status) {
	r, state, status := c.openList(p, filter)
	if status != nil {
		return nil, status
	}
	status = c.scan(p, filter, state, r, func(ref store.Ref) { r.Items = append(r.Items, ref) })
	if status != nil {
		return nil, status
	}
	return r, nil
}

// openList finds the state to list.
func (c *Cacher) openList(p *listPlan, filter *watcher.Filter) (*ListResult, *past, *api.Status) {
	r := &ListResult{ResourceVersion: c.rv, Paged: p.limit > 0, prefix: p.prefix, counts: !filter.Selective()}
	if p.exact == 0 {
		return r, c.stateNow(), nil
	}
	r.ResourceVersion = p.exact
	state, status := c.stateAt(p.exact)
	if status != nil && p.continued {
		status = api.Expired(expiredContinue)
		status.Continue = formatContinue(0, p.start)
	}
	return r, state, status
}

// scan yields the items of a list, and finds out whether and where it goes on.
func (c *Cacher) scan(p *listPlan, filter *watcher.Filter, state *past, r *ListResult, yield func(store.Ref)) *api.Status {
	items, last := 0, ""
	state.catchUp(p.from)
	state.ascend(p.from, func(ref store.Ref) bool {
		if p.beyond(c.heap.Key(ref)) {
			return false
		}
		if !filter.Covers(c.heap.Key(ref)) {
			return true // neither it nor the number of its like may show
		}
		if p.limit > 0 && items == p.limit {
			r.Remaining++
			return !filter.Selective()
		}
		if filter.Matches(ref) {
			items++
			last = string(c.heap.Key(ref))
			yield(ref)
		}
		return true
	})
	if r.Remaining > 0 {
		r.Continue = formatContinue(r.ResourceVersion, last[len(p.prefix):]+"\x00")
	}
	if filter.Selective() {
		r.Remaining = 0
	}
	return c.damage
}

// beyond reports whether a key comes after those of the list.
func (p *listPlan) beyond(key api.Key) bool { return p.to != "" && key >= p.to }

// namespacePrefix is what the keys of a namespace begin with.
func namespacePrefix(namespace string) string {
	if namespace == "" {
		return ""
	}
	return namespace + "/"
}
