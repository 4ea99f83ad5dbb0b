package wire

import "github.com/watchglass/watchglass/core/api"

// ViewPatch brings the program's copy of a view's window up to date.
//
// A row that is in the window has a slot, a small number it keeps for as long
// as it stays in. Slots names the rows of the window now, from top to bottom;
// Rows has those that are new or changed since the last patch. Whatever is not
// in Slots has left and its slot may come again for another row.
type ViewPatch struct {
	View            uint32
	ResourceVersion api.ResourceVersion // the whole view is as of here, and is so until the next patch
	Total           uint64              // rows that match, in the window or not
	Offset          uint32              // of the first row in the window
	Counts          []Count             // by value, only where asked for
	Slots           []uint32
	Rows            []Row
}

// Count is how many rows of a view have a value.
type Count struct {
	Value string
	Rows  uint64
}

// Row is a row of the window; its item has no body.
type Row struct {
	Slot uint32
	Item Item
}

// Append writes the whole frame.
func (f *ViewPatch) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeViewPatch)
	dst = appendUvarint(dst, uint64(f.View))
	dst = appendUvarint(dst, uint64(f.ResourceVersion))
	dst = appendUvarint(dst, f.Total)
	dst = appendUvarint(dst, uint64(f.Offset))
	dst = appendUvarint(dst, uint64(len(f.Counts)))
	for _, c := range f.Counts {
		dst = appendUvarint(appendBytes(dst, c.Value), c.Rows)
	}
	dst = appendUvarint(dst, uint64(len(f.Slots)))
	for _, s := range f.Slots {
		dst = appendUvarint(dst, uint64(s))
	}
	dst = appendUvarint(dst, uint64(len(f.Rows)))
	for i := range f.Rows {
		dst = appendItem(appendUvarint(dst, uint64(f.Rows[i].Slot)), &f.Rows[i].Item)
	}
	return end(dst, start)
}

// Parse reads the payload.
func (f *ViewPatch) Parse(payload []byte) error {
	r := reader{b: payload}
	f.View = r.uint32()
	f.ResourceVersion = r.rv()
	f.Total = r.uvarint()
	f.Offset = r.uint32()
	f.Counts = grow(f.Counts, r.count(2))
	for i := range f.Counts {
		f.Counts[i] = Count{Value: r.string(), Rows: r.uvarint()}
	}
	f.Slots = grow(f.Slots, r.count(1))
	for i := range f.Slots {
		f.Slots[i] = r.uint32()
	}
	f.Rows = grow(f.Rows, r.count(1+minItem))
	for i := range f.Rows {
		f.Rows[i].Slot = r.uint32()
		r.item(&f.Rows[i].Item)
	}
	return r.done("ViewPatch")
}
