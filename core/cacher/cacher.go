package cacher

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/selector"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/watcher"
	"github.com/watchglass/watchglass/core/wire"
)

// Config of a cacher; zeros take defaults.
type Config struct {
	Schema  api.Schema
	History history.Limits
	Seed    uint64
	// Bases makes up the name of the bases together with the number of lists;
	// two cachers that are fed differently must not have the same. Zero is for
	// those whose bases nobody needs a name for.
	Bases uint64
}

// Observer sees every change, after it is applied and before any watch does.
type Observer interface {
	// Changed tells of one change. The event's versions are alive during the
	// call, and the number stands for the object until it returns, even of one
	// that is gone.
	Changed(id store.ID, e *history.Event)
	// Replaced tells that a list has become the state, in which everything may
	// be different and every object has another number.
	Replaced()
}

// Cacher is one collection.
type Cacher struct {
	schema  api.Schema
	heap    *store.Heap
	state   *store.Store
	window  *history.Window
	encoded encoded
	staging *staging
	source  string
	listed  string // the source of the state
	bases   uint64
	rv      api.ResourceVersion
	ready   bool
	now     int64
	// generation counts the lists; progressed is when the upstream side was
	// last heard of.
	generation int
	progressed int64
	failure    *api.Status // why nothing is heard since; nil when that is not known

	dictionaries dictionaries

	faults      faults
	damage      *api.Status // that every read fails with, as what was restored is not whole
	damageCause *api.Status
	observers   []Observer
	followers   []*Follower
	followed    watcher.Index[*Follower]
	awaiting    []*Follower // news
	waits       []wait
	held        bool // waits do not end
	prompted    bool // somebody else waits
	scratch     []byte
	dispatcher
}

// New makes an empty cacher, not ready.
func New(cfg Config) *Cacher {
	c := &Cacher{schema: cfg.Schema, bases: cfg.Bases, heap: store.NewHeap()}
	c.state = store.New(c.heap)
	c.window = history.New(c.heap, cfg.History)
	c.followed = watcher.NewIndex[*Follower](c.heap)
	c.dispatcher = dispatcher{
		index:   watcher.NewIndex[*registration](c.heap),
		watches: map[*watcher.Watcher]*registration{},
		jitter:  api.NewRand(cfg.Seed),
	}
	return c
}

// Schema describes the objects.
func (c *Cacher) Schema() *api.Schema { return &c.schema }

// SetSchema replaces the schema, which is then that of every object that
// follows. Only for a cacher that holds nothing yet.
func (c *Cacher) SetSchema(s api.Schema) { c.schema = s }

// Source names the history that the resource versions belong to; empty when it
// has no name.
func (c *Cacher) Source() string { return c.source }

// SetSource names the history of the list that EndList is about to commit. When
// it is another than before, versions start over, and watches end: what they
// have seen does not lead to what comes.
func (c *Cacher) SetSource(source string) {
	if source == c.source {
		return
	}
	c.source = source
	if c.ready {
		c.finishDispatch()
		c.failWatches(otherHistory(), func(*registration) bool { return true })
	}
}

func otherHistory() *api.Status {
	return wire.WatchEndHistoryLost.Expired("the resource versions of the collection belong to another history now, list anew")
}

// Ready reports whether a first list has been committed.
func (c *Cacher) Ready() bool { return c.ready }

// ResourceVersion is the newest version applied.
func (c *Cacher) ResourceVersion() api.ResourceVersion { return c.rv }

// Generation counts the lists that have replaced the state. Positions in the
// window do not carry over from one to the next.
func (c *Cacher) Generation() int { return c.generation }

// Progressed is when the upstream side last said that nothing was missing, in
// milliseconds. ResourceVersion may have moved on since, by changes.
func (c *Cacher) Progressed() int64 { return c.progressed }

// Len is the number of objects.
func (c *Cacher) Len() int { return c.state.Len() }

// Count is the number of objects that a filter covers, whether or not its
// selectors match them.
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
		return key.InNamespace(namespace)
	})
	return n
}

// Heap is where the versions lie.
func (c *Cacher) Heap() *store.Heap { return c.heap }

// Window is the history.
func (c *Cacher) Window() *history.Window { return c.window }

// Get returns the current version of a key without a count, or zero.
func (c *Cacher) Get(key api.Key) store.Ref { return c.state.Get(key) }

// State is the current state, for reading. After each list it is another one.
func (c *Cacher) State() *store.Store { return c.state }

// Ascend calls yield for the current versions from a key on, in key order and
// without counts, until it returns false.
func (c *Cacher) Ascend(from api.Key, yield func(store.Ref) bool) { c.state.Ascend(from, yield) }

// Put is an object to be stored: the envelope as it travels, and the labels.
type Put struct {
	ResourceVersion api.ResourceVersion
	Flags           api.Flags
	Labels          api.Labels
	// LabelSet, unless it is zero, is the number that the labels have in the
	// heap, for who knows it; it is in use, and Labels are not looked at.
	LabelSet uint32
	Envelope wire.Envelope
	// Body, for Apply, is what comes behind the envelope, of one that is in two
	// parts. Either may alias the heap.
	Body []byte
	// Object, unless it is zero, is the number of the object in the state, for
	// who knows it.
	Object store.ID
	// Unchanged, unless it is empty, are cells that are the same in the version
	// held. Apply finds them out where nobody knows.
	Unchanged api.Cells
	// Base, of a body of codec Delta. Its own body can be left out when the
	// version held has or is that base.
	Base wire.Base
}

