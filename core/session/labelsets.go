package session

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// knownLabelSets remembers which label sets were defined to the reader of one
// subscription: the last one for each remainder of the number, and so at most a
// fixed number of them. A definition that has been displaced is repeated before
// the next use of the label set, which changes nothing for the reader.
type knownLabelSets []knownLabelSet

// knownLabelSet is a number and the generation that it was defined with, plus
// one. Zero is an empty entry.
type knownLabelSet struct{ id, mark uint32 }

// define notes a definition and reports whether it is new. Numbers are dense, so
// the table has an entry for each until there are more than most.
func (k *knownLabelSets) define(id, generation uint32, most int) (isNew bool) {
	if missing := min(int(id)+1, most) - len(*k); missing > 0 {
		*k = append(*k, make(knownLabelSets, missing)...)
	}
	entry, now := &(*k)[int(id)%most], knownLabelSet{id, generation + 1}
	isNew = *entry != now
	*entry = now
	return isNew
}

// ownLabelSets gives label sets numbers of the subscription's own, in the order of
// their first use: those of the heap would disclose how many label sets other
// objects have. Sorted by id.
type ownLabelSets []ownLabelSet

type ownLabelSet struct {
	knownLabelSet
	number uint32
}

// define notes a definition, and returns its number and whether it is new.
func (o *ownLabelSets) define(id, generation uint32) (number uint32, isNew bool) {
	at := o.find(id)
	if at == len(*o) || (*o)[at].id != id {
		*o = api.Insert(*o, at, ownLabelSet{number: uint32(len(*o))})
	}
	entry, now := &(*o)[at], knownLabelSet{id, generation + 1}
	isNew = entry.knownLabelSet != now
	entry.knownLabelSet = now
	return entry.number, isNew
}

// find returns where an id is or belongs.
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

// limit starts over when there are too many. It must not be called while a frame is
// being built, in which a number has one meaning.
func (o *ownLabelSets) limit(most int) {
	if len(*o) >= most {
		*o = nil
	}
}

// defineLabelSet defines a label set to the reader, unless it is known, and returns
// its number. Readers of everything share encoded changes, and have the numbers of
// the heap.
func (s *subscription) defineLabelSet(message []byte, id uint32) ([]byte, uint32) {
	sets := &s.cacher.Heap().Labels
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
