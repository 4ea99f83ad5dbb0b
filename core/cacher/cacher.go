package cacher

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/dispatch"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/selector"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/watcher"
	"github.com/watchglass/watchglass/core/wire"
)

// Config configures a Cacher. Zero fields take defaults.
type Config struct {
	Schema  api.Schema
	History history.Limits
	Seed    uint64
	// DeltaEpoch is a seed for [Cacher.DeltaEpoch]. Cachers with different input must use
	// different values. Zero disables the identity.
	DeltaEpoch uint64
}

// Observer is notified of every change after the cacher applied it and before any
// watch receives it.
type Observer interface {
	// Changed reports one change. The event's versions are valid during the call.
	// So is the object's ID, even if the object was deleted.
	Changed(id store.ID, e *history.Event)
	// Replaced reports that a list replaced the state. Any object may have
	// changed, and all IDs are new.
	Replaced()
}

// Cacher is the cache of one collection.
type Cacher struct {
	schema     api.Schema
	heap       *store.Heap
	state      *store.Store
	window     *history.Window
	staging    *staging
	source     string
	listed     string // the source of the state
	deltaEpoch uint64
	at         dispatch.Moment
	ready      bool
	// generation counts the lists. progressed is the time of the last progress
	// report from the source.
	generation int
	progressed int64
	failure    *api.Status // why there has been no progress since; nil if unknown

	dictionaries dictionaries

	faults            faults
	corruption        *api.Status // error of every read after the restored state turned out to be invalid
	corruptionCause   *api.Status
	observers         []Observer
	followers         dispatch.Followers
	watches           dispatch.Dispatcher
	waits             []wait
	held              bool // a revision is incomplete, so waits must not end
	progressRequested bool // a follower waits for a newer version
	scratch           []byte
}

// New returns an empty cacher that is not ready.
func New(cfg Config) *Cacher {
	c := &Cacher{schema: cfg.Schema, deltaEpoch: cfg.DeltaEpoch, heap: store.NewHeap()}
	c.state = store.New(c.heap)
	c.window = history.New(c.heap, cfg.History)
	c.followers = dispatch.NewFollowers(c.heap, c.window, &c.at)
	c.watches = dispatch.New(c.heap, c.window, &c.at, cfg.Seed)
	return c
}

// Schema returns the schema of the objects.
func (c *Cacher) Schema() *api.Schema { return &c.schema }

// SetSchema replaces the schema. The cacher must be empty.
func (c *Cacher) SetSchema(s api.Schema) { c.schema = s }

// Source returns the ID of the history that the resource versions belong to, or
// "" if it is unknown.
func (c *Cacher) Source() string { return c.source }

// SetSource sets the ID of the history of the list that EndList is about to
// commit. A different ID means that resource versions are not comparable with
// earlier ones, so all watches end.
func (c *Cacher) SetSource(source string) {
	if source == c.source {
		return
	}
	c.source = source
	if c.ready {
		c.watches.Finish()
		c.watches.Fail(otherHistory(), nil)
	}
}

func otherHistory() *api.Status {
	return api.WatchEndHistoryLost.Expired("the resource versions of the collection now belong to a different history; list again")
}

// Ready reports whether a first list has been committed.
func (c *Cacher) Ready() bool { return c.ready }

// ResourceVersion returns the newest version applied.
func (c *Cacher) ResourceVersion() api.ResourceVersion { return c.at.Version }

// Generation returns how many lists have replaced the state. Positions in the
// window are not comparable across generations.
func (c *Cacher) Generation() int { return c.generation }

// Progressed returns the time in milliseconds at which the source last confirmed
// that no change was missing. Later changes may have advanced ResourceVersion
// since.
func (c *Cacher) Progressed() int64 { return c.progressed }

// Len returns the number of objects.
func (c *Cacher) Len() int { return c.state.Len() }

