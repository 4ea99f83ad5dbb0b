package wire

import "github.com/watchglass/watchglass/core/api"

// Envelope is an object's key, uid, fields, columns and body as one string of
// bytes: what travels is what rests in the store. Version, flags and labels
// stay outside, because they are what a store indexes by.
//
// Layout: key, uid, length of the cells, cells (fields, then columns; see
// cells.go), codec, body to the end. The accessors expect a validated envelope and return zero
// values for anything else.
type Envelope []byte

// minEnvelope is the length of the shortest one with its own length in front:
// a key of one byte, no uid, no cells, no body.
const minEnvelope = 1 + 2 + 1 + 3 + 1

// AppendEnvelope writes the envelope of an object.
func AppendEnvelope(dst []byte, o *api.Object) []byte {
	dst = appendBytes(dst, string(o.Key))
	dst = appendUID(dst, o.UID)
	var scratch [512]byte
	cells := appendCells(scratch[:0], o.Key, o.Fields, o.Columns)
	dst = appendBytes(dst, cells)
	dst = append(dst, byte(o.Body.Codec))
	return append(dst, o.Body.Data...)
}

// envelope reads and validates a length-prefixed envelope, and tells the codec of
// its body.
func (r *reader) envelope() (Envelope, api.Codec) {
	at := r.off
	e := Envelope(r.bytes())
	if r.err != nil {
		return nil, 0
	}
	codec, err := e.validate()
	if err != nil {
		r.off = at
		r.fail("envelope: " + err.Message)
		return nil, 0
	}
	return e, codec
}

// Validate checks the whole structure.
func (e Envelope) Validate() error {
	if _, err := e.validate(); err != nil {
		return err
	}
	return nil
}

// validate does so, and tells the codec of the body.
func (e Envelope) validate() (api.Codec, *api.Status) {
	r := reader{b: e}
	if len(r.bytes()) == 0 && r.err == nil {
		r.fail("empty key")
	}
	r.skipUID()
	cells := reader{b: r.bytes()}
	fields := cells.count(1)
	cells.skipFields(fields)
	cells.skipColumns(cells.count(1), fields)
	if err := cells.done("cells"); err != nil && r.err == nil {
		return 0, api.AsStatus(err)
	}
	codec := api.Codec(r.byte())
	if r.err == nil && codec > api.Delta {
		r.fail("unknown codec")
	}
	return codec, r.err
}

// Key aliases the envelope.
func (e Envelope) Key() api.Key {
	if len(e) > 0 && e[0] < 0x80 && int(e[0]) < len(e) {
		return api.Key(borrow(e[1 : 1+int(e[0])]))
	}
	r := reader{b: e}
	return api.Key(r.string())
}

// UID may alias the envelope.
func (e Envelope) UID() string {
	r := reader{b: e}
	r.bytes()
	return r.uid()
}

func (e Envelope) cells() reader {
	r := reader{b: e}
	r.bytes()
	r.skipUID()
	return reader{b: r.bytes()}
}

// Field returns the i-th field, or "". It aliases the envelope.
func (e Envelope) Field(i int) string {
	r := e.cells()
	n := r.count(1)
	if i < 0 || i >= n {
		return ""
	}
	r.skipFields(i)
	return r.field(e.Key())
}

// Column returns the i-th column, or Null. Its text aliases the envelope.
func (e Envelope) Column(i int) api.Value {
	r := e.cells()
	fields := r.count(1)
	r.skipFields(fields)
	n := r.count(1)
	if i < 0 || i >= n {
		return api.Value{}
	}
	r.skipColumns(i, fields)
	if field, ok := r.sharing(); ok {
		return api.Value{Kind: api.String, Text: e.Field(field)}
	}
	return r.value()
}

// SameCells are the cells that are plainly the same in another version of the
// object: all of them, if the two begin with the same bytes as far as the cells
// go, and else none.
func (e Envelope) SameCells(other Envelope) api.Cells {
	r := reader{b: e}
	r.bytes()
	r.skipUID()
	r.bytes()
	if r.err != nil || len(other) < r.off || string(e[:r.off]) != string(other[:r.off]) {
		return 0
	}
	return api.AllCells
}

// Body aliases the envelope.
func (e Envelope) Body() api.Body {
	r := reader{b: e}
	r.bytes()
	r.skipUID()
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
