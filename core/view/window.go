package view

import (
	"slices"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// window is the rows that the program was last shown, each with its slot. It
// holds one count of each version, so that a version seen again is known to be
// the same.
type window struct {
	heap    *store.Heap
	rows    []shownRow
	spare   []shownRow       // the rows before, to be used again
	at      map[store.ID]int // scratch: where in rows an object is
	free    []uint32         // slots below next that no row has
	next    uint32
	scratch []byte
}

type shownRow struct {
	id   store.ID
	ref  store.Ref
	slot uint32
	// known: the program has this version; stays: the next window has the
	// object too.
	known, stays bool
}

// same reports that the program has been shown these very versions.
func (w *window) same(rows []shownRow) bool {
	return slices.EqualFunc(w.rows, rows, func(a, b shownRow) bool { return a.ref == b.ref })
}

// move makes next the rows of the window, and says in f what that changes for
// the program: rows that stay keep their slot, and only rows that are new or
// have another version are sent.
func (w *window) move(next []shownRow, f *wire.ViewPatch) {
	w.match(next)
	f.Slots, f.Rows, w.scratch = f.Slots[:0], f.Rows[:0], w.scratch[:0]
	for i := range next {
		row := &next[i]
		if !row.stays {
			row.slot = w.takeSlot()
		}
		row.stays = false
		w.heap.Retain(row.ref)
		f.Slots = append(f.Slots, row.slot)
		if !row.known {
			f.Rows = append(f.Rows, wire.Row{Slot: row.slot, Item: w.item(row.ref)})
		}
		row.known = true
	}
	w.release()
	w.rows, w.spare = next, w.rows
}

// match carries over the slots of objects that stay and frees the others.
func (w *window) match(next []shownRow) {
	w.locate(next)
	for i := range next {
		j, ok := i, i < len(w.rows) && w.rows[i].id == next[i].id
		if !ok {
			j, ok = w.at[next[i].id]
		}
		if !ok || !w.sameObject(w.rows[j].ref, next[i].ref) {
			continue
		}
		was := &w.rows[j]
		was.stays, next[i].stays = true, true
		next[i].slot, next[i].known = was.slot, was.ref == next[i].ref
	}
	for _, was := range w.rows {
		if !was.stays {
			w.free = append(w.free, was.slot)
		}
	}
}

// locate fills at, unless every row is where it was, as it is most of the time.
func (w *window) locate(next []shownRow) {
	clear(w.at)
	same := len(next) == len(w.rows)
	for i := 0; same && i < len(next); i++ {
		same = next[i].id == w.rows[i].id
	}
	if same {
		return
	}
	if w.at == nil {
		w.at = make(map[store.ID]int, len(w.rows))
	}
	for i := range w.rows {
		w.at[w.rows[i].id] = i
	}
}

// sameObject: the number of an object that is gone may be another's now.
func (w *window) sameObject(a, b store.Ref) bool { return a == b || w.heap.Key(a) == w.heap.Key(b) }

// renumber finds the rows' objects in another state. Those that are not in it
// get the number that nothing has.
func (w *window) renumber(state *store.Store) {
	for i := range w.rows {
		w.rows[i].id = state.Find(w.heap.Key(w.rows[i].ref))
	}
}

func (w *window) takeSlot() uint32 {
	if n := len(w.free); n > 0 {
		slot := w.free[n-1]
		w.free = w.free[:n-1]
		return slot
	}
	w.next++
	return w.next - 1
}

// item is a version without its body; the envelope lies in the scratch until
// the next move.
func (w *window) item(ref store.Ref) wire.Item {
	at := len(w.scratch)
	w.scratch = w.heap.Envelope(ref).AppendWithBody(w.scratch, api.Body{})
	return wire.Item{
		ResourceVersion: w.heap.ResourceVersion(ref), Flags: w.heap.Flags(ref),
		Labels: w.heap.LabelsOf(ref), Envelope: w.scratch[at:len(w.scratch):len(w.scratch)],
	}
}

func (w *window) release() {
	for _, r := range w.rows {
		w.heap.Release(r.ref)
	}
}

func (w *window) clear() {
	w.release()
	w.rows = nil
}
