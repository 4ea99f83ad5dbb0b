package cacher

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/store"
)

// A state that was kept somewhere is restored without looking at its objects: they
// wait in runs of the store, together with the changes that were kept of them, and
// their events in the window are only announced. Whoever asks for an object, or for
// an event from before the restore, has what that takes put in first, and cannot
// tell the difference.

// WaitInList adds a run of objects to the list under way, as store.Wait does.
func (c *Cacher) WaitInList(first api.Key, run store.Run) bool {
	return c.staging.state.Wait(first, run)
}

// LoadAll leaves nothing waiting.
func (c *Cacher) LoadAll() {
	if c.staging != nil {
		c.staging.state.LoadAll()
	}
	c.state.LoadAll()
}

// Announce says that a run that waits holds the next change, of a version. Load
// hands it to ChangeRestored with the position.
func (c *Cacher) Announce(rv api.ResourceVersion, now int64) (position int) {
	c.now = max(c.now, now)
	state := c.state
	position = c.window.Announce(rv, now, func() *api.Status {
		state.LoadAll()
		return c.damage
	})
	c.dispatched = c.window.End()
	return position
}

// ObjectRestored puts an object of a run into its store.
func (c *Cacher) ObjectRestored(state *store.Store, p *Put) *api.Status {
	if state.Find(p.Envelope.Key()) != 0 {
		return api.Protocol(string(p.Envelope.Key()) + " was kept twice")
	}
	ref, status := c.store(p, 0)
	if status == nil {
		state.Add(ref)
	}
	return status
}

// ChangeRestored makes a change of an object of a run, without telling anybody: it
// was there when they came.
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
	c.window.Fill(position, current, previous, unchanged)
	return nil
}

// DeletionRestored takes out an object of a run like ChangeRestored.
func (c *Cacher) DeletionRestored(state *store.Store, key api.Key, rv api.ResourceVersion, position int) *api.Status {
	if ref := state.Get(key); ref == 0 || c.heap.ResourceVersion(ref) >= rv {
		return notKept(key, rv)
	}
	c.window.Fill(position, 0, state.Remove(key), 0)
	return nil
}

func notKept(key api.Key, rv api.ResourceVersion) *api.Status {
	return api.Protocol("the change of " + string(key) + " at version " + rv.String() + " does not lead on from the version kept")
}

// Damage records that a part of the restored state is missing or invalid. After
// Damage, every read fails with 410. The 410 reaches readers of other objects, so it
// does not contain the cause, which may name an object.
func (c *Cacher) Damage(cause *api.Status) {
	if c.damage == nil {
		c.damage, c.damageCause = api.Expired("what was kept of the collection turned out not to be whole, list it anew"), cause
	}
}

// Damaged returns the status that every read fails with, or nil.
func (c *Cacher) Damaged() *api.Status { return c.damage }

// DamageCause returns the cause given to Damage, or nil.
func (c *Cacher) DamageCause() *api.Status { return c.damageCause }
