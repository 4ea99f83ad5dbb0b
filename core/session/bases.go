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
//   - A reader that receives a Modified event has the previous version. It received that
//     version as well (rules W26 to W32), or resumed from it.
//   - The reader and this cacher have the same base for that version if a subscription
//     with the current DeltaEpoch sent the version. This is true for versions above
//     deltaEpochSince, and for all versions after a snapshot. If the reader resumes with
//     another DeltaEpoch (from another connector, or from before a relist), its older
//     versions have unknown or missing bases.
//   - The reader may have a newer version from another connector if this connector could
//     not read the object for a while. The next change to that object is sent complete.
//   - While a snapshot is sent, all changes are sent complete. The reader may have
//     started the snapshot at another connector.
//
// Comparing resource versions is therefore sufficient to know which versions the reader
// has. An event is sent either complete or as a difference from the previous version.

// held returns the previous version of a changed object if the reader has it with the same
// base as this cacher. Otherwise it returns zero.
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

// base returns the base of the body of ref, or a zero Base if that body has none. The
// result contains the body of the base unless the reader already has it. The reader has the
// version held and the base of held.
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

// lastSize estimates the encoded size in bytes of the change that was added last.
func (s *subscription) lastSize() int {
	c := &s.frame.Changes[len(s.frame.Changes)-1]
	return len(c.Envelope) + len(c.Patch) + len(c.Base.Body.Data) + 16
}

// setEnvelope sets the envelope of a change, or a patch that applies to the version held.
// Columns that the reader chose are in neither the stored envelope nor the shared patch, so
// they are computed here.
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
