package session

import (
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/wire"
)

// knownLabelSets remembers which label set definitions a subscription has sent. It is a
// direct-mapped cache of limited size. If a definition was displaced, it is sent again
// before the next use of the label set. Readers accept repeated definitions.
type knownLabelSets []knownLabelSet

// knownLabelSet identifies a sent definition by the ID of the label set and a mark, which
// is 1 plus the generation of the ID. A zero mark means an empty entry.
type knownLabelSet struct{ id, mark uint32 }

// define records a definition and reports whether the definition is new. IDs are dense,
// so the table grows to one entry per ID, up to the limit given by most.
func (k *knownLabelSets) define(id, generation uint32, most int) (isNew bool) {
	if missing := min(int(id)+1, most) - len(*k); missing > 0 {
		*k = append(*k, make(knownLabelSets, missing)...)
	}
	entry, now := &(*k)[int(id)%most], knownLabelSet{id, generation + 1}
	isNew = *entry != now
	*entry = now
	return isNew
}

// ownLabelSets assigns IDs that are private to the subscription, in the order of
// first use. IDs of the arena would disclose how many label sets other objects
// have. The entries are sorted by arena ID.
type ownLabelSets []ownLabelSet

type ownLabelSet struct {
	knownLabelSet
	number uint32
}

// define records a definition. It returns the private ID and whether the definition is new.
func (o *ownLabelSets) define(id, generation uint32) (number uint32, isNew bool) {
	at := o.find(id)
	if at == len(*o) || (*o)[at].id != id {
		*o = lite.Insert(*o, at, ownLabelSet{number: uint32(len(*o))})
	}
	entry, now := &(*o)[at], knownLabelSet{id, generation + 1}
	isNew = entry.knownLabelSet != now
	entry.knownLabelSet = now
	return entry.number, isNew
}

// find returns the index of an ID, or the index at which to insert a missing ID.
func (o *ownLabelSets) find(id uint32) int {
	low, high := 0, len(*o)
	for low < high {
		if middle := (low + high) / 2; (*o)[middle].id < id {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// limit clears the table when it is full. Do not call limit while a frame is being built,
// because an ID must keep its meaning within a frame.
func (o *ownLabelSets) limit(most int) {
	if len(*o) >= most {
		*o = nil
	}
}

// defineLabelSet appends the definition of a label set, unless the reader has it, and returns
// the ID of the set. Readers of all objects share encoded changes, so they use the IDs of the
// arena.
func (s *subscription) defineLabelSet(message []byte, id uint32) ([]byte, uint32) {
	sets := &s.cacher.Arena().Labels
	number, isNew := id, false
	if s.filter.Everything() {
		isNew = s.labelSets.define(id, sets.Generation(id), s.session.cfg.LabelSets)
	} else {
		number, isNew = s.ownLabelSets.define(id, sets.Generation(id))
	}
	if isNew {
		message = (&wire.LabelSet{Subscription: s.id, ID: number, Labels: sets.Labels(id)}).Append(message)
	}
	return message, number
}
