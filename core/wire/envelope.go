package wire

import (
	"math"

	"github.com/watchglass/watchglass/core/api"
)

// Envelope is an object's key, uid, fields, columns and body as one string of
// bytes: what travels is what rests in the store. Version, flags and labels
// stay outside, because they are what a store indexes by.
//
// Layout: key, uid, length of the cells, cells (fields, then columns), codec,
// body to the end. The accessors expect a validated envelope and return zero
// values for anything else.
type Envelope []byte

// minEnvelope is the length of the shortest one with its own length in front:
// a key of one byte, no uid, no cells, no body.
const minEnvelope = 1 + 2 + 1 + 3 + 1

// AppendEnvelope writes the envelope of an object.
func AppendEnvelope(dst []byte, o *api.Object) []byte {
	dst = appendBytes(dst, string(o.Key))
	dst = appendBytes(dst, o.UID)
	var scratch [512]byte
	cells := appendCells(scratch[:0], o.Fields, o.Columns)
	dst = appendBytes(dst, cells)
	dst = append(dst, byte(o.Body.Codec))
	return append(dst, o.Body.Data...)
}

func appendCells(dst []byte, fields []string, columns []api.Value) []byte {
	dst = appendUvarint(dst, uint64(len(fields)))
	for _, f := range fields {
		dst = appendBytes(dst, f)
	}
	dst = appendUvarint(dst, uint64(len(columns)))
	for _, c := range columns {
		dst = appendValue(dst, c)
	}
	return dst
}

func appendValue(dst []byte, v api.Value) []byte {
	dst = append(dst, byte(v.Kind))
	switch v.Kind {
	case api.Null:
		return dst
	case api.Number:
		return appendUint64(dst, math.Float64bits(v.Float))
	case api.String:
		return appendBytes(dst, v.Text)
	}
	return appendVarint(dst, v.Int)
}

func (r *reader) value() api.Value {
	v := api.Value{Kind: api.ValueKind(r.byte())}
	switch v.Kind {
	case api.Null:
	case api.Bool, api.Integer, api.Date:
		v.Int = r.varint()
	case api.Number:
		v.Float = math.Float64frombits(r.uint64())
	case api.String:
		v.Text = r.string()
	default:
		r.fail("unknown kind of cell")
	}
	return v
}

// skipStrings reads n strings. Nearly all time of reading events goes into cells,
// and nearly every cell is short: those are stepped over here.
func (r *reader) skipStrings(n int) {
	for ; n > 0; n-- {
		if off := r.off; off < len(r.b) {
			if end := off + 1 + int(r.b[off]); r.b[off] < 0x80 && end <= len(r.b) && r.err == nil {
				r.off = end
				continue
			}
		}
		r.bytes()
	}
}

// skipValues reads n values.
func (r *reader) skipValues(n int) {
	for ; n > 0; n-- {
		if off := r.off; off+1 < len(r.b) && r.b[off] == byte(api.String) {
			if end := off + 2 + int(r.b[off+1]); r.b[off+1] < 0x80 && end <= len(r.b) && r.err == nil {
				r.off = end
				continue
			}
		}
		r.value()
	}
}

// envelope reads and validates a length-prefixed envelope.
func (r *reader) envelope() Envelope {
	at := r.off
	e := Envelope(r.bytes())
	if r.err != nil {
		return nil
	}
	if err := e.Validate(); err != nil {
		r.off = at
		r.fail("envelope: " + err.(*api.Status).Message)
		return nil
	}
	return e
}

// Validate checks the whole structure.
func (e Envelope) Validate() error {
	r := reader{b: e}
	if len(r.bytes()) == 0 && r.err == nil {
		r.fail("empty key")
	}
	r.bytes()
	cells := reader{b: r.bytes()}
	cells.skipStrings(cells.count(1))
	cells.skipValues(cells.count(1))
	if err := cells.done("cells"); err != nil && r.err == nil {
		return err
	}
	if codec := api.Codec(r.byte()); r.err == nil && codec > api.Delta {
		r.fail("unknown codec")
	}
	if r.err != nil {
		return r.err
	}
	return nil
}

// Key aliases the envelope.
func (e Envelope) Key() api.Key {
	if len(e) > 0 && e[0] < 0x80 && int(e[0]) < len(e) {
		return api.Key(borrow(e[1 : 1+int(e[0])]))
	}
	r := reader{b: e}
	return api.Key(r.string())
}

// UID aliases the envelope.
func (e Envelope) UID() string {
	r := reader{b: e}
	r.bytes()
	return r.string()
}

func (e Envelope) cells() reader {
	r := reader{b: e}
	r.bytes()
	r.bytes()
	return reader{b: r.bytes()}
}

// Field returns the i-th field, or "". It aliases the envelope.
func (e Envelope) Field(i int) string {
	r := e.cells()
	n := r.count(1)
	if i < 0 || i >= n {
		return ""
	}
	r.skipStrings(i)
	return r.string()
}

// Column returns the i-th column, or Null. Its text aliases the envelope.
func (e Envelope) Column(i int) api.Value {
	r := e.cells()
	r.skipStrings(r.count(1))
	n := r.count(1)
	if i < 0 || i >= n {
		return api.Value{}
	}
	r.skipValues(i)
	return r.value()
}

// Body aliases the envelope.
func (e Envelope) Body() api.Body {
	r := reader{b: e}
	r.bytes()
	r.bytes()
	r.bytes()
	codec := api.Codec(r.byte())
	if r.err != nil {
		return api.Body{}
	}
	return api.Body{Codec: codec, Data: r.b[r.off:]}
}

// AppendWithBody appends the envelope with its body replaced. The zero Body
// gives the metadata-only form.
func (e Envelope) AppendWithBody(dst []byte, body api.Body) []byte {
	head := len(e) - len(e.Body().Data) - 1
	if head < 0 {
		return dst
	}
	dst = append(dst, e[:head]...)
	dst = append(dst, byte(body.Codec))
	return append(dst, body.Data...)
}
