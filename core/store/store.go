package store

import (
	"cmp"

	"github.com/watchglass/watchglass/core/api"
)

// Store is the current state of a collection: at most one version per key. It
// holds one count of each version in it.
type Store struct {
	heap  *Heap
	index index
	order *Ordered
}

// New returns an empty store over a heap.
func New(heap *Heap) *Store {
	return &Store{heap: heap, order: NewOrdered(func(a, b Ref) int {
		return cmp.Compare(heap.Key(a), heap.Key(b))
	})}
}

// Len is the number of objects.
func (s *Store) Len() int { return s.index.count }

// Get returns the version of a key without a count, or zero.
func (s *Store) Get(key api.Key) Ref { return s.index.get(s.heap, key) }

// Set makes ref, of which it takes over a count, the version of its key. The
// version it replaces is returned with its count, or zero.
func (s *Store) Set(ref Ref) (previous Ref) {
	previous = s.index.set(s.heap, s.heap.Key(ref), ref)
	s.order.Set(ref)
	return previous
}

// Remove takes a key out and returns its version with its count, or zero.
func (s *Store) Remove(key api.Key) (previous Ref) {
	previous = s.Get(key)
	if previous == 0 {
		return 0
	}
	s.order.Remove(previous)
	return s.index.remove(s.heap, key)
}

// Ascend calls yield for every version from the given key on, in key order and
// without a count, until it returns false. The store must not change meanwhile.
func (s *Store) Ascend(from api.Key, yield func(Ref) bool) {
	s.order.ascend(func(r Ref) bool { return s.heap.Key(r) < from }, yield)
}

// Clear lets every version go.
func (s *Store) Clear() {
	s.Ascend("", func(r Ref) bool {
		s.heap.Release(r)
		return true
	})
	s.index, s.order = index{}, NewOrdered(s.order.compare)
}
