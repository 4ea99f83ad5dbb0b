package cacher

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/delta"
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
	// DeltaEpoch is a seed for [delta.Bodies.Epoch]. Cachers with different input must
	// use different values. Zero disables epochs.
	DeltaEpoch uint64
}

// Observer is notified of every change after the cacher has applied the change and before
// any watch receives it.
type Observer interface {
	// Changed reports one change to an object. The event's versions and the object's ID
	// are valid during the call, even if the object was deleted.
	Changed(id store.ID, e *history.Event)
	// Replaced reports that a list replaced the state. Any object may have
	// changed, and all IDs are new.
	Replaced()
}

// Cacher is the cache of one collection.
type Cacher struct {
	schema    api.Schema
	arena     *store.Arena
	state     *store.Store
	window    *history.Window
	at        dispatch.Moment
	ready     bool
	bodies    delta.Bodies
	faults    faults
	listing   Listing
	restored  Restored
	upstream  Upstream
	waits     Waits
	observers []Observer
	followers dispatch.Followers
	watches   dispatch.Dispatcher
}

// New returns an empty cacher that is not ready.
func New(cfg Config) *Cacher {
	c := &Cacher{schema: cfg.Schema, arena: store.NewArena()}
	c.listing.cacher, c.restored.cacher, c.upstream.cacher, c.waits.cacher = c, c, c, c
	c.arena.OnCorrupt = func() {
		c.restored.MarkCorrupt(api.Internal("a block of bodies is corrupt; the collection is listed again"))
	}
	c.state = store.New(c.arena)
	c.window = history.New(c.arena, cfg.History)
	c.bodies.Init(c.arena, c.window, cfg.DeltaEpoch)
	c.followers.Init(c.arena, c.window, &c.at)
	c.watches.Init(c.arena, c.window, &c.at, cfg.Seed)
	return c
}

// Schema returns the schema of the objects.
func (c *Cacher) Schema() *api.Schema { return &c.schema }

// Ready reports whether a first list has been committed.
func (c *Cacher) Ready() bool { return c.ready }

// ResourceVersion returns the newest resource version that was applied.
func (c *Cacher) ResourceVersion() api.ResourceVersion { return c.at.Version }

// Arena returns the arena that stores the versions.
func (c *Cacher) Arena() *store.Arena { return c.arena }

// Window returns the window of recent changes.
func (c *Cacher) Window() *history.Window { return c.window }

// State returns the current state for reading. Each list replaces the returned store
// with a new one.
func (c *Cacher) State() *store.Store { return c.state }

// Listing returns the part of the cacher that replaces the state with a list.
func (c *Cacher) Listing() *Listing { return &c.listing }

// Bodies returns the dictionaries and bases of bodies.
func (c *Cacher) Bodies() *delta.Bodies { return &c.bodies }

// Waits returns the reads that wait for a version.
func (c *Cacher) Waits() *Waits { return &c.waits }

// Upstream returns the known state of the source.
func (c *Cacher) Upstream() *Upstream { return &c.upstream }

// Restored returns the part of the cacher that restores a persisted state.
func (c *Cacher) Restored() *Restored { return &c.restored }

// Update is an object version to be stored.
type Update struct {
	ResourceVersion api.ResourceVersion
	Flags           api.Flags
	Labels          api.Labels
	// LabelSet, if not zero, is the ID of the label set in the arena, which must
	// be in use. Labels is then ignored.
	LabelSet uint32
	Envelope wire.Envelope
	// Member locates the body in the open block of the arena, if that block contains the
	// body.
	Member store.MemberRef
	// Body is the body of the object, if the caller has it in a separate slice instead of
	// in Envelope. Apply stores Body together with Envelope. Body and Envelope may alias
	// the arena.
	Body []byte
	// Object, if not zero, is the ID of the object in the state. A known ID saves a
	// lookup.
	Object store.ID
	// Unchanged, if not zero, contains cells that are equal in this version and the
	// current one. If it is zero, Apply compares the versions.
	Unchanged api.Cells
	// Base is the version that a body with codec Delta applies to. The body of Base
	// is optional if the current version is Base or has the same base.
	Base wire.Base
	// Revised lets Apply replace a version that is not older than ResourceVersion. Joined
	// rows need this, because a row also changes when objects of other collections change.
	Revised bool
}

