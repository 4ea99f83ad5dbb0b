package cacher

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/selector"
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
	// Meter, if not nil, is charged for the evaluation of selectors by Pages. Reads stop
	// while the meter is exhausted.
	Meter *watcher.Meter
}

// List validates the options and calls done with the opened list when the collection is
// fresh enough (rules C39 to C52). For an invalid request, List returns an error
// immediately and does not call done.
func (c *Cacher) List(opt ListOptions, done func(*Pages, *api.Status)) *api.Status {
	plan, filter, status := c.planList(&opt)
	if status != nil {
		return status
	}
	c.waits.WhenFresh(plan.notOlderThan, func(status *api.Status) {
		if status != nil {
			done(nil, status)
			return
		}
		done(c.open(&plan, filter))
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
	filter.Meter(o.Meter)
	plan.from, plan.to = c.span(filter.Scope())
	plan.from = max(plan.from, api.Key(plan.prefix+plan.start))
	return plan, filter, nil
}

// span returns the range [from, to) of the keys of a scope. If the result to is
// empty, the range has no upper bound.
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

// Survey returns the resource version that a list would wait for, and the number of
// objects that it would examine.
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
	prefix       string              // of all keys of the namespace
	continued    bool
	start        string // the first key, without the prefix
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

// beyond reports whether a key is after the range of the list.
func (p *listPlan) beyond(key api.Key) bool { return p.to != "" && key >= p.to }

// namespacePrefix returns the prefix of all keys of a namespace.
func namespacePrefix(namespace string) string {
	if namespace == "" {
		return ""
	}
	return namespace + "/"
}
