package view

import (
	"slices"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// window contains the rows that were last sent to the program. It holds a reference to
// each version, so an unchanged version is recognized by its Ref.
type window struct {
	arena *store.Arena
	rows  []shownRow
	spare []shownRow // the previous rows, for reuse
	// shown means that the program has these rows, so the next patch can edit
	// them.
	shown bool

	// Buffers for edits.
	at      map[store.ID]int32 // index in rows by object
	to      []int32            // by row: index in the next window
	from    []int32            // by row of the next window: index in rows
	items   []wire.Item
	inserts []int // by edit: number of its items
	text    []byte
}

type shownRow struct {
	id  store.ID
	ref store.Ref
}

// nowhere is the index of a row that is in only one of the two windows.
const nowhere = -1

// same reports whether the rows are exactly those last sent.
func (w *window) same(rows []shownRow) bool {
	return w.shown && slices.EqualFunc(w.rows, rows, func(a, b shownRow) bool { return a.ref == b.ref })
}

// move replaces the rows of the window with the rows next, and sets f to the difference. The
// edits alias the arena and the buffers.
func (w *window) move(next []shownRow, f *wire.ViewPatch) {
	f.Reset, f.Edits = !w.shown, f.Edits[:0]
	if f.Reset {
		w.release()
		w.rows = w.rows[:0]
	}
	for i := range next {
		w.arena.Retain(next[i].ref)
	}
	w.match(next)
	w.edit(next, f)
	w.release()
	w.rows, w.spare, w.shown = next, w.rows, true
}

// match finds the objects that are in both windows, and sets the fields to and from.
func (w *window) match(next []shownRow) {
	w.to, w.from = places(w.to, len(w.rows)), places(w.from, len(next))
	w.locate(next)
	for j := range next {
		i, ok := int32(j), j < len(w.rows) && w.rows[j].id == next[j].id
		if !ok {
			i, ok = w.at[next[j].id]
		}
		if ok && w.sameObject(w.rows[i].ref, next[j].ref) {
			w.to[i], w.from[j] = int32(j), i
		}
	}
}

func places(s []int32, n int) []int32 {
	s = slices.Grow(s[:0], n)[:n]
	for i := range s {
		s[i] = nowhere
	}
	return s
}

// edit walks through both windows from the top. Where the rows differ, it removes the old
// row or inserts the new one, whichever reaches a common row sooner. Common rows are kept;
// a moved row is removed and inserted.
func (w *window) edit(next []shownRow, f *wire.ViewPatch) {
	w.items, w.inserts, w.text = w.items[:0], w.inserts[:0], w.text[:0]
	var kept uint32
	i, j := int32(0), int32(0)
	for int(i) < len(w.rows) || int(j) < len(next) {
		remove, insert := false, false
		switch more := int(i) < len(w.rows) && int(j) < len(next); {
		case more && w.to[i] == j && w.rows[i].ref == next[j].ref:
			kept++
			i, j = i+1, j+1
			continue
		case more && w.to[i] == j:
			remove, insert = true, true
		case int(j) == len(next), int(i) < len(w.rows) && (w.to[i] < j || w.from[j] >= i && w.to[i]-j >= w.from[j]-i):
			remove = true
		default:
			insert = true
		}
		if kept > 0 || len(f.Edits) == 0 {
			f.Edits = append(f.Edits, wire.Edit{Keep: kept})
			w.inserts = append(w.inserts, 0)
			kept = 0
		}
		if remove {
			f.Edits[len(f.Edits)-1].Remove++
			i++
		}
		if insert {
			w.items = append(w.items, w.item(next[j].ref))
			w.inserts[len(w.inserts)-1]++
			j++
		}
	}
	items := w.items
	for k, n := range w.inserts {
		f.Edits[k].Insert, items = items[:n:n], items[n:]
	}
}

// locate populates the map at, unless all rows have the same index in both windows, which is
// the common case.
func (w *window) locate(next []shownRow) {
	clear(w.at)
	if slices.EqualFunc(w.rows, next, func(a, b shownRow) bool { return a.id == b.id }) {
		return
	}
	if w.at == nil {
		w.at = make(map[store.ID]int32, len(w.rows))
	}
	for i := range w.rows {
		w.at[w.rows[i].id] = int32(i)
	}
}

// sameObject reports whether two versions belong to the same object. Equal IDs do
// not suffice, because IDs are reused.
func (w *window) sameObject(a, b store.Ref) bool { return a == b || w.arena.Key(a) == w.arena.Key(b) }

// renumber updates the IDs of the rows after the state was replaced. Objects that no longer
// exist get the zero ID.
func (w *window) renumber(state *store.Store) {
	for i := range w.rows {
		w.rows[i].id = state.Find(w.arena.Key(w.rows[i].ref))
	}
}

// item returns a version without its body as an item whose labels include the owner. The
// envelope is valid until the next move.
func (w *window) item(ref store.Ref) wire.Item {
	at := len(w.text)
	w.text = w.arena.Envelope(ref).AppendWithBody(w.text, api.Body{})
	return wire.Item{
		ResourceVersion: w.arena.ResourceVersion(ref), Flags: w.arena.Flags(ref),
		Labels: w.arena.RowLabels(ref), Envelope: w.text[at:len(w.text):len(w.text)],
	}
}

//go:noinline
func (w *window) release() {
	for _, r := range w.rows {
		w.arena.Release(r.ref)
	}
}

func (w *window) clear() {
	w.release()
	w.rows, w.shown = nil, false
}
