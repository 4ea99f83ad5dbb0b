package cacher

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/selector"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/watcher"
)

// ListOptions are the options of a Kubernetes list request.
type ListOptions struct {
	Namespace       string
	Selection       selector.Selection
	ResourceVersion string
	Match           api.Match
	Limit           uint32
	Continue        string
	// Meter, if not nil, is charged for the evaluation of selectors by Pages, which
	// stop while it is exhausted. List ignores it.
	Meter *watcher.Meter
}

// ListResult is the result of a list. Items are in key order. They have no
// references and are valid only during the callback.
type ListResult struct {
	Items           []store.Ref
	ResourceVersion api.ResourceVersion
	Continue        string
	// Remaining is the number of items after this page. It is zero if unknown, as
	// under a selector (rules C42, C43).
	Remaining uint64
	// Paged means that a limit was given, so the result may be incomplete.
	Paged  bool
	prefix string // of the keys; continue tokens omit it
	counts bool   // whether Remaining is known
}

// Cut truncates a page to its first n items and sets its continue token. The last
// remaining item has the given key. A page has at least one item and may be shorter
// than its limit (rule P16).
func (r *ListResult) Cut(n int, last api.Key) {
	if r.counts {
		r.Remaining += uint64(len(r.Items) - n)
	}
	r.Items = r.Items[:n]
	r.Continue = formatContinue(r.ResourceVersion, string(last)[len(r.prefix):]+"\x00")
}

const expiredContinue = "The provided continue parameter is too old to display a consistent list result. " +
	"You can start a new list without it, or use the continue token of this response to continue with the latest " +
	"state, which may lack or repeat objects that changed since."

// List validates the options and calls done when the collection is fresh enough
// (rules C39 to C52). An invalid request returns an error immediately and done is
// not called. The 410 for an expired continue token comes with a result that
// contains only a token to continue with (rule C52).
func (c *Cacher) List(opt ListOptions, done func(*ListResult, *api.Status)) *api.Status {
	plan, filter, status := c.planList(&opt)
	if status != nil {
		return status
	}
	c.waits.WhenFresh(plan.notOlderThan, func(status *api.Status) {
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
	filter, status := c.newFilter(o.Namespace, o.Selection)
	if status != nil {
		return plan, nil, status
	}
	plan.from, plan.to = c.span(filter.Scope())
	plan.from = max(plan.from, api.Key(plan.prefix+plan.start))
	return plan, filter, nil
}

// span returns the range [from, to) of the keys of a scope. An empty to means no
// upper bound.
func (c *Cacher) span(s api.Scope) (from, to api.Key) {
	switch {
	case s.Name != "" && (s.Namespace != "" || !c.schema.Namespaced):
		key := api.NewKey(s.Namespace, s.Name)
		return key, key + "\x00"
	case s.Namespace != "":
		return api.Key(s.Namespace + "/"), api.Key(s.Namespace + "0") // "0" follows "/"
	}
	return "", ""
}

// Survey returns the resource version that a list waits for, and the number of
// objects that it examines.
func (o ListOptions) Survey(c *Cacher) (notOlderThan api.ResourceVersion, objects int, status *api.Status) {
	plan, filter, status := c.planList(&o)
	if status != nil {
		return 0, 0, status
	}
	objects = c.state.Between(plan.from, plan.to)
	if plan.limit > 0 && !filter.Selective() {
		objects = min(objects, plan.limit)
	}
	return plan.notOlderThan, objects, nil
}

// listPlan is the result of the decision table of rule C39.
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
	case o.Match == api.MatchExact, o.Match == api.MatchUnset && o.Limit > 0 && rv > 0:
		plan.exact = rv
	case o.ResourceVersion == "0":
		plan.limit = 0 // rule C40
	}
	return plan, nil
}

// validate rejects contradictory options (rule C47).
func (o *ListOptions) validate(rv api.ResourceVersion) *api.Status {
	switch {
	case o.Match != api.MatchUnset && o.Continue != "":
		return api.Invalid("resourceVersionMatch is forbidden when continue is given")
	case o.Match != api.MatchUnset && o.ResourceVersion == "":
		return api.Invalid("resourceVersionMatch is forbidden unless resourceVersion is given")
	case o.Match == api.MatchExact && rv == 0:
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
	s := scan{plan: p, filter: filter, state: state, next: p.from}
	_, status = s.run(r, func(ref store.Ref) { r.Items = append(r.Items, ref) })
	if status == nil {
		status = c.restored.corruption
	}
	if status != nil {
		return nil, status
	}
	return r, nil
}

// openList returns the state to list.
func (c *Cacher) openList(p *listPlan, filter *watcher.Filter) (*ListResult, *past, *api.Status) {
	r := &ListResult{ResourceVersion: c.at.Version, Paged: p.limit > 0, prefix: p.prefix, counts: !filter.Selective()}
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

// scan determines the items of a list. It can stop and continue later, while the
// state can be read.
type scan struct {
	plan   *listPlan
	filter *watcher.Filter
	state  *past
	next   api.Key // the first unread key
	items  int
	last   string // key of the last item
}

// run yields the next items until the filter's meter is exhausted, and reports
// whether these were all. Then it sets Remaining and Continue.
func (s *scan) run(r *ListResult, yield func(store.Ref)) (done bool, status *api.Status) {
	p, filter, heap := s.plan, s.filter, s.state.cacher.heap
	if !s.state.catchUp(s.next) {
		return true, r.expired()
	}
	done = true
	s.state.ascend(s.next, func(ref store.Ref) bool {
		key := heap.Key(ref)
		if p.beyond(key) {
			return false
		}
		if filter.Exhausted() {
			done, s.next = false, api.Key(lite.Clone(string(key)))
			return false
		}
		if !filter.Covers(key) {
			return true // the client must not learn of its existence
		}
		if p.limit > 0 && s.items == p.limit {
			r.Remaining++
			return !filter.Selective()
		}
		if filter.Matches(ref) {
			s.items++
			s.last = string(key)
			yield(ref)
		}
		return true
	})
	if !done {
		s.last = lite.Clone(s.last) // the heap may reuse the memory
		return false, nil
	}
	if r.Remaining > 0 {
		r.Continue = formatContinue(r.ResourceVersion, s.last[len(p.prefix):]+"\x00")
	}
	if filter.Selective() {
		r.Remaining = 0
	}
	return true, nil
}

// expired returns the status of a list whose state can no longer be read.
func (r *ListResult) expired() *api.Status {
	return api.Expired("the objects at resource version " + r.ResourceVersion.String() +
		" can no longer be read: the collection changed too much or was relisted; list again")
}

// beyond reports whether a key is after the range of the list.
func (p *listPlan) beyond(key api.Key) bool { return p.to != "" && key >= p.to }

// namespacePrefix returns the prefix of all keys of a namespace.
func namespacePrefix(namespace string) string {
	if namespace == "" {
		return ""
	}
	return namespace + "/"
}
