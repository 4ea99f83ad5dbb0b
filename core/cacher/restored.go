package cacher

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/store"
)

// A persisted state is restored without reading its objects. The objects stay in
// unloaded segments of the store. Reading an object first loads the segment that
// contains it. Callers cannot observe this.

// Restored is the part of a cacher that restores a persisted state.
type Restored struct {
	cacher     *Cacher
	corruption *api.Status // error of every read after the restored state turned out to be invalid
	cause      *api.Status
}

// Object adds an object of a segment to the store that the segment is loaded into.
func (r *Restored) Object(state *store.Store, p *Update) *api.Status {
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

// MarkCorrupt records that a part of the restored state, or a block of bodies, is missing
// or invalid. After MarkCorrupt, every read fails with 410. The 410 reaches readers of
// other objects, so it does not contain the cause, which may name an object.
func (r *Restored) MarkCorrupt(cause *api.Status) {
	if r.corruption == nil {
		r.corruption, r.cause = api.Expired("the state of the collection is incomplete or invalid; list again"), cause
	}
}

// Corrupt returns the status with which every read fails, or nil if no part is known
// to be invalid.
func (r *Restored) Corrupt() *api.Status { return r.corruption }

// Cause returns the cause given to MarkCorrupt, or nil.
func (r *Restored) Cause() *api.Status { return r.cause }
