package cacher

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/store"
)

// A persisted state is restored without reading its objects. They stay in
// unloaded runs of the store, together with their persisted changes, and their
// events in the window are only reserved. Reading an object, or an event older
// than the restore, first loads the run that contains it. Callers cannot observe
// this.

// Restored is the part of a cacher that restores a persisted state.
type Restored struct {
	cacher     *Cacher
	corruption *api.Status // error of every read after the restored state turned out to be invalid
	cause      *api.Status
}

// LoadAll loads all runs.
func (r *Restored) LoadAll() {
	c := r.cacher
	if c.listing.staging != nil {
		c.listing.staging.state.LoadAll()
	}
	c.state.LoadAll()
}

// Reserve reserves the next event for a change that an unloaded run contains.
// Loading the run passes the returned position to Change.
func (r *Restored) Reserve(rv api.ResourceVersion, now int64) (position int) {
	c := r.cacher
	c.at.Now = max(c.at.Now, now)
	state := c.state
	position = c.window.Reserve(rv, now, func() *api.Status {
		state.LoadAll()
		return r.corruption
	})
	c.watches.Skip()
	return position
}

// Object adds an object of a run to its store.
func (r *Restored) Object(state *store.Store, p *Put) *api.Status {
	c := r.cacher
	if state.Find(p.Envelope.Key()) != 0 {
		return api.Protocol(string(p.Envelope.Key()) + " occurs twice in the restored state")
	}
	ref, status := c.store(p, 0)
	if status == nil {
		state.Add(ref)
	}
	return status
}

// Change applies a persisted change of an object of a run. It notifies no
// readers, because the change is older than the restore.
func (r *Restored) Change(state *store.Store, p *Put, position int) *api.Status {
	c := r.cacher
	id := state.Find(p.Envelope.Key())
	previous := state.Version(id)
	if previous != 0 && c.heap.ResourceVersion(previous) >= p.ResourceVersion {
		return notNewer(p.Envelope.Key(), p.ResourceVersion)
	}
	current, status := c.store(p, previous)
	if status != nil {
		return status
	}
	unchanged := c.unchanged(p, previous)
	if id != 0 {
		state.Replace(id, current)
	} else {
		state.Add(current)
	}
	c.window.Resolve(position, current, previous, unchanged)
	return nil
}

// Deletion removes an object of a run, like Change.
func (r *Restored) Deletion(state *store.Store, key api.Key, rv api.ResourceVersion, position int) *api.Status {
	c := r.cacher
	if ref := state.Get(key); ref == 0 || c.heap.ResourceVersion(ref) >= rv {
		return notNewer(key, rv)
	}
	c.window.Resolve(position, 0, state.Remove(key), 0)
	return nil
}

func notNewer(key api.Key, rv api.ResourceVersion) *api.Status {
	return api.Protocol("the change of " + string(key) + " at version " + rv.String() + " does not follow the restored version")
}

// MarkCorrupt records that a part of the restored state is missing or invalid. After
// MarkCorrupt, every read fails with 410. The 410 reaches readers of other objects, so it
// does not contain the cause, which may name an object.
func (r *Restored) MarkCorrupt(cause *api.Status) {
	if r.corruption == nil {
		r.corruption, r.cause = api.Expired("the restored state of the collection is incomplete or invalid; list again"), cause
	}
}

// Corrupt returns the status that every read fails with, or nil.
func (r *Restored) Corrupt() *api.Status { return r.corruption }

// Cause returns the cause given to MarkCorrupt, or nil.
func (r *Restored) Cause() *api.Status { return r.cause }
