package session

import (
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

// defineLabelSet defines a label set to the reader, unless it is known.
func (s *subscription) defineLabelSet(message []byte, id uint32) []byte {
	sets := &s.cacher.Heap().Labels
	if !s.labelSets.define(id, sets.Generation(id), s.session.cfg.LabelSets) {
		return message
	}
	return (&wire.LabelSet{Subscription: s.id, ID: id, Labels: sets.Labels(id)}).Append(message)
}
