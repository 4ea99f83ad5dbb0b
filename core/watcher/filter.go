package watcher

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/selector"
	"github.com/watchglass/watchglass/core/store"
)

// Filter combines the scope of a request, its label and field selectors bound to the
// resource's fields, and a shard of the namespaces. It caches the results of the label
// selector by label set.
type Filter struct {
	// The fields that are read for every event come first.
	arena    *store.Arena
	placed   bool // the scope or the shard excludes some objects
	labelled bool // there is a label selector
	// freed is the value of Arena.Labels.Freed when the cached results were last
	// purged.
	freed  int
	fields selector.BoundFields
	labels selector.Memo
	scope  api.Scope
	shard  api.Shard
	// evaluations counts compared fields and the evaluations that Charge adds.
	evaluations uint64
	meter       *Meter
	meterAll    bool
}

// NewFilter binds selectors to a resource. It returns a 400 for an undeclared
// field, and for a namespace if the resource is cluster-scoped.
func NewFilter(arena *store.Arena, schema *api.Schema, namespace string, s selector.Selection) (*Filter, *api.Status) {
	if namespace != "" && !schema.Namespaced {
		return nil, api.BadRequest(schema.Resource.String() + " is not namespaced; omit the namespace")
	}
	f := &Filter{arena: arena, freed: arena.Labels.Freed()}
	if !s.Labels.Empty() {
		f.labelled, f.labels = true, *selector.NewMemo(s.Labels)
	}
	var err error
	if f.fields, err = s.Fields.Bind(schema.Fields); err != nil {
		return nil, api.AsStatus(err)
	}
	f.scope = selector.ScopeOf(namespace, s.Fields)
	f.placed = !f.scope.Whole()
	return f, nil
}

// Within restricts the filter to a shard (rule W30).
func (f *Filter) Within(shard api.Shard) {
	f.shard, f.placed = shard, f.placed || !shard.Whole()
}

// Everything reports whether the filter matches every object.
func (f *Filter) Everything() bool { return f.CoversAll() && !f.Selective() }

// Selective reports whether a selector or shard may exclude objects in the
// scope's namespace.
func (f *Filter) Selective() bool { return f.Selects() || !f.shard.Whole() }

// Selects reports whether there is a selector. Without a selector, the filter matches all
// or no objects of a namespace.
func (f *Filter) Selects() bool { return f.labelled || !f.fields.Empty() }

// Evaluations returns an upper bound on the number of requirements and fields evaluated so far,
// which measures the cost of the filter.
func (f *Filter) Evaluations() uint64 { return f.evaluations + f.labels.Evaluations() }

// Scope returns the part of the resource that the filter covers.
func (f *Filter) Scope() api.Scope { return f.scope }

// CoversAll reports whether the scope and the shard cover every object.
func (f *Filter) CoversAll() bool { return !f.placed }

// Count returns the number of objects in the scope and the shard, regardless of the
// selectors.
func (f *Filter) Count(state *store.Store) (n int) {
	if f.CoversAll() {
		return state.Len()
	}
	from := api.Key("")
	if f.scope.Namespace != "" {
		from = api.Key(f.scope.Namespace + "/")
	}
	state.Ascend(from, func(ref store.Ref) bool {
		key := f.arena.Key(ref)
		if f.Covers(key) {
			n++
		}
		f.Spend(1)
		return key.InNamespace(f.scope.Namespace)
	})
	return n
}

// Covers reports whether an object is in the scope and the shard, which the
// client is authorized to read. The client must not learn anything about other
// objects, not even that they exist.
func (f *Filter) Covers(key api.Key) bool {
	return f.scope.Has(key) && f.shard.Has(key.Namespace())
}

// Matches reports whether a version matches the filter. The zero Ref never matches.
func (f *Filter) Matches(ref store.Ref) bool {
	if ref == 0 {
		return false
	}
	if f.meter == nil {
		return f.matches(ref)
	}
	before := f.Evaluations()
	matches := f.matches(ref)
	f.Spend(1 + int(f.Evaluations()-before))
	return matches
}

func (f *Filter) matches(ref store.Ref) bool {
	if f.placed && !f.Covers(f.arena.Key(ref)) {
		return false
	}
	if f.labelled && !f.matchesLabels(ref) {
		return false
	}
	if f.fields.Empty() {
		return true
	}
	f.evaluations += uint64(f.fields.Len())
	envelope := f.arena.Envelope(ref)
	return f.fields.Matches(envelope.Field)
}

// matchesLabels returns the cached result for the label set, after purging
// results for IDs that may have been reused.
func (f *Filter) matchesLabels(ref store.Ref) bool {
	if freed := f.arena.Labels.Freed(); f.freed != freed {
		if !f.arena.Labels.EachFreed(f.freed, f.labels.Forget) {
			f.labels.Clear()
		}
		f.freed = freed
	}
	return f.labels.Matches(f.arena.LabelSet(ref), f.arena.LabelsOf(ref))
}

// EachExact calls yield with the index and the value of each field that must have one
// particular value.
func (f *Filter) EachExact(yield func(field int, value string)) { f.fields.EachExact(yield) }

// Requirements returns the requirements of the label selector.
//
//go:noinline
func (f *Filter) Requirements() []selector.Requirement {
	requirements, _ := f.labels.Labels().Requirements()
	return requirements
}

// Convert returns the type and the version of the event that a client with this
// filter sees for a change (rules W26 to W28). It returns false if the client
// sees no event. A deletion carries the previous content, with the resource
// version of the event.
func (f *Filter) Convert(e *history.Event) (t api.EventType, content store.Ref, ok bool) {
	if f.same(e) {
		return api.Modified, e.Current, f.Matches(e.Current)
	}
	current, previous := f.Matches(e.Current), f.Matches(e.Previous)
	switch {
	case current && previous:
		return api.Modified, e.Current, true
	case current:
		return api.Added, e.Current, true
	case previous:
		return api.Deleted, e.Previous, true
	}
	return 0, 0, false
}

// same reports whether the filter must treat both versions of a change alike.
func (f *Filter) same(e *history.Event) bool {
	return e.Current != 0 && e.Previous != 0 && f.fields.Same(e.Unchanged) &&
		(!f.labelled || f.arena.LabelSet(e.Current) == f.arena.LabelSet(e.Previous))
}