// Count returns the number of objects in the filter's scope and shard, regardless
// of its selectors.
func (c *Cacher) Count(f *watcher.Filter) (n int) {
	if f.CoversAll() {
		return c.Len()
	}
	namespace := f.Scope().Namespace
	c.Ascend(api.Key(namespacePrefix(namespace)), func(ref store.Ref) bool {
		key := c.heap.Key(ref)
		if f.Covers(key) {
			n++
		}
		f.Spend(1)
		return key.InNamespace(namespace)
	})
	return n
}

// Heap returns the heap that stores the versions.
func (c *Cacher) Heap() *store.Heap { return c.heap }

// Window returns the history.
func (c *Cacher) Window() *history.Window { return c.window }

// Get returns the current version of a key, or zero. It adds no reference.
func (c *Cacher) Get(key api.Key) store.Ref { return c.state.Get(key) }

// State returns the current state for reading. Each list replaces it by a new
// store.
func (c *Cacher) State() *store.Store { return c.state }

// Ascend yields the current versions from a key on, in key order, until yield
// returns false. It adds no references.
func (c *Cacher) Ascend(from api.Key, yield func(store.Ref) bool) { c.state.Ascend(from, yield) }

// Put is an object version to be stored.
type Put struct {
	ResourceVersion api.ResourceVersion
	Flags           api.Flags
	Labels          api.Labels
	// LabelSet, if not zero, is the ID of the label set in the heap, which must
	// be in use. Labels is then ignored.
	LabelSet uint32
	Envelope wire.Envelope
	// Body, for Apply, is appended to Envelope if the caller has it in a separate
	// slice. Both may alias the heap.
	Body []byte
	// Object, if not zero, is the ID of the object in the state. It saves a
	// lookup.
	Object store.ID
	// Unchanged, if not empty, lists cells that are equal in the current version.
	// Otherwise Apply compares the versions.
	Unchanged api.Cells
	// Base is the base of a body with codec Delta. Its own body is optional if
	// the current version has or is that base.
	Base wire.Base
}

// store stores a version and returns it with one reference. It looks for the base
// of its body at held, the current version or zero, and fails if the base is
// missing.
func (c *Cacher) store(p *Put, held store.Ref) (store.Ref, *api.Status) {
	base, status := c.base(p, held)
	if status != nil {
		return 0, status
	}
	labels := p.LabelSet
	if labels != 0 {
		c.heap.Labels.Retain(labels)
	} else {
		labels = c.heap.Labels.Intern(p.Labels)
	}
	return c.heap.Put(store.Version{
		ResourceVersion: p.ResourceVersion,
		Flags:           p.Flags,
		LabelSet:        labels,
		Dictionary:      c.dictionaries.current.number,
		Base:            base,
		Envelope:        p.Envelope,
		Body:            p.Body,
	}), nil
}

// Apply makes a new version of an object current. It ignores a version that is
// not newer than the current one. It fails, without any change, if the base of
// the body is missing.
func (c *Cacher) Apply(p *Put, now int64) *api.Status {
	c.at.Now = max(c.at.Now, now)
	id := p.Object
	if id == 0 {
		id = c.state.Find(p.Envelope.Key())
	}
	if c.corruption != nil {
		return c.corruption
	}
	previous := c.state.Version(id)
	if previous != 0 && c.heap.ResourceVersion(previous) >= p.ResourceVersion {
		c.retractFault(p.Envelope.Key(), p.ResourceVersion, "replaced")
		return nil
	}
	current, status := c.store(p, previous)
	if status != nil {
		return status
	}
	unchanged := c.unchanged(p, previous)
	afterFault := false
	if len(c.faults.list) > 0 {
		key := p.Envelope.Key()
		afterFault = previous != 0 && c.faults.since(key, c.heap.ResourceVersion(previous))
		c.retractFault(key, p.ResourceVersion, "replaced")
	}
	if id != 0 {
		c.state.Replace(id, current)
	} else {
		id = c.state.Add(current)
	}
	c.commit(id, history.Event{
		ResourceVersion: p.ResourceVersion, Current: current, Previous: previous, Millis: now, Unchanged: unchanged, AfterFault: afterFault,
	})
	return nil
}

// unchanged returns cells that are equal in the previous version, or zero.
func (c *Cacher) unchanged(p *Put, previous store.Ref) api.Cells {
	if p.Unchanged != 0 || previous == 0 {
		return p.Unchanged
	}
	return p.Envelope.SameCells(c.heap.Envelope(previous))
}