// store stores a version and returns it with one reference. The argument held is the
// current version, or zero. The base of the body is that version, the base of that
// version, or part of p. store fails if the base is missing.
func (c *Cacher) store(p *Update, held store.Ref) (store.Ref, *api.Status) {
	base, status := c.bodies.Stored(p.Envelope.Key(), p.ResourceVersion, &p.Base, held, p.Member)
	if status != nil {
		return 0, status
	}
	labels := p.LabelSet
	if labels != 0 {
		c.arena.Labels.Retain(labels)
	} else {
		labels = c.arena.Labels.Intern(p.Labels)
	}
	return c.arena.Put(store.Version{
		ResourceVersion: p.ResourceVersion,
		Flags:           p.Flags,
		LabelSet:        labels,
		Dictionary:      c.bodies.Number(),
		Base:            base,
		Envelope:        p.Envelope,
		Body:            p.Body,
		Member:          p.Member,
	}), nil
}

// Apply makes a new version of an object current. It ignores a version that is
// not newer than the current one. It fails, without any change, if the base of the
// body is missing or the restored state is corrupt.
func (c *Cacher) Apply(p *Update, now int64) *api.Status {
	c.at.Now = max(c.at.Now, now)
	id := p.Object
	if id == 0 {
		id = c.state.Find(p.Envelope.Key())
	}
	if c.restored.corruption != nil {
		return c.restored.corruption
	}
	previous := c.state.Version(id)
	if previous != 0 && c.arena.ResourceVersion(previous) >= p.ResourceVersion && !p.Revised {
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
		afterFault = previous != 0 && c.faults.since(key, c.arena.ResourceVersion(previous))
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

// unchanged returns the cells that are known to be equal in p and in the previous
// version.
func (c *Cacher) unchanged(p *Update, previous store.Ref) api.Cells {
	if p.Unchanged != 0 || previous == 0 {
		return p.Unchanged
	}
	return p.Envelope.SameCells(c.arena.Envelope(previous))
}

// Delete removes an object. It emits no event if the object does not exist (rule W29)
// or its version is not older than the deletion.
func (c *Cacher) Delete(key api.Key, rv api.ResourceVersion, now int64) {
	c.at.Now = max(c.at.Now, now)
	c.retractFault(key, rv, "deleted")
	id := c.state.Find(key)
	if id == 0 || c.arena.ResourceVersion(c.state.Version(id)) >= rv {
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

// Progress records that the source has just confirmed rv and that everything up to rv has
// been applied (rule H14). A change alone does not imply progress, because the change may
// be old.
func (c *Cacher) Progress(rv api.ResourceVersion, now int64) {
	c.EndRevision(rv, now)
	c.progress()
}

// EndRevision records that everything up to rv has been applied, and ends the
// revision that [Waits.BeginRevision] began.
func (c *Cacher) EndRevision(rv api.ResourceVersion, now int64) {
	c.at.Now = max(c.at.Now, now)
	c.dropDeletedFaults(rv)
	c.waits.held = false
	c.advance(rv)
	c.arena.Repack()
}

func (c *Cacher) progress() {
	c.upstream.progressed = c.at.Now
	c.watches.EndLost()
	c.followers.Progressed()
	if c.upstream.failure != nil {
		c.upstream.Fail(nil)
	}
}

func (c *Cacher) advance(rv api.ResourceVersion) {
	c.at.Version = max(c.at.Version, rv)
	c.watches.Reached()
	c.followers.Updated()
	if c.ready && !c.waits.held {
		c.waits.wakeFresh()
	}
}

// Follow adds a follower that has read everything; see [dispatch.Followers.Add].
func (c *Cacher) Follow(f *watcher.Filter, wake func()) *dispatch.Follower {
	return c.followers.Add(f, wake)
}

// Watches returns the watches of the collection.
func (c *Cacher) Watches() *dispatch.Dispatcher { return &c.watches }

// Observe registers an observer for later changes.
func (c *Cacher) Observe(o Observer) { c.observers = append(c.observers, o) }

// Unobserve removes an observer.
//
//go:noinline
func (c *Cacher) Unobserve(o Observer) {
	kept := make([]Observer, 0, len(c.observers)) // a copy, because a notification may be iterating over the list
	for _, x := range c.observers {
		if x != o {
			kept = append(kept, x)
		}
	}
	c.observers = kept
}

func (c *Cacher) newFilter(namespace string, s selector.Selection) (*watcher.Filter, *api.Status) {
	return watcher.NewFilter(c.arena, &c.schema, namespace, s)
}

// Tick sets the time in milliseconds and performs the work that is due.
func (c *Cacher) Tick(now int64) {
	c.at.Now = max(c.at.Now, now)
	if c.waits.held {
		c.waits.held = false
		c.waits.wakeFresh()
	}
	c.waits.expireWaits()
	c.watches.Tick()
	c.arena.Repack()
}

// NextTick returns the time at which Tick next has work to do, or zero if it has
// none.
func (c *Cacher) NextTick() int64 {
	next := c.watches.NextTick()
	for i := range c.waits.list {
		next = earlier(next, c.waits.list[i].deadline)
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
