package reflector

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// labelSets contains the label sets that the connector has defined for a subscription, by
// the IDs of the connector, which may be sparse. A direct-mapped cache speeds up lookups.
type labelSets struct {
	all   map[uint32]*labelSet
	near  [256]*labelSet // by the low bits of the ID
	bytes int            // estimated memory of the definitions
}

// labelSet is one definition. It stores the ID of the set in the arena but holds no
// reference, so the arena frees the set with the last object that uses it.
type labelSet struct {
	id                 uint32
	labels             api.Labels
	number, generation uint32
}

func (s *labelSets) define(f *wire.LabelSet) {
	labels := make(api.Labels, len(f.Labels))
	for i, l := range f.Labels {
		labels[i] = api.Label{Key: lite.Clone(l.Key), Value: lite.Clone(l.Value)}
	}
	if was := s.all[f.ID]; was != nil {
		s.bytes -= was.bytes()
	}
	if s.all == nil {
		s.all = map[uint32]*labelSet{}
	}
	set := &labelSet{id: f.ID, labels: labels, number: store.NoLabelSet}
	s.all[f.ID], *s.nearest(f.ID) = set, set
	s.bytes += set.bytes()
}

// find returns the label set with an ID, or nil if the ID is undefined.
func (s *labelSets) find(id uint32) *labelSet {
	near := s.nearest(id)
	if *near == nil || (*near).id != id {
		set := s.all[id]
		if set == nil {
			return nil
		}
		*near = set
	}
	return *near
}

func (s *labelSets) nearest(id uint32) **labelSet { return &s.near[id%uint32(len(s.near))] }

// bytes estimates the memory of the definition.
func (s *labelSet) bytes() int {
	n := 100 // including its map entry
	for _, l := range s.labels {
		n += 32 + len(l.Key) + len(l.Value)
	}
	return n
}
