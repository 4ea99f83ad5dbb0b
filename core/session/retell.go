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

// maxRetold is how many bytes of changes are remembered.
const maxRetold = 256 << 10

// retellable: the reader is one of those.
func (s *subscription) retellable() bool {
	return s.phase == live && !s.metadataOnly && s.filter.Everything() && s.cacher.Shared()
}

// retell appends the events that another reader was told, if they are just what
// this one is to be told now.
func (s *subscription) retell(message []byte, room int) ([]byte, bool) {
	r := s.cacher.Retelling()
	if r.Count == 0 || r.From != s.follower.Position() || r.To != s.cacher.Window().End() || r.Generation != s.cacher.Generation() ||
		len(r.Changes) > room || r.Dictionary != s.dictionary || r.Held <= s.basesSince || !s.retellable() {
		return message, false
	}
	for _, l := range r.LabelSets {
		if int(l.ID) >= len(s.labelSets) || s.labelSets[l.ID] != l.Mark {
			return message, false
		}
	}
	s.rv = r.ResourceVersion
	s.follower.MoveTo(r.To)
	return s.charge(message, &told{wire.Events{Subscription: s.id, ResourceVersion: s.rv}, r}), true
}

// tell appends the events of a stretch of the window, and remembers them for
// other readers.
func (s *subscription) tell(message []byte, from, to int, held api.ResourceVersion) []byte {
	f := wire.Events{Subscription: s.id, ResourceVersion: s.rv, Changes: s.changes}
	if to != s.cacher.Window().End() || held <= s.basesSince || !s.retellable() {
		return s.charge(message, &f)
	}
	r := s.cacher.Retelling()
	*r = cacher.Retelling{
		From: from, To: to, Generation: s.generation, ResourceVersion: s.rv, Held: held, Dictionary: s.dictionary,
		LabelSets: r.LabelSets[:0], Count: len(s.changes), Changes: f.AppendChanges(r.Changes[:0]),
	}
	for i := range s.changes {
		if c := &s.changes[i]; c.Type != api.Deleted {
			r.LabelSets = append(r.LabelSets, cacher.LabelSetMark{ID: c.LabelSet, Mark: s.labelSets[c.LabelSet]})
		}
	}
	message = s.charge(message, &told{f, r})
	if cap(r.Changes) > maxRetold {
		*r = cacher.Retelling{}
	}
	return message
}

// told is a frame whose changes are encoded already.
type told struct {
	events wire.Events
	of     *cacher.Retelling
}

func (f *told) Append(dst []byte) []byte { return f.events.AppendTold(dst, f.of.Count, f.of.Changes) }

// heldByNobody is above every version.
const heldByNobody = api.ResourceVersion(math.MaxUint64)
