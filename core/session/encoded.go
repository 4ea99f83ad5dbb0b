package session

import (
	"math"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/wire"
)

// Readers of everything that have caught up are told the same of what comes
// next, but for the number of their subscription. So the changes are encoded for
// the first of them, and copied for the others, which the conditions below hold
// to the very state that the bytes were made for.

// maxEncoded is how many bytes of changes are remembered.
const maxEncoded = 256 << 10

// isOneOfMany: the reader is one of those.
func (s *subscription) isOneOfMany() bool {
	return s.phase == live && !s.metadataOnly && s.filter.Everything() && s.cacher.Shared()
}

// appendEncoded appends the events that were encoded for another reader, if they
// are just what this one is to be told now.
func (s *subscription) appendEncoded(message []byte, room int) ([]byte, bool) {
	e := s.cacher.EncodedEvents()
	if e.Count == 0 || e.From != s.follower.Position() || e.To != s.cacher.Window().End() ||
		len(e.Changes) > room || e.Dictionary != s.dictionary || e.Held <= s.basesSince || !s.isOneOfMany() {
		return message, false
	}
	for _, id := range e.LabelSets {
		message, _ = s.defineLabelSet(message, id)
	}
	s.rv = e.ResourceVersion
	s.follower.MoveTo(e.To)
	return s.charge(message, &encodedFrame{wire.Events{Subscription: s.id, ResourceVersion: s.rv}, e}), true
}

// encode appends the events of a stretch of the window, and remembers them for
// other readers.
func (s *subscription) encode(message []byte, from, to int, held api.ResourceVersion) []byte {
	f := wire.Events{Subscription: s.id, ResourceVersion: s.rv, Changes: s.frame.Changes}
	if to != s.cacher.Window().End() || held <= s.basesSince || !s.isOneOfMany() {
		return s.charge(message, &f)
	}
	e := s.cacher.EncodedEvents()
	*e = cacher.EncodedEvents{
		From: from, To: to, ResourceVersion: s.rv, Held: held, Dictionary: s.dictionary,
		LabelSets: e.LabelSets[:0], Count: len(s.frame.Changes), Changes: f.AppendChanges(e.Changes[:0]),
	}
	for i := range s.frame.Changes {
		if c := &s.frame.Changes[i]; c.Type != api.Deleted {
			e.LabelSets = append(e.LabelSets, c.LabelSet)
		}
	}
	message = s.charge(message, &encodedFrame{f, e})
	if cap(e.Changes) > maxEncoded {
		*e = cacher.EncodedEvents{}
	}
	return message
}

// encodedFrame is a frame whose changes are encoded already.
type encodedFrame struct {
	events wire.Events
	of     *cacher.EncodedEvents
}

func (f *encodedFrame) Append(dst []byte) []byte {
	return f.events.AppendEncoded(dst, f.of.Count, f.of.Changes)
}

// heldByNobody is above every version.
const heldByNobody = api.ResourceVersion(math.MaxUint64)
