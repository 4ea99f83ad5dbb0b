package wire

import "github.com/watchglass/watchglass/core/api"

// Envelope is the encoding of an object's key, uid, fields, columns and body. The format
// is the same on the wire and in the store. The version, flags and labels of an object
// are separate, because a store keeps them in the record of each version.
//
// Layout: key, uid, length of the cells, cells (fields, then columns; see
// cells.go), codec, and the body up to the end. The methods expect a valid
// envelope and return zero values otherwise.
type Envelope []byte

// minEnvelope is the length of the shortest envelope with its length prefix: a
// key of one byte, no uid, no cells, no body.
const minEnvelope = 1 + 2 + 1 + 3 + 1

// AppendEnvelope appends the envelope of an object to dst.
func AppendEnvelope(dst []byte, o *api.Object) []byte {
	dst = appendBytes(dst, string(o.Key))
	dst = appendUID(dst, o.UID)
	var scratch [512]byte
	cells := appendCells(scratch[:0], o.Key, o.Fields, o.Columns)
	dst = appendBytes(dst, cells)
	dst = append(dst, byte(o.Body.Codec))
	return append(dst, o.Body.Data...)
}

// envelope reads and validates a length-prefixed envelope. It returns the envelope and
// the codec of the body.
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

// Validate returns an error if any part of the envelope is malformed.
func (e Envelope) Validate() error {
	if _, err := e.validate(); err != nil {
		return err
	}
	return nil
}

// validate is like Validate, but also returns the codec of the body.
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
	codec := r.bodyCodec()
	return codec, r.err
}

// bodyCodec reads the codec of a body that takes the remaining bytes. With NoBody, no
// bytes may remain.
func (r *reader) bodyCodec() api.Codec {
	codec := api.Codec(r.byte())
	if r.err == nil && codec > api.Delta {
		r.fail("unknown codec")
	}
	if r.err == nil && codec == api.NoBody && r.left() > 0 {
		r.fail("body without a codec")
	}
	return codec
}

// Key returns the key. It aliases the envelope.
func (e Envelope) Key() api.Key {
	if len(e) > 0 && e[0] < 0x80 && int(e[0]) < len(e) {
		return api.Key(borrow(e[1 : 1+int(e[0])]))
	}
	r := reader{b: e}
	return api.Key(r.string())
}

// UID returns the uid. It may alias the envelope.
func (e Envelope) UID() string {
	r := reader{b: e}
	r.bytes()
	return r.uid()
}

// IsOf reports whether the envelope has the given key.
func (e Envelope) IsOf(key api.Key) bool {
	n := len(key)
	if n >= 0x80 {
		return e.Key() == key
	}
	return n < len(e) && int(e[0]) == n && string(e[1:n+1]) == string(key)
}

// layout returns the offset of the cells, which start with a length prefix, and the
// offset of the codec. Both are len(e) for a truncated envelope.
func (e Envelope) layout() (cells, codec int) {
	// Fast path: every update calls layout, most keys are short and most uids are UUIDs.
	if len(e) > 0 && e[0] < 0x80 {
		if cells = int(e[0]) + 1 + 17; cells+1 < len(e) && e[cells-17] == 0 {
			codec = cells + 1 + int(e[cells])
			if e[cells] >= 0x80 {
				codec += 1 - 0x80 + int(e[cells+1])<<7
			}
			if codec < len(e) && (e[cells] < 0x80 || e[cells+1] < 0x80) {
				return cells, codec
			}
		}
	}
	r := reader{b: e}
	r.bytes()
	r.skipUID()
	cells = r.off
	r.bytes()
	if r.err != nil {
		return len(e), len(e)
	}
	return cells, r.off
}

func (e Envelope) cells() reader {
	cells, _ := e.layout()
	r := reader{b: e, off: cells}
	return reader{b: r.bytes()}
}

// Field returns the i-th field, or "" if there is none. The text aliases the envelope.
func (e Envelope) Field(i int) string {
	r := e.cells()
	n := r.count(1)
	if i < 0 || i >= n {
		return ""
	}
	r.skipFields(i)
	return r.field(e.Key())
}

// Column returns the i-th column, or Null if there is none. Its text aliases the
// envelope.
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

// SameCells returns api.AllCells if both envelopes have equal bytes up to the body, and
// zero otherwise.
func (e Envelope) SameCells(other Envelope) api.Cells {
	_, end := e.layout()
	if end == len(e) || len(other) < end || string(e[:end]) != string(other[:end]) {
		return 0
	}
	return api.AllCells
}

// Body returns the body. It aliases the envelope.
func (e Envelope) Body() api.Body {
	_, at := e.layout()
	if at == len(e) {
		return api.Body{}
	}
	return api.Body{Codec: api.Codec(e[at]), Data: e[at+1:]}
}

// AppendWithBody appends the envelope to dst, with the given body instead of its own.
// With the zero Body, the result contains only metadata.
func (e Envelope) AppendWithBody(dst []byte, body api.Body) []byte {
	_, at := e.layout()
	if at == len(e) {
		return dst
	}
	dst = append(dst, e[:at]...)
	dst = append(dst, byte(body.Codec))
	return append(dst, body.Data...)
}

// AppendJoined appends the envelope to dst without the body, and with the given columns
// after the existing ones.
func (e Envelope) AppendJoined(dst []byte, columns []api.Value) []byte {
	at, _ := e.layout()
	r := e.cells()
	r.skipFields(r.count(1))
	var cells []byte
	cells = append(cells, r.b[:r.off]...)
	cells = appendUvarint(cells, uint64(r.count(1)+len(columns)))
	cells = append(cells, r.b[r.off:]...)
	for _, v := range columns {
		cells = appendValue(cells, v)
	}
	dst = appendBytes(append(dst, e[:at]...), cells)
	return append(dst, byte(api.NoBody))
}