// Delete removes an object. It emits no event if the object does not exist (rule
// W29) or is newer than the deletion.
func (c *Cacher) Delete(key api.Key, rv api.ResourceVersion, now int64) {
	c.at.Now = max(c.at.Now, now)
	c.retractFault(key, rv, "deleted")
	id := c.state.Find(key)
	if id == 0 || c.heap.ResourceVersion(c.state.Version(id)) >= rv {
		c.advance(rv)
		return
	}
	c.commit(id, history.Event{ResourceVersion: rv, Previous: c.state.Remove(key), Millis: now})
}

// commit records a change that the store already contains (rule H12). It takes
// ownership of the event's reference to Previous.
func (c *Cacher) commit(id store.ID, e history.Event) {
	c.watches.MakeRoom()
	recorded := c.window.Append(e)
	for _, o := range c.observers {
		o.Changed(id, recorded)
	}
	c.followers.Wake(&e, c.window.End()-1)
	c.advance(e.ResourceVersion)
	c.watches.Dispatch()
}

// Fail records why there is no progress. The next progress clears it.
func (c *Cacher) Fail(status *api.Status) {
	c.failure = status
	c.followers.WakeAll()
}

// Failure returns the status given to Fail, or nil if there was progress since.
func (c *Cacher) Failure() *api.Status { return c.failure }

// Progress reports that the source was at rv a moment ago and that everything up
// to rv has been applied (rule H14). Changes alone do not imply this, because
// they may be old.
func (c *Cacher) Progress(rv api.ResourceVersion, now int64) {
	c.EndRevision(rv, now)
	c.progress()
}

// EndRevision reports that everything up to rv has been applied, and ends a BeginRevision.
func (c *Cacher) EndRevision(rv api.ResourceVersion, now int64) {
	c.at.Now = max(c.at.Now, now)
	c.dropDeletedFaults(rv)
	c.held = false
	c.advance(rv)
}

func (c *Cacher) progress() {
	c.progressed = c.at.Now
	c.watches.EndLost()
	c.followers.Progressed()
	if c.failure != nil {
		c.Fail(nil)
	}
}

func (c *Cacher) advance(rv api.ResourceVersion) {
	c.at.Version = max(c.at.Version, rv)
	c.watches.Reached()
	c.followers.Updated()
	if c.ready && !c.held {
		c.wakeFresh()
	}
}

// Follow adds a follower that has read everything; see [dispatch.Followers.Add].
func (c *Cacher) Follow(f *watcher.Filter, wake func()) *dispatch.Follower {
	return c.followers.Add(f, wake)
}

// Watches returns the watches of the collection.
func (c *Cacher) Watches() *dispatch.Dispatcher { return &c.watches }

// Observe adds an observer and returns a function that removes it.
func (c *Cacher) Observe(o Observer) (remove func()) {
	c.observers = append(c.observers, o)
	return func() { c.observers = without(c.observers, o) }
}

// NewFilter returns a filter for this collection.
func (c *Cacher) NewFilter(namespace string, s selector.Selection) (*watcher.Filter, *api.Status) {
	return watcher.NewFilter(c.heap, &c.schema, namespace, s)
}

// Tick sets the time in milliseconds and performs the work that is due.
func (c *Cacher) Tick(now int64) {
	c.at.Now = max(c.at.Now, now)
	if c.held {
		c.held = false
		c.wakeFresh()
	}
	c.expireWaits()
	c.watches.Tick()
}

// NextTick returns when Tick has work to do, or zero.
func (c *Cacher) NextTick() int64 {
	next := c.watches.NextTick()
	for i := range c.waits {
		next = earlier(next, c.waits[i].deadline)
	}
	return next
}

// earlier returns the earlier of two times; zero means never.
func earlier(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

func without[T comparable](list []T, v T) []T {
	kept := make([]T, 0, len(list))
	for _, x := range list {
		if x != v {
			kept = append(kept, x)
		}
	}
	return kept
}
