package wire

import "github.com/watchglass/watchglass/core/api"

// CellIndex locates the cells of one envelope in one pass. Reading several cells through
// a CellIndex is faster than through the envelope, which skips the preceding cells on
// each read. The zero value has no cells. A CellIndex can be reused.
type CellIndex struct {
	key    api.Key
	cells  []byte
	fields int
	at     []uint32 // offset of each field, then of each column
}

// Read locates the cells of an envelope. The index aliases the envelope.
func (x *CellIndex) Read(e Envelope) {
	r := e.cells()
	x.key, x.cells, x.at = e.Key(), r.b, x.at[:0]
	x.fields = r.count(1)
	for range x.fields {
		x.at = append(x.at, uint32(r.off))
		if off := r.off; off < len(r.b) && r.b[off] < 0x80 {
			r.off += 1 + max(int(r.b[off])-fieldText, 0)
		} else {
			r.skipFields(1)
		}
	}
	for n := r.count(1); n > 0; n-- {
		x.at = append(x.at, uint32(r.off))
		if off := r.off; off+1 < len(r.b) && r.b[off] == byte(api.String) && r.b[off+1] < 0x80 {
			r.off += 2 + int(r.b[off+1])
		} else {
			r.skipColumns(1, x.fields)
		}
	}
	if r.err != nil {
		x.fields, x.at = 0, x.at[:0]
	}
}

// Field returns the i-th field, or "" if there is none. The text aliases the envelope.
func (x *CellIndex) Field(i int) string {
	if i < 0 || i >= x.fields {
		return ""
	}
	r := reader{b: x.cells, off: int(x.at[i])}
	return r.field(x.key)
}

// Column returns the i-th column, or Null if there is none. The text of the value aliases
// the envelope.
func (x *CellIndex) Column(i int) api.Value {
	if i < 0 || i >= len(x.at)-x.fields {
		return api.Value{}
	}
	r := reader{b: x.cells, off: int(x.at[x.fields+i])}
	if field, ok := r.sharing(); ok {
		return api.Value{Kind: api.String, Text: x.Field(field)}
	}
	return r.value()
}

// Texts calls yield with the text of each string column that is not empty, until yield
// returns false. The texts alias the envelope.
func (x *CellIndex) Texts(yield func(string) bool) {
	for i := range len(x.at) - x.fields {
		if v := x.Column(i); v.Kind == api.String && v.Text != "" && !yield(v.Text) {
			return
		}
	}
}
