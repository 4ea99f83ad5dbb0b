package cacher

import (
	"slices"
	"sort"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/store"
)

// past is the collection as it was at one moment: the present state with the later
// events of the window undone. It holds no versions. The window holds those that it
// needs, for as long as the events are in it.
type past struct {
	cacher     *Cacher
	generation int
	first      int   // position of the first event to undo
	end        int   // events from here on have not been looked at
	undone     []int // positions of the first event of each key, sorted by key
}

// stateNow is the collection as it is now, whatever happens later.
func (c *Cacher) stateNow() *past {
	end := c.window.End()
	return &past{cacher: c, generation: c.generation, first: end, end: end}
}

// stateAt is the collection as it was at a resource version.
func (c *Cacher) stateAt(rv api.ResourceVersion) (*past, *api.Status) {
	if rv >= c.rv {
		return c.stateNow(), nil
	}
	position, status := c.window.After(rv)
	if status != nil {
		return nil, status
	}
	return &past{cacher: c, generation: c.generation, first: position, end: position}, nil
}

// catchUp undoes the events that have come since the last call. Keys before from are
// left out: they will not be read again. It reports false when events that have to be
// undone are gone.
func (p *past) catchUp(from api.Key) bool {
	w := p.cacher.window
	if p.generation != p.cacher.generation || p.first < w.Start() {
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

// merge adds later events to sorted ones. Of several events of a key the first
// counts: it holds the version that there was.
func (p *past) merge(sorted, later []int) []int {
	api.Sort(later, func(a, b *int) bool { return p.key(*a) < p.key(*b) }) // is stable
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

// search finds the first event of a key or a later one.
func (p *past) search(sorted []int, key api.Key) int {
	return sort.Search(len(sorted), func(i int) bool { return p.key(sorted[i]) >= key })
}

func (p *past) event(position int) *history.Event { return p.cacher.window.At(position) }

func (p *past) key(position int) api.Key {
	e := p.event(position)
	if e.Current != 0 {
		return p.cacher.heap.Key(e.Current)
	}
	return p.cacher.heap.Key(e.Previous)
}

// ascend is Ascend of that state. catchUp comes before it.
func (p *past) ascend(from api.Key, yield func(store.Ref) bool) {
	undone := p.undone[p.search(p.undone, from):]
	more := true
	take := func() {
		if previous := p.event(undone[0]).Previous; previous != 0 {
			more = yield(previous)
		}
		undone = undone[1:]
	}
	p.cacher.Ascend(from, func(ref store.Ref) bool {
		key := p.cacher.heap.Key(ref)
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
