package core

import (
	"slices"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/join"
	"github.com/watchglass/watchglass/core/objcache"
	"github.com/watchglass/watchglass/core/reflector"
	"github.com/watchglass/watchglass/core/view"
)

// joined adds columns to the rows that views of a shared collection read. The values of
// these columns are computed from other collections.
type joined struct {
	others  []*sharedCollection // nil without joined columns
	columns []api.Column
	join    *join.Join // nil without views
	// refused, if not nil, reports that the indexes of the columns exceed the memory
	// limit. The columns then have no values until their last view is closed.
	refused *api.Status
	// cause is the reason why the columns have no current values. status is the same error
	// with the cause JoinUnavailable, for the state of the collection.
	cause, status *api.Status
}

// use returns the shared collection of a scope, and adds a user. If fresh is true,
// the caller must connect the collection.
func (e *Engine) use(scope reflector.Scope, columns []api.Column) (b *sharedCollection, fresh bool) {
	e.dropRefused(scope)
	b, fresh = e.acquire(scope, columns, objcache.Version{})
	b.users++
	return b, fresh
}

// unuse removes a user, and starts the idle time of the collection.
func (b *sharedCollection) unuse(e *Engine) {
	b.users--
	b.idleSince = e.now
}

// joinTo opens the other collections for joined columns. The engine subscribes to them as
// to any other collection, so it receives only data that the user may read.
func (b *sharedCollection) joinTo(e *Engine, columns []api.Column) {
	b.joined.columns = columns
	for _, resource := range join.Resources(columns) {
		other, fresh := e.use(reflector.Scope{Resource: resource, Namespace: b.scope.Namespace, MetadataOnly: true}, nil)
		if fresh {
			other.connect(e)
		}
		b.joined.others = append(b.joined.others, other)
	}
}

// sources returns the cachers of the collections that the joined columns read. It
// returns nil while the user may not read one of these collections, and after
// refuseJoin. The columns then have no values, even if they had values before.
//
//go:noinline
func (b *sharedCollection) sources() (cachers []*cacher.Cacher) {
	for _, other := range b.joined.others {
		if b.joined.refused != nil || other.reflector.State().State == api.StateForbidden {
			return nil
		}
		cachers = append(cachers, other.cacher)
	}
	return cachers
}

// schema returns the schema of the rows in views: the schema of the objects with the joined
// columns appended. The schema of the objects must be known.
//
//go:noinline
func (b *sharedCollection) schema() *api.Schema {
	schema := b.cacher.Schema()
	if b.joined.others != nil {
		with := *schema
		with.Columns = append(slices.Clip(schema.Columns), b.joined.columns...)
		schema = &with
	}
	return schema
}

// rows returns the cacher that views read. The objects of this cacher have the joined
// columns only while a view is open.
func (b *sharedCollection) rows() *cacher.Cacher {
	if b.joined.join != nil {
		return b.joined.join.Cacher()
	}
	return b.cacher
}

// viewable reports whether views can show rows: the objects have arrived and the
// joined columns are computed.
func (b *sharedCollection) viewable() bool {
	return b.cacher.Ready() && (b.joined.join == nil || b.joined.join.Built())
}

// openJoin starts to compute the joined columns, if there are any.
func (b *sharedCollection) openJoin(e *Engine) {
	if b.joined.others != nil && b.joined.join == nil {
		b.joined.join = join.New(b.cacher, b.sources(), e.newCacher(), b.schema(), b.joined.columns)
		b.views = view.NewSet(b.rows())
	}
}

//go:noinline
func (b *sharedCollection) closeJoin() {
	if b.joined.join != nil {
		b.joined.join.Close()
		b.joined.join, b.joined.refused = nil, nil
	}
}

// refuseJoin drops the indexes of the joined columns, and reports whether there were any.
// Open views keep their rows, without values in these columns.
//
//go:noinline
func (b *sharedCollection) refuseJoin(e *Engine, why *api.Status) bool {
	if b.joined.join == nil || b.joined.refused != nil {
		return false
	}
	b.closeJoin()
	if !b.views.Empty() {
		b.joined.refused = why
		b.reopenViews(e)
	}
	return true
}

// buildJoins continues the computation of joined columns, and reports whether work is left.
func (e *Engine) buildJoins() (unfinished bool) {
	for _, b := range e.sharedCollections {
		switch {
		case b.joined.join == nil || !b.cacher.Ready():
			continue
		case b.views.Empty():
			b.closeJoin()
			continue
		}
		if b.joined.join.Outdated(b.sources()) {
			b.closeJoin()
			b.reopenViews(e)
		}
		if !b.viewable() {
			e.viewWorkLeft = b.joined.join.Build(e.viewWorkLeft)
			unfinished = unfinished || !b.viewable()
		}
	}
	return unfinished
}

// joinStatus returns the reason why the joined columns have no current values, or nil
// if their values are current.
func (b *sharedCollection) joinStatus() *api.Status {
	j := &b.joined
	cause := j.refused
	for _, other := range j.others {
		if cause == nil {
			cause = other.reflector.State().Status
		}
	}
	if cause == nil && j.join != nil && j.join.Unknown() != nil {
		cause = j.join.Unknown()
	}
	if cause != j.cause {
		j.cause, j.status = cause, nil
		if cause != nil {
			named := *cause
			named.Cause = api.JoinUnavailable
			j.status = &named
		}
	}
	return j.status
}
