package session

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// What a reader holds is not remembered by the object. It follows from how far
// the reader is:
//
//   - A reader that is told that an object was modified holds the version before,
//     because it was told that too (rules W26 to W32): it has followed this
//     sequence, or resumed from a version of it.
//   - It holds that version with the base that it has here, if this subscription
//     told it, or an earlier one of the same bases: versions above basesSince.
//     After a snapshot that is every version. After a resumption from what other
//     bases told, of another connector or from before a list, the versions up to
//     there have bases that are not known here, or none.
//   - It may hold a newer version, of another connector, if this one could not read
//     the object in between. It is told such a change whole, so that it need not
//     start over.
//   - While a snapshot is under way its parts are newer than the changes that are
//     replayed behind them, and the reader may not have what a change was made
//     from. It is told everything whole.
//
// So a comparison of versions decides, and what is sent is one of two forms of
// the event: by itself, or as the difference from the version before.

// held is the version that the reader holds of an object that has changed, with
// the base it has here, or zero.
func (s *subscription) held(t api.EventType, e *history.Event) store.Ref {
	if s.phase != live || t != api.Modified || e.Mended {
		return 0
	}
	if s.cacher.Heap().ResourceVersion(e.Previous) <= s.basesSince {
		return 0
	}
	return e.Previous
}

// base names the base of a version's body, and brings it along unless the reader
// has it with the version that it holds.
func (s *subscription) base(ref, held store.Ref) wire.Base {
	heap := s.cacher.Heap()
	base := heap.Base(ref)
	if base == 0 {
		return wire.Base{}
	}
	named := wire.Base{ResourceVersion: heap.ResourceVersion(base)}
	if held == 0 || base != held && base != heap.Base(held) {
		named.Body = heap.Envelope(base).Body()
	}
	return named
}

// lastSize is about what the last change takes on the wire.
func (s *subscription) lastSize() int {
	c := &s.frame.Changes[len(s.frame.Changes)-1]
	return len(c.Envelope) + len(c.Patch) + len(c.Base.Body.Data) + 16
}
