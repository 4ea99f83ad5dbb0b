package store

import (
	"slices"

	"github.com/watchglass/watchglass/core/api"
)

// ID names an object of one [Store], whatever its version: a small number that
// stays the same for as long as the key is in, and is used again later. Zero is
// no object.
type ID uint32

// Store is the current state of a collection: at most one version per key. It
// holds one count of each version in it.
type Store struct {
	heap     *Heap
	versions []Ref // by ID
	free     []ID
	index    index
	order    Ordered // by key
	places   places  // nil until somebody asks
	runs     runs    // what is not in yet
}

// New returns an empty store over a heap.
func New(heap *Heap) *Store { return &Store{heap: heap, versions: make([]Ref, 1)} }

// Len is the number of objects, those of runs included that wait.
func (s *Store) Len() int {
	n := s.order.Len()
	if s.runs.waiting > 0 {
		for _, run := range s.runs.run {
			if run != nil {
				n += run.Len()
			}
		}
	}
	return n
}

// Find returns the number of a key, or zero.
func (s *Store) Find(key api.Key) ID {
	s.loadFor(key)
	if s.order.Len() == 0 {
		return 0
	}
	return s.index.get(s, key)
}

// Version returns the version of an object without a count, or zero.
func (s *Store) Version(id ID) Ref { return s.versions[id] }

// Get returns the version of a key without a count, or zero.
func (s *Store) Get(key api.Key) Ref { return s.versions[s.Find(key)] }

// Add puts in a version, of which it takes over a count, whose key is not in
// yet, and not in a run that waits.
func (s *Store) Add(ref Ref) ID {
	id := s.number(ref)
	left, right := s.order.Insert(id, s.before(s.heap.Key(ref)))
	s.place(id, left, right)
	return id
}

// Behind reports whether a key sorts behind those of all objects, and so is not
// in.
func (s *Store) Behind(key api.Key) bool {
	return s.runs.waiting == 0 && (s.order.Len() == 0 || s.key(s.order.last()) < key)
}

// Append is Add of a version whose key sorts behind those of all objects.
func (s *Store) Append(ref Ref) {
	var left ID
	if s.order.Len() > 0 {
		left = s.order.last()
	}
	id := s.number(ref)
	s.order.Append(id)
	s.place(id, left, 0)
}

// number gives the object of a version a number, by which its key is found.
func (s *Store) number(ref Ref) ID {
	id := ID(len(s.versions))
	if n := len(s.free); n > 0 {
		id = s.free[n-1]
		s.free = s.free[:n-1]
		s.versions[id] = ref
	} else {
		s.versions = append(s.versions, ref)
	}
	s.index.add(s, s.heap.Key(ref), id)
	return id
}

// place numbers the place of an object that has come between two others, if
// places are numbered.
func (s *Store) place(id, left, right ID) {
	if s.places != nil && !s.places.put(id, left, right) {
		s.places.renumber(&s.order)
	}
}

// Expect makes room for so many objects.
func (s *Store) Expect(objects int) {
	s.versions = slices.Grow(s.versions, objects)
	s.index.expect(s, objects)
}

// NumberPlaces makes Before known, at the cost of eight bytes an object from
// then on.
func (s *Store) NumberPlaces() {
	s.LoadAll()
	if s.places == nil {
		s.places = make(places, cap(s.versions))
		s.places.renumber(&s.order)
	}
}

// Before reports whether the key of an object sorts before that of another. Of
// an object that was removed it still knows until the next is added. The places
// must have been numbered.
func (s *Store) Before(id, other ID) bool { return s.places[id] < s.places[other] }

// Replace makes ref, of which it takes over a count, the version of an object
// that is in, and returns the version before with its count. The keys must be
// the same.
func (s *Store) Replace(id ID, ref Ref) (previous Ref) {
	previous = s.versions[id]
	s.versions[id] = ref
	return previous
}

// Set makes ref, of which it takes over a count, the version of its key. The
// version it replaces is returned with its count, or zero.
func (s *Store) Set(ref Ref) (previous Ref) {
	if id := s.Find(s.heap.Key(ref)); id != 0 {
		return s.Replace(id, ref)
	}
	s.Add(ref)
	return 0
}

// Remove takes a key out and returns its version with its count, or zero.
func (s *Store) Remove(key api.Key) (previous Ref) {
	s.loadFor(key)
	id := s.index.remove(s, key)
	if id == 0 {
		return 0
	}
	s.order.Remove(id, s.before(key))
	s.free = append(s.free, id)
	return s.Replace(id, 0)
}

func (s *Store) key(id ID) api.Key { return s.heap.Key(s.versions[id]) }

func (s *Store) before(key api.Key) func(ID) bool {
	return func(id ID) bool { return s.key(id) < key }
}

// Objects calls yield for every object, in key order and without a count, until
// it returns false. The store must not change meanwhile.
func (s *Store) Objects(yield func(ID, Ref) bool) {
	s.LoadAll()
	s.order.From(0, func(id ID) bool { return yield(id, s.versions[id]) })
}

// Ascend calls yield for every version from the given key on, in key order and
// without a count, until it returns false. The store must not change meanwhile,
// but for runs that are loaded when it is their turn.
func (s *Store) Ascend(from api.Key, yield func(Ref) bool) {
	for more := true; more; {
		from, more = s.ascendTo(from, yield)
	}
}

// Between counts the objects from one key up to and without another. An empty key is
// the first or the last. It takes time for a search, not for the objects.
func (s *Store) Between(from, to api.Key) int {
	s.LoadAll()
	end := s.order.Len()
	if to != "" {
		end = s.order.place(s.before(to))
	}
	return max(end-s.order.place(s.before(from)), 0)
}

// Clear lets every version go.
func (s *Store) Clear() {
	for _, ref := range s.versions {
		s.heap.Release(ref)
	}
	s.runs.drop()
	*s = *New(s.heap)
}
