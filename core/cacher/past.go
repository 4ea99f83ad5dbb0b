package cacher

import (
	"slices"
	"sort"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/store"
)

// past is the collection as it was at one moment: the current state minus the later
// events of the window. It holds no references. The window retains the versions of its
// events, so the state can be read as long as the window contains these events.
type past struct {
	cacher     *Cacher
	generation int
	first      int   // position of the first event to undo
	end        int   // position of the first event not examined yet
	undone     []int // positions of the first event of each key, sorted by key
}

// stateNow returns the collection as it is at this moment.
func (c *Cacher) stateNow() *past {
	end := c.window.End()
	return &past{cacher: c, generation: c.window.Generation(), first: end, end: end}
}

// stateAt returns the collection as it was at a resource version. It fails if the
// window lacks a change after that version.
func (c *Cacher) stateAt(rv api.ResourceVersion) (*past, *api.Status) {
	if rv >= c.at.Version {
		return c.stateNow(), nil
	}
	position, status := c.window.After(rv)
	if status != nil {
		return nil, status
	}
	return &past{cacher: c, generation: c.window.Generation(), first: position, end: position}, nil
}

// catchUp undoes the events since the last call. It omits keys less than the argument
// from, because they will not be read again. It returns false if the window has
// evicted an event that must be undone.
func (p *past) catchUp(from api.Key) bool {
	w := p.cacher.window
	if p.generation != p.cacher.window.Generation() || p.first < w.Start() {
		return false
	}
	p.undone = p.undone[p.search(p.undone, from):]
	var fresh []int
	for ; p.end < w.End(); p.end++ {
		if p.key(p.end) >= from {
			fresh = append(fresh, p.end)
		}
	}
	if len(fresh) > 0 {
		p.undone = p.merge(p.undone, fresh)
	}
	return true
}

// merge adds later events to sorted ones. For each key it keeps the first event,
// whose Previous is the version to restore.
func (p *past) merge(sorted, later []int) []int {
	lite.Sort(later, func(a, b *int) bool { return p.key(*a) < p.key(*b) }) // stable
	later = slices.CompactFunc(later, func(a, b int) bool { return p.key(a) == p.key(b) })
	merged := make([]int, 0, len(sorted)+len(later))
	for _, position := range later {
		key := p.key(position)
		n := p.search(sorted, key)
		merged = append(merged, sorted[:n]...)
		if sorted = sorted[n:]; len(sorted) == 0 || p.key(sorted[0]) != key {
			merged = append(merged, position)
		}
	}
	return append(merged, sorted...)
}

// search returns the index of the first event with the given or a greater key.
func (p *past) search(sorted []int, key api.Key) int {
	return sort.Search(len(sorted), func(i int) bool { return p.key(sorted[i]) >= key })
}

func (p *past) event(position int) *history.Event { return p.cacher.window.At(position) }

func (p *past) key(position int) api.Key {
	e := p.event(position)
	if e.Current != 0 {
		return p.cacher.arena.Key(e.Current)
	}
	return p.cacher.arena.Key(e.Previous)
}

// ascend is like Store.Ascend, for the past state. Call catchUp first.
func (p *past) ascend(from api.Key, yield func(store.Ref) bool) {
	undone := p.undone[p.search(p.undone, from):]
	more := true
	take := func() {
		if previous := p.event(undone[0]).Previous; previous != 0 {
			more = yield(previous)
		}
		undone = undone[1:]
	}
	p.cacher.state.Ascend(from, func(ref store.Ref) bool {
		key := p.cacher.arena.Key(ref)
		for more && len(undone) > 0 && p.key(undone[0]) < key {
			take()
		}
		switch {
		case !more:
		case len(undone) > 0 && p.key(undone[0]) == key:
			take()
		default:
			more = yield(ref)
		}
		return more
	})
	for more && len(undone) > 0 {
		take()
	}
}
