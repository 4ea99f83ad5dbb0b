package store

import (
	"slices"

	"github.com/watchglass/watchglass/core/api"
)

// ID names an object of one [Store], independent of its version. It is a small
// number that stays the same as long as the key is present, and is reused
// afterwards. Zero means no object.
type ID uint32

// Store is the current state of a collection: at most one version per key. The store
// holds one reference to each version.
type Store struct {
	arena    *Arena
	versions []Ref // by ID
	free     []ID
	index    index
	order    Ordered  // by key
	ranks    ranks    // nil until EnableRanks is called
	segments segments // objects that are not loaded yet
}

// New returns an empty store that keeps its versions in the arena.
func New(arena *Arena) *Store { return &Store{arena: arena, versions: make([]Ref, 1)} }

// Len returns the number of objects, including those of unloaded segments.
func (s *Store) Len() int {
	n := s.order.Len()
	if s.segments.count > 0 {
		for _, segment := range s.segments.unloaded {
			if segment != nil {
				n += segment.Len()
			}
		}
	}
	return n
}

// Find returns the ID of a key, or zero if the key is not in the store.
func (s *Store) Find(key api.Key) ID {
	s.loadFor(key)
	if s.order.Len() == 0 {
		return 0
	}
	return s.index.get(s, key)
}

// Version returns the current version of an object, or zero. It adds no reference.
func (s *Store) Version(id ID) Ref { return s.versions[id] }

// Get returns the current version of a key, or zero. It adds no reference.
func (s *Store) Get(key api.Key) Ref { return s.versions[s.Find(key)] }

// Add inserts a version, takes ownership of one reference, and returns the ID of the
// object. The key must not be in the store or in an unloaded segment yet.
func (s *Store) Add(ref Ref) ID {
	id := s.number(ref)
	left, right := s.order.Insert(id, s.before(s.arena.Key(ref)))
	s.rank(id, left, right)
	return id
}

// Last returns the version with the last key, or zero. All segments must be loaded.
func (s *Store) Last() Ref {
	if s.order.Len() == 0 {
		return 0
	}
	return s.versions[s.order.last()]
}

// Behind reports whether the key sorts after every key in the store, and is therefore not
// in the store. The result is always false while a segment is unloaded.
func (s *Store) Behind(key api.Key) bool {
	return s.segments.count == 0 && (s.order.Len() == 0 || s.key(s.order.last()) < key)
}

// Append is like Add, for a version whose key sorts after all keys in the store.
func (s *Store) Append(ref Ref) {
	var left ID
	if s.order.Len() > 0 {
		left = s.order.last()
	}
	id := s.number(ref)
	s.order.Append(id)
	s.rank(id, left, 0)
}

// number assigns an ID to a new object and indexes its key.
func (s *Store) number(ref Ref) ID {
	id := ID(len(s.versions))
	if n := len(s.free); n > 0 {
		id = s.free[n-1]
		s.free = s.free[:n-1]
		s.versions[id] = ref
	} else {
		s.versions = append(s.versions, ref)
	}
	s.index.add(s, s.arena.Key(ref), id)
	return id
}

// rank assigns a rank to an object that was inserted between two
// others, if ranks are enabled.
func (s *Store) rank(id, left, right ID) {
	if s.ranks != nil && !s.ranks.put(id, left, right) {
		s.ranks.renumber(&s.order)
	}
}

// Expect allocates space for the given number of objects.
func (s *Store) Expect(objects int) {
	s.versions = slices.Grow(s.versions, objects)
	s.index.expect(s, objects)
}

// EnableRanks enables Before, after loading all segments. From then on, each object takes
// eight more bytes.
func (s *Store) EnableRanks() {
	s.LoadAll()
	if s.ranks == nil {
		s.ranks = make(ranks, cap(s.versions))
		s.ranks.renumber(&s.order)
	}
}

// Before reports whether the key of id sorts before the key of other. For a
// removed object the result stays correct until the next Add. EnableRanks must
// have been called.
func (s *Store) Before(id, other ID) bool { return s.ranks[id] < s.ranks[other] }

// Replace replaces the version of an object in the store with ref, which must have the same
// key, and takes ownership of one reference. It returns the previous version together with its
// reference.
func (s *Store) Replace(id ID, ref Ref) (previous Ref) {
	previous = s.versions[id]
	s.versions[id] = ref
	return previous
}

// Set stores ref under its key and takes ownership of one reference. It returns
// the previous version together with its reference, or zero.
func (s *Store) Set(ref Ref) (previous Ref) {
	if id := s.Find(s.arena.Key(ref)); id != 0 {
		return s.Replace(id, ref)
	}
	s.Add(ref)
	return 0
}

// Remove removes a key and returns its version together with its reference, or
// zero.
func (s *Store) Remove(key api.Key) (previous Ref) {
	s.loadFor(key)
	id := s.index.remove(s, key)
	if id == 0 {
		return 0
	}
	before := s.before(key)
	if s.ranks != nil { // the rank of a removed object stays correct, and comparing ranks reads no keys
		before = func(other ID) bool { return s.Before(other, id) }
	}
	s.order.Remove(id, before)
	s.free = append(s.free, id)
	return s.Replace(id, 0)
}

func (s *Store) key(id ID) api.Key { return s.arena.Key(s.versions[id]) }

func (s *Store) before(key api.Key) func(ID) bool {
	return func(id ID) bool { return s.key(id) < key }
}

// Objects yields every object in key order until yield returns false. It adds no
// references. The store must not change during the iteration.
func (s *Store) Objects(yield func(ID, Ref) bool) {
	s.LoadAll()
	s.order.From(0, func(id ID) bool { return yield(id, s.versions[id]) })
}

// Ascend yields every version from the given key on, in key order, until yield
// returns false. It adds no references. The store must not change during the
// iteration, except that Ascend loads segments when it reaches them.
//
//go:noinline
func (s *Store) Ascend(from api.Key, yield func(Ref) bool) {
	for more := true; more; {
		from, more = s.ascendTo(from, yield)
	}
}

// Between returns the number of objects with from <= key < to. If to is empty, there is no
// upper bound. Once all segments are loaded, Between takes the time of two searches,
// regardless of the number of objects.
func (s *Store) Between(from, to api.Key) int {
	s.LoadAll()
	end := s.order.Len()
	if to != "" {
		end = s.order.Count(s.before(to))
	}
	return max(end-s.order.Count(s.before(from)), 0)
}

// DropBodies removes the bodies of all objects.
func (s *Store) DropBodies() {
	s.Ascend("", func(ref Ref) bool {
		s.arena.SetBody(ref, api.Body{}, MemberRef{}, 0, 0)
		return true
	})
}

// Clear releases every version and drops the unloaded segments.
func (s *Store) Clear() {
	for _, ref := range s.versions {
		s.arena.Release(ref)
	}
	s.segments.drop()
	*s = *New(s.arena)
}

// After yields the objects whose keys sort after the given key, in key order, until yield
// returns false. It adds no references. The store must not change during the iteration.
func (s *Store) After(key api.Key, yield func(ID, Ref) bool) {
	s.LoadAll()
	s.order.ascend(func(id ID) bool { return s.key(id) <= key }, func(id ID) bool { return yield(id, s.versions[id]) })
}
