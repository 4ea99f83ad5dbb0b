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
	fields := r.count(1)
	b, off, at := r.b, r.off, x.at[:0]
	for range fields {
		at = append(at, uint32(off))
		if off < len(b) && b[off] < 0x80 {
			off += 1 + max(int(b[off])-fieldText, 0)
		} else {
			r.off = off
			r.skipFields(1)
			off = r.off
		}
	}
	r.off = off
	columns := r.count(1)
	off = r.off
	for range columns {
		at = append(at, uint32(off))
		if end := endOfColumn(b, off); end > 0 {
			off = end
		} else {
			r.off = off
			r.skipColumns(1, fields)
			off = r.off
		}
	}
	if r.err != nil || off > len(b) {
		fields, at = 0, at[:0]
	}
	x.key, x.cells, x.fields, x.at = e.Key(), b, fields, at
}

// endOfColumn returns the end of the column at an offset, or zero if reader.skipColumns must
// find it. In an invalid envelope, the end may be beyond the cells.
func endOfColumn(b []byte, off int) int {
	if off+1 >= len(b) {
		return 0
	}
	switch kind := b[off]; kind {
	case byte(api.Null):
		return off + 1
	case byte(api.String):
		if b[off+1] < 0x80 {
			return off + 2 + int(b[off+1])
		}
	case byte(api.Bool), byte(api.Integer), byte(api.Date), byte(api.Duration):
		for off++; off < len(b) && b[off] >= 0x80; off++ {
		}
		return off + 1
	default:
		if kind >= sameAsField && kind < sameAsField+maxShared {
			return off + 1
		}
	}
	return 0
}

// Key returns the key of the object. It aliases the envelope.
func (x *CellIndex) Key() api.Key { return x.key }

// Field returns the i-th field, or "" if there is none. The text aliases the envelope.
func (x *CellIndex) Field(i int) string {
	if i < 0 || i >= x.fields {
		return ""
	}
	off := int(x.at[i])
	if off < len(x.cells) {
		switch n := x.cells[off]; {
		case n == fieldIsName:
			return x.key.Name()
		case n == fieldIsNamespace:
			return x.key.Namespace()
		case n < 0x80 && off+1+int(n)-fieldText <= len(x.cells):
			return borrow(x.cells[off+1 : off+1+int(n)-fieldText])
		}
	}
	r := reader{b: x.cells, off: off}
	return r.field(x.key)
}

// Column returns the i-th column, or Null if there is none. The text of the value aliases
// the envelope.
func (x *CellIndex) Column(i int) api.Value {
	if i < 0 || i >= len(x.at)-x.fields {
		return api.Value{}
	}
	r := reader{b: x.cells, off: int(x.at[x.fields+i])}
	if off := r.off; off+1 < len(r.b) && r.b[off] == byte(api.Integer) && r.b[off+1] < 0x80 {
		n := int64(r.b[off+1])
		return api.Value{Kind: api.Integer, Int: n>>1 ^ -(n & 1)}
	}
	if field, ok := r.sharing(); ok {
		return api.Value{Kind: api.String, Text: x.Field(field)}
	}
	return r.value()
}

// Text returns the text of the i-th column. It returns "" for Null, and false for any
// other value that is not a text. It is faster than Column.
func (x *CellIndex) Text(i int) (text string, ok bool) {
	if i < 0 || i >= len(x.at)-x.fields {
		return "", true
	}
	b, off := x.cells, int(x.at[x.fields+i])
	if off >= len(b) {
		return "", true
	}
	switch kind := b[off]; {
	case kind >= sameAsField && kind < sameAsField+maxShared:
		return x.Field(int(kind) - sameAsField), true
	case kind != byte(api.String) && kind != timedText:
		return "", kind == byte(api.Null)
	case off+1 < len(b) && b[off+1] < 0x80 && off+2+int(b[off+1]) <= len(b):
		return borrow(b[off+2 : off+2+int(b[off+1])]), true
	}
	return x.Column(i).Text, true
}

// Texts calls yield with the text of each string column that is not empty, until yield
// returns false. The texts alias the envelope.
func (x *CellIndex) Texts(yield func(string) bool) {
	for i := range len(x.at) - x.fields {
		if text, _ := x.Text(i); text != "" && !yield(text) {
			return
		}
	}
}
