package store

import (
	"sort"

	"github.com/watchglass/watchglass/core/api"
)

// Run is a segment of objects, adjacent in key order, that is not in its store
// yet. A restore creates runs for persisted objects that may never be read. The
// store loads a run when a read needs one of its objects.
type Run interface {
	// Len returns the number of objects in the run.
	Len() int
	// Load adds the objects to the store, which has already removed the run.
	Load(*Store)
	// Drop discards the run; its objects will not be read.
	Drop()
}

// runs are the unloaded runs of a store, in key order. Each run covers the keys
// from its first key up to the first key of the next run. The first run also
// covers all smaller keys.
type runs struct {
	first   []api.Key
	run     []Run // nil if loaded
	waiting int
}

// Wait adds a run. It adds nothing and returns false if the store has loaded
// objects, or unless first sorts after the first keys of all other runs.
func (s *Store) Wait(first api.Key, run Run) bool {
	r := &s.runs
	if n := len(r.first); s.order.Len() > 0 || n > 0 && first <= r.first[n-1] {
		return false
	}
	r.first, r.run = append(r.first, first), append(r.run, run)
	r.waiting++
	return true
}

// LoadAll loads every run.
//
//go:noinline
func (s *Store) LoadAll() {
	for i := 0; i < len(s.runs.run); i++ {
		s.load(i)
	}
}

// drop discards all runs.
func (r *runs) drop() {
	for _, run := range r.run {
		if run != nil {
			run.Drop()
		}
	}
}

// of returns the index of the run whose range includes the key.
func (r *runs) of(key api.Key) int {
	behind := sort.Search(len(r.first), func(i int) bool { return r.first[i] > key })
	return max(behind-1, 0)
}

// next returns the first key of the first unloaded run from index i on, and false
// if there is none.
func (r *runs) next(i int) (api.Key, bool) {
	for ; r.waiting > 0 && i < len(r.run); i++ {
		if r.run[i] != nil {
			return r.first[i], true
		}
	}
	return "", false
}

func (s *Store) load(i int) {
	run := s.runs.run[i]
	if run == nil {
		return
	}
	s.runs.run[i] = nil
	run.Load(s)
	if s.runs.waiting--; s.runs.waiting == 0 {
		s.runs = runs{}
	}
}

// loadFor loads the run whose range includes the key.
func (s *Store) loadFor(key api.Key) {
	if s.runs.waiting > 0 {
		s.load(s.runs.of(key))
	}
}

// ascendTo yields versions from a key up to the next unloaded run, and returns
// where that run begins. At the end of the store, or when yield returned false,
// more is false.
func (s *Store) ascendTo(from api.Key, yield func(Ref) bool) (next api.Key, more bool) {
	if s.runs.waiting > 0 {
		i := s.runs.of(from)
		s.load(i)
		next, more = s.runs.next(i + 1)
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
