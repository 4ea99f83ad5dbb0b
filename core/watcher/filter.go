package watcher

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/selector"
	"github.com/watchglass/watchglass/core/store"
)

// Filter is the scope of a request with its label and field selector, bound to
// the resource's fields, and a shard of the namespaces. It caches verdicts by
// label set.
type Filter struct {
	// What every event looks at comes first.
	heap     *store.Heap
	placed   bool // there is a scope or a shard
	labelled bool // there is a label selector
	// freed is how many numbers of label sets had been freed when the cached
	// verdicts were last looked through.
	freed  int
	fields selector.BoundFields
	labels selector.Memo
	scope  api.Scope
	shard  api.Shard
	// evaluations counts the fields that were compared.
	evaluations uint64
}

// NewFilter binds selectors to a resource. It returns a 400 for a field that the
// resource does not declare, and for a namespace if it has none.
func NewFilter(heap *store.Heap, schema *api.Schema, namespace string, s selector.Selection) (*Filter, *api.Status) {
	if namespace != "" && !schema.Namespaced {
		return nil, api.BadRequest(schema.Resource.String() + " is not namespaced; leave the namespace out")
	}
	f := &Filter{heap: heap, freed: heap.Labels.Freed()}
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

// Within keeps out what does not lie in a shard (rule W30).
func (f *Filter) Within(shard api.Shard) {
	f.shard, f.placed = shard, f.placed || !shard.Whole()
}

// Everything reports whether the filter lets every object through.
func (f *Filter) Everything() bool { return f.CoversAll() && !f.Selective() }

// Selective reports whether there is a selector or a shard that could keep out
// an object of the namespace.
func (f *Filter) Selective() bool { return f.labelled || !f.fields.Empty() || !f.shard.Whole() }

// Evaluations counts the requirements and fields that the filter has evaluated, at
// most. It is what the filter has cost so far.
func (f *Filter) Evaluations() uint64 { return f.evaluations + f.labels.Evaluations() }

// Scope is the part of the resource that the filter was made for.
func (f *Filter) Scope() api.Scope { return f.scope }

// CoversAll reports whether the scope and the shard cover every object.
func (f *Filter) CoversAll() bool { return !f.placed }

// Covers reports whether an object lies in the scope and the shard. Whoever may
// use the filter may read it. Nothing about any other object may reach the client,
// not even that it exists.
func (f *Filter) Covers(key api.Key) bool {
	return f.scope.Has(key) && f.shard.Has(key.Namespace())
}

// Matches decides about one version; zero, no object, never matches.
func (f *Filter) Matches(ref store.Ref) bool {
	if ref == 0 {
		return false
	}
	if f.placed && !f.Covers(f.heap.Key(ref)) {
		return false
	}
	if f.labelled && !f.matchesLabels(ref) {
		return false
	}
	if f.fields.Empty() {
		return true
	}
	f.evaluations += uint64(f.fields.Len())
	envelope := f.heap.Envelope(ref)
	return f.fields.Matches(envelope.Field)
}

// matchesLabels asks the cache of verdicts, after dropping those on numbers that
// may stand for another label set by now.
func (f *Filter) matchesLabels(ref store.Ref) bool {
	if freed := f.heap.Labels.Freed(); f.freed != freed {
		if !f.heap.Labels.EachFreed(f.freed, f.labels.Forget) {
			f.labels.Clear()
		}
		f.freed = freed
	}
	return f.labels.Matches(f.heap.LabelSet(ref), f.heap.LabelsOf(ref))
}

// requirements are those of the label selector.
func (f *Filter) requirements() []selector.Requirement {
	requirements, _ := f.labels.Labels().Requirements()
	return requirements
}

// Convert says what a change is to a reader with a filter (rules W26 to W28):
// its type and the version whose content it carries, or false when the reader
// does not see it. A deletion carries the previous content, whose resource
// version the reader sees replaced by the event's.
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

// same reports whether the two versions of a change are plainly the same to the
// filter.
func (f *Filter) same(e *history.Event) bool {
	return e.Current != 0 && e.Previous != 0 && f.fields.Same(e.Unchanged) &&
		(!f.labelled || f.heap.LabelSet(e.Current) == f.heap.LabelSet(e.Previous))
}
