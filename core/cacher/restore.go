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

// WaitInList adds a run of objects to the list in progress, like store.Wait.
func (c *Cacher) WaitInList(first api.Key, run store.Run) bool {
	return c.staging.state.Wait(first, run)
}

// LoadAll loads all runs.
func (c *Cacher) LoadAll() {
	if c.staging != nil {
		c.staging.state.LoadAll()
	}
	c.state.LoadAll()
}

// Reserve reserves the next event for a change that an unloaded run contains.
// Loading the run passes the returned position to ChangeRestored.
func (c *Cacher) Reserve(rv api.ResourceVersion, now int64) (position int) {
	c.at.Now = max(c.at.Now, now)
	state := c.state
	position = c.window.Reserve(rv, now, func() *api.Status {
		state.LoadAll()
		return c.corruption
	})
	c.watches.Skip()
	return position
}

// ObjectRestored adds an object of a run to its store.
func (c *Cacher) ObjectRestored(state *store.Store, p *Put) *api.Status {
	if state.Find(p.Envelope.Key()) != 0 {
		return api.Protocol(string(p.Envelope.Key()) + " occurs twice in the restored state")
	}
	ref, status := c.store(p, 0)
	if status == nil {
		state.Add(ref)
	}
	return status
}

// ChangeRestored applies a persisted change of an object of a run. It notifies no
// readers, because the change is older than the restore.
func (c *Cacher) ChangeRestored(state *store.Store, p *Put, position int) *api.Status {
	id := state.Find(p.Envelope.Key())
	previous := state.Version(id)
	if previous != 0 && c.heap.ResourceVersion(previous) >= p.ResourceVersion {
		return notKept(p.Envelope.Key(), p.ResourceVersion)
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

// DeletionRestored removes an object of a run, like ChangeRestored.
func (c *Cacher) DeletionRestored(state *store.Store, key api.Key, rv api.ResourceVersion, position int) *api.Status {
	if ref := state.Get(key); ref == 0 || c.heap.ResourceVersion(ref) >= rv {
		return notKept(key, rv)
	}
	c.window.Resolve(position, 0, state.Remove(key), 0)
	return nil
}

func notKept(key api.Key, rv api.ResourceVersion) *api.Status {
	return api.Protocol("the change of " + string(key) + " at version " + rv.String() + " does not follow the restored version")
}

// MarkCorrupt records that a part of the restored state is missing or invalid. After
// MarkCorrupt, every read fails with 410. The 410 reaches readers of other objects, so it
// does not contain the cause, which may name an object.
func (c *Cacher) MarkCorrupt(cause *api.Status) {
	if c.corruption == nil {
		c.corruption, c.corruptionCause = api.Expired("the restored state of the collection is incomplete or invalid; list again"), cause
	}
}

// Corrupt returns the status that every read fails with, or nil.
func (c *Cacher) Corrupt() *api.Status { return c.corruption }

// CorruptionCause returns the cause given to MarkCorrupt, or nil.
func (c *Cacher) CorruptionCause() *api.Status { return c.corruptionCause }
