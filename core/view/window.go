package view

import (
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
	free    []uint32 // slots below next that no row has
	next    uint32
	scratch []byte
}

type shownRow struct {
	ref  store.Ref
	slot uint32
	// known: the program has this version; stays: the next window has it too.
	known, stays bool
}

// move makes refs the rows of the window and says in f what that changes for
// the program: rows that stay keep their slot, and only rows that are new or
// have another version are sent.
func (w *window) move(refs []store.Ref, f *wire.ViewPatch) {
	next := w.match(refs)
	f.Slots, f.Rows, w.scratch = f.Slots[:0], f.Rows[:0], w.scratch[:0]
	for i, ref := range refs {
		row := &next[i]
		if row.ref == 0 {
			row.ref, row.slot = ref, w.takeSlot()
		}
		w.heap.Retain(ref)
		f.Slots = append(f.Slots, row.slot)
		if !row.known {
			f.Rows = append(f.Rows, wire.Row{Slot: row.slot, Item: w.item(ref)})
		}
		row.known = true
	}
	w.release()
	w.rows = next
}

// match carries over the slots of objects that stay and frees the others.
func (w *window) match(refs []store.Ref) []shownRow {
	old := make(map[api.Key]int, len(w.rows))
	for i := range w.rows {
		old[w.heap.Key(w.rows[i].ref)] = i
	}
	next := make([]shownRow, len(refs))
	for i, ref := range refs {
		if j, ok := old[w.heap.Key(ref)]; ok {
			was := &w.rows[j]
			was.stays = true
			next[i] = shownRow{ref: ref, slot: was.slot, known: was.ref == ref}
		}
	}
	for _, was := range w.rows {
		if !was.stays {
			w.free = append(w.free, was.slot)
		}
	}
	return next
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