// store makes a version with one count, unless the base of its body is missing.
// The version held of the object, or zero, is where that is looked for.
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

// Apply makes an object's new version current. A version that is not newer
// than the one held is a repetition and is ignored. The status says that the
// base of its body is not here; nothing has changed then.
func (c *Cacher) Apply(p *Put, now int64) *api.Status {
	c.now = max(c.now, now)
	id := p.Object
	if id == 0 {
		id = c.state.Find(p.Envelope.Key())
	}
	if c.damage != nil {
		return c.damage
	}
	previous := c.state.Version(id)
	if previous != 0 && c.heap.ResourceVersion(previous) >= p.ResourceVersion {
		c.mend(p.Envelope.Key(), p.ResourceVersion, "replaced")
		return nil
	}
	current, status := c.store(p, previous)
	if status != nil {
		return status
	}
	unchanged := c.unchanged(p, previous)
	mended := false
	if len(c.faults.list) > 0 {
		key := p.Envelope.Key()
		mended = previous != 0 && c.faults.since(key, c.heap.ResourceVersion(previous))
		c.mend(key, p.ResourceVersion, "replaced")
	}
	if id != 0 {
		c.state.Replace(id, current)
	} else {
		id = c.state.Add(current)
	}
	c.commit(id, history.Event{
		ResourceVersion: p.ResourceVersion, Current: current, Previous: previous, Millis: now, Unchanged: unchanged, Mended: mended,
	})
	return nil
}

// unchanged are cells that are the same in the version before, or zero.
func (c *Cacher) unchanged(p *Put, previous store.Ref) api.Cells {
	if p.Unchanged != 0 || previous == 0 {
		return p.Unchanged
	}
	return p.Envelope.SameCells(c.heap.Envelope(previous))
}

// Delete takes an object out. A key that is not held is invisible to everyone
// (rule W29); so is a deletion older than the version held.
func (c *Cacher) Delete(key api.Key, rv api.ResourceVersion, now int64) {
	c.now = max(c.now, now)
	c.mend(key, rv, "deleted")
	id := c.state.Find(key)
	if id == 0 || c.heap.ResourceVersion(c.state.Version(id)) >= rv {
		c.advance(rv)
		return
	}
	c.commit(id, history.Event{ResourceVersion: rv, Previous: c.state.Remove(key), Millis: now})
}

// commit records a change of an object that the store already shows (rule H12)
// and takes over the event's count of Previous.
func (c *Cacher) commit(id store.ID, e history.Event) {
	if c.parked != nil {
		c.makeRoom()
	}
	recorded := c.window.Append(e)
	for _, o := range c.observers {
		o.Changed(id, recorded)
	}
	if len(c.followers) > 0 {
		c.wakeFollowers(&e, c.window.End()-1)
	}
	c.advance(e.ResourceVersion)
	c.dispatch()
}

// Fail says why there is no progress, until there is.
func (c *Cacher) Fail(status *api.Status) {
	c.failure = status
	c.wakeEveryone()
}

// Failure is what Fail said, or nil since there was progress.
func (c *Cacher) Failure() *api.Status { return c.failure }

// Progress says that there was nothing beyond rv a moment ago, and that everything
// up to it has been applied (rule H14). Changes by themselves say no such thing:
// they may be from long ago.
func (c *Cacher) Progress(rv api.ResourceVersion, now int64) {
	c.Release(rv, now)
	c.progress()
}

// Release says that everything up to rv has been applied, and ends a Hold.
func (c *Cacher) Release(rv api.ResourceVersion, now int64) {
	c.now = max(c.now, now)
	c.bury(rv)
	c.held = false
	c.advance(rv)
}

func (c *Cacher) progress() {
	c.progressed = c.now
	c.endLost()
	c.wakeUnsure()
	if c.failure != nil {
		c.Fail(nil)
	}
}

func (c *Cacher) advance(rv api.ResourceVersion) {
	c.rv = max(c.rv, rv)
	if len(c.ahead) > 0 {
		c.forgetReached()
	}
	if len(c.awaiting) > 0 {
		c.wakeAwaiting()
	}
	if c.ready && !c.held {
		c.wakeFresh()
	}
}

// Observe adds an observer and returns how to remove it.
func (c *Cacher) Observe(o Observer) (remove func()) {
	c.observers = append(c.observers, o)
	return func() { c.observers = without(c.observers, o) }
}

// NewFilter makes a filter on this collection.
func (c *Cacher) NewFilter(namespace string, s selector.Selection) (*watcher.Filter, *api.Status) {
	return watcher.NewFilter(c.heap, &c.schema, namespace, s)
}

// Tick tells the time in milliseconds.
func (c *Cacher) Tick(now int64) {
	c.now = max(c.now, now)
	if c.held {
		c.held = false
		c.wakeFresh()
	}
	c.expireWaits()
	c.tickDispatcher()
}

// NextTick is when Tick has something to do, or zero.
func (c *Cacher) NextTick() int64 {
	next := c.dispatcher.nextTick(c.now)
	for i := range c.waits {
		next = earlier(next, c.waits[i].deadline)
	}
	return next
}

// earlier is the smaller of two times, of which zero means never.
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
