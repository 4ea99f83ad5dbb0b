package store

import (
	"sort"

	"github.com/watchglass/watchglass/core/api"
)

// Run is objects that lie next to each other in key order and are in no store yet:
// whoever has them puts them in when somebody looks for one of them, or at all. A
// store has those that are kept somewhere and that nobody may ever ask for.
type Run interface {
	// Len is how many there will be.
	Len() int
	// Load puts them into the store, where the run does not wait any more.
	Load(*Store)
	// Drop says that nobody will look for them.
	Drop()
}

// runs are those of a store, in key order. Each has the keys from its first up to
// that of the next, and the first run those before it, too.
type runs struct {
	first   []api.Key
	run     []Run // nil for one that was loaded
	waiting int
}

// Wait gives the store a run whose keys sort behind those of every other, and
// reports false where they do not: the run is not in then. Objects that are in
// without a run must sort behind it.
func (s *Store) Wait(first api.Key, run Run) bool {
	r := &s.runs
	if n := len(r.first); s.order.Len() > 0 || n > 0 && first <= r.first[n-1] {
		return false
	}
	r.first, r.run = append(r.first, first), append(r.run, run)
	r.waiting++
	return true
}

// Waiting returns the run that has a key, or would have it, while it waits.
func (s *Store) Waiting(key api.Key) Run {
	if s.runs.waiting == 0 {
		return nil
	}
	return s.runs.run[s.runs.of(key)]
}

// LoadAll leaves no run waiting.
func (s *Store) LoadAll() {
	for i := 0; i < len(s.runs.run); i++ {
		s.load(i)
	}
}

// drop lets all runs go.
func (r *runs) drop() {
	for _, run := range r.run {
		if run != nil {
			run.Drop()
		}
	}
}

// of returns which run has a key.
func (r *runs) of(key api.Key) int {
	behind := sort.Search(len(r.first), func(i int) bool { return r.first[i] > key })
	return max(behind-1, 0)
}

// next returns the first key of the first run from i on that waits, and false when
// none does.
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

// loadFor loads the run that has a key.
func (s *Store) loadFor(key api.Key) {
	if s.runs.waiting > 0 {
		s.load(s.runs.of(key))
	}
}

// ascendTo yields from a key up to the next run that waits, and returns where that
// begins; false at the end of the store or when yield is.
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
