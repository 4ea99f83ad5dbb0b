package session

import (
	"math"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// Readers without selectors that have caught up receive the same Events frames, except for the
// subscription number. The changes are encoded for the first such reader. Every other reader in
// exactly the same state receives a copy of the encoding (see appendEncoded).

// maxEncoded is the size in bytes of the largest encoding that is cached.
const maxEncoded = 256 << 10

// encodedEvents is the cached encoding of the events at the end of the window, for
// readers without selectors.
type encodedEvents struct {
	From, To        int
	ResourceVersion api.ResourceVersion // version of the last revision
	// Held is the oldest version that a reader must have, with its base, to use the
	// encoding. Held is noneHeld if the reader needs no version.
	Held       api.ResourceVersion
	Dictionary uint32
	LabelSets  []uint32 // label sets of the changes; the window's events keep them alive
	Count      int
	Changes    []byte // the encoded changes, in the format of wire.Events
}

// sharesEncoding reports whether the subscription can share encodings with others.
func (s *subscription) sharesEncoding() bool {
	return s.phase == live && !s.metadataOnly && s.computed == nil && (s.bodies == nil || s.bodies.done) && s.filter.Everything() && s.collection.subscriptions > 1
}

// appendEncoded appends the cached encoding if it contains exactly the next events of
// this reader, and reports whether it did.
func (s *subscription) appendEncoded(message []byte, room int) ([]byte, bool) {
	e := &s.collection.events
	if e.Count == 0 || e.From != s.follower.Position() || e.To != s.cacher.Window().End() ||
		len(e.Changes) > room || e.Dictionary != s.dictionary || e.Held <= s.deltaEpochSince || !s.sharesEncoding() {
		return message, false
	}
	for _, id := range e.LabelSets {
		message, _ = s.defineLabelSet(message, id)
	}
	s.rv = e.ResourceVersion
	s.follower.MoveTo(e.To)
	return s.charge(message, (&encodedFrame{wire.Events{Subscription: s.id, ResourceVersion: s.rv}, e}).Append(message)), true
}

// encode appends the events between two positions of the window. It caches the encoding
// if other readers can use it.
func (s *subscription) encode(message []byte, from, to int, held api.ResourceVersion) []byte {
	f := wire.Events{Subscription: s.id, ResourceVersion: s.rv, Changes: s.frame.Changes}
	if to != s.cacher.Window().End() || held <= s.deltaEpochSince || !s.sharesEncoding() {
		return s.charge(message, f.Append(message))
	}
	e := &s.collection.events
	*e = encodedEvents{
		From: from, To: to, ResourceVersion: s.rv, Held: held, Dictionary: s.dictionary,
		LabelSets: e.LabelSets[:0], Count: len(s.frame.Changes), Changes: f.AppendChanges(e.Changes[:0]),
	}
	for i := range s.frame.Changes {
		if c := &s.frame.Changes[i]; c.Type != api.Deleted {
			e.LabelSets = append(e.LabelSets, c.LabelSet)
		}
	}
	message = s.charge(message, (&encodedFrame{f, e}).Append(message))
	if cap(e.Changes) > maxEncoded {
		*e = encodedEvents{}
	}
	return message
}

// encodedFrame is an Events frame whose changes are already encoded.
type encodedFrame struct {
	events wire.Events
	of     *encodedEvents
}

func (f *encodedFrame) Append(dst []byte) []byte {
	return f.events.AppendEncoded(dst, f.of.Count, f.of.Changes)
}

// noneHeld is greater than every version.
const noneHeld = api.ResourceVersion(math.MaxUint64)
