package session

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// A session does not record which versions its reader has. It derives them from the
// position of the reader:
//
//   - A reader that receives a Modified event has the previous version, because
//     it received that version as well (rules W26 to W32) or resumed from it.
//   - The reader's base of that version is this cacher's base if this subscription sent the
//     version, or an earlier subscription with the same DeltaEpoch. These are the versions
//     above deltaEpochSince, and all versions after a snapshot. After a resumption with a
//     different DeltaEpoch (another connector, or before a relist), older versions have
//     unknown bases or none.
//   - It may have a newer version from another connector if this one could not
//     read the object for a while. Such a change is sent complete.
//   - While a snapshot is sent, all changes are sent complete. The reader may have
//     started it at another connector.
//
// Comparing versions is therefore sufficient, and an event has two forms:
// complete, or as a difference from the previous version.

// held returns the version of a changed object that the reader has with the same base as
// this cacher, or zero.
func (s *subscription) held(t api.EventType, e *history.Event) store.Ref {
	if s.phase != live || t != api.Modified || e.AfterFault {
		return 0
	}
	if s.cacher.Arena().ResourceVersion(e.Previous) <= s.deltaEpochSince ||
		s.bodies != nil && s.mayLackBody(s.cacher.Arena().Key(e.Previous)) {
		return 0
	}
	return e.Previous
}

// base returns the base of a version's body. It includes the body of the base
// unless the reader has it together with the version held.
func (s *subscription) base(ref, held store.Ref) wire.Base {
	arena := s.cacher.Arena()
	base := arena.Base(ref)
	if base == 0 {
		return wire.Base{}
	}
	named := wire.Base{ResourceVersion: arena.ResourceVersion(base)}
	if held == 0 || base != held && base != arena.Base(held) {
		named.Body = arena.BaseBody(ref, &s.frame.Bytes)
	}
	return named
}

// lastSize estimates the size of the last change on the wire.
func (s *subscription) lastSize() int {
	c := &s.frame.Changes[len(s.frame.Changes)-1]
	return len(c.Envelope) + len(c.Patch) + len(c.Base.Body.Data) + 16
}

// setEnvelope sets the envelope, or a patch of the version held. Columns that the reader
// chose are in neither the stored envelope nor the shared patch.
func (s *subscription) setEnvelope(c *wire.Change, ref, held store.Ref, position int) {
	arena := s.cacher.Arena()
	if s.computed != nil {
		c.Envelope = s.computeEnvelope(ref)
		return
	}
	if held != 0 {
		if patch := s.collection.patch(position, !s.omitsBodies()); patch != nil {
			at := len(s.frame.Bytes)
			s.frame.Bytes = append(s.frame.Bytes, patch...)
			c.Patch, c.Previous = s.frame.Bytes[at:], arena.ResourceVersion(held)
			return
		}
	}
	if !s.omitsBodies() {
		c.Envelope = arena.Complete(ref, &s.frame.Bytes)
		return
	}
	at := len(s.frame.Bytes)
	s.frame.Bytes = arena.Envelope(ref).AppendWithBody(s.frame.Bytes, api.Body{})
	c.Envelope = s.frame.Bytes[at:]
}
