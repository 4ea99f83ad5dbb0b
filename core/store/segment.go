package store

import (
	"sort"

	"github.com/watchglass/watchglass/core/api"
)

// Segment is a range of adjacent keys whose objects are not in the store yet. A restore creates
// segments for persisted objects that may never be read. The store loads a segment when a read
// needs one of its objects.
type Segment interface {
	// Len returns the number of objects in the segment.
	Len() int
	// Load adds the objects to the store, which has already removed the segment.
	Load(*Store)
	// Drop discards the segment; its objects will not be read.
	Drop()
}

// segments are the unloaded segments of a store, in key order. Each segment covers the keys
// from its first key up to the first key of the next segment. The first segment also
// covers all smaller keys.
type segments struct {
	first    []api.Key
	unloaded []Segment // an element is nil if its segment is loaded
	count    int       // number of unloaded segments
}

// AddSegment adds a segment that starts at the key first, and returns true. It adds
// nothing and returns false if the store has loaded objects, or if another segment starts
// at that key or later.
func (s *Store) AddSegment(first api.Key, segment Segment) bool {
	r := &s.segments
	if n := len(r.first); s.order.Len() > 0 || n > 0 && first <= r.first[n-1] {
		return false
	}
	r.first, r.unloaded = append(r.first, first), append(r.unloaded, segment)
	r.count++
	return true
}

// LoadAll loads every segment.
//
//go:noinline
func (s *Store) LoadAll() {
	for i := 0; i < len(s.segments.unloaded); i++ {
		s.load(i)
	}
}

// drop discards all segments.
func (r *segments) drop() {
	for _, segment := range r.unloaded {
		if segment != nil {
			segment.Drop()
		}
	}
}

// of returns the index of the segment whose range includes the key.
func (r *segments) of(key api.Key) int {
	behind := sort.Search(len(r.first), func(i int) bool { return r.first[i] > key })
	return max(behind-1, 0)
}

// next returns the first key of the first unloaded segment whose index is at least i. It
// returns false if there is none.
func (r *segments) next(i int) (api.Key, bool) {
	for ; r.count > 0 && i < len(r.unloaded); i++ {
		if r.unloaded[i] != nil {
			return r.first[i], true
		}
	}
	return "", false
}

func (s *Store) load(i int) {
	segment := s.segments.unloaded[i]
	if segment == nil {
		return
	}
	s.segments.unloaded[i] = nil
	segment.Load(s)
	if s.segments.count--; s.segments.count == 0 {
		s.segments = segments{}
	}
}

// loadFor loads the segment whose range includes the key.
func (s *Store) loadFor(key api.Key) {
	if s.segments.count > 0 {
		s.load(s.segments.of(key))
	}
}

// ascendTo yields versions from a key up to the next unloaded segment, and returns the
// first key of that segment. The result more is false if no unloaded segment follows, or
// if yield has returned false.
func (s *Store) ascendTo(from api.Key, yield func(Ref) bool) (next api.Key, more bool) {
	if s.segments.count > 0 {
		i := s.segments.of(from)
		s.load(i)
		next, more = s.segments.next(i + 1)
	}
	s.order.ascend(s.before(from), func(id ID) bool {
		if more && s.key(id) >= next {
			return false
		}
		if yield(s.versions[id]) {
			return true
		}
		more = false
		return false
	})
	return next, more
}
