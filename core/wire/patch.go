package wire

import "github.com/watchglass/watchglass/core/api"

// Patch is an [Envelope] written as the difference from an earlier version's:
// nothing of what stays as it is but the key.
//
// Layout: key, number of cells that changed, position and value of each in
// ascending order, codec, body to the end. Positions count the fields, whose
// values are strings, and then the columns, which are written as an envelope
// writes them.
type Patch []byte

// AppendPatch appends the patch that makes current out of previous, with
// another body in the place of current's. It reports false, and appends
// nothing, when there is none: the two are not versions of one object.
func AppendPatch(dst []byte, previous, current Envelope, body api.Body) ([]byte, bool) {
	start := len(dst)
	a, b := reader{b: previous}, reader{b: current}
	a.bytes()
	a.skipUID()
	b.bytes()
	b.skipUID()
	if string(previous[:a.off]) != string(current[:b.off]) {
		return dst, false
	}
	key := current.Key()
	dst = appendBytes(dst, key)
	dst, ok := appendCellChanges(dst, key, a.bytes(), b.bytes())
	if !ok {
		return dst[:start], false
	}
	dst = append(dst, byte(body.Codec))
	return append(dst, body.Data...), true
}

// appendCellChanges appends how many cells changed and what they are now.
func appendCellChanges(dst []byte, key api.Key, previous, current []byte) ([]byte, bool) {
	if string(previous) == string(current) {
		return append(dst, 0), true
	}
	a, b := cells{reader: reader{b: previous}, key: key}, cells{reader: reader{b: current}, key: key}
	var scratch [512]byte
	changed, n := scratch[:0], uint64(0)
	last := 0
	a.begin()
	b.begin()
	for i := 0; b.next(); i++ {
		if !a.next() || a.isField != b.isField {
			return dst, false
		}
		if string(a.raw) == string(b.raw) {
			continue
		}
		changed = appendUvarint(changed, uint64(i-last))
		if b.isField {
			changed = appendValue(changed, api.Value{Kind: api.String, Text: b.text})
		} else {
			changed = append(changed, b.raw...)
		}
		last, n = i, n+1
	}
	if a.next() || a.err != nil || b.err != nil {
		return dst, false
	}
	return append(appendUvarint(dst, n), changed...), true
}

// cells steps over the cells of an envelope.
type cells struct {
	reader
	key     api.Key
	total   int    // of fields
	fields  int    // that are left
	columns int    // that are left, once the fields are through
	isField bool   // the cell is one
	text    string // of a field
	raw     []byte // the cell as it is written
	end     int    // where it ends
}

func (c *cells) begin() {
	c.total = c.count(1)
	if c.fields = c.total; c.fields == 0 {
		c.columns = c.count(1)
	}
}

func (c *cells) next() bool {
	at := c.off
	switch {
	case c.fields > 0:
		c.isField = true
		c.text = c.reader.field(c.key)
		c.raw, c.end = c.b[at:c.off], c.off
		if c.fields--; c.fields == 0 {
			c.columns = c.count(1)
		}
	case c.columns > 0:
		c.isField = false
		c.skipColumns(1, c.total)
		c.raw, c.end = c.b[at:c.off], c.off
		c.columns--
	default:
		return false
	}
	return c.err == nil
}

// patch reads and validates a length-prefixed patch, and tells the codec of its
// body.
func (r *reader) patch() (Patch, api.Codec) {
	at := r.off
	p := Patch(r.bytes())
	if r.err != nil {
		return nil, 0
	}
	codec, err := p.validate()
	if err != nil {
		r.off = at
		r.fail("patch: " + err.Message)
		return nil, 0
	}
	return p, codec
}

func (p Patch) validate() (api.Codec, *api.Status) {
	r := reader{b: p}
	if len(r.bytes()) == 0 && r.err == nil {
		r.fail("empty key")
	}
	for n := r.count(2); n > 0; n-- {
		r.uint32()
		r.skipColumns(1, maxShared)
	}
	codec := api.Codec(r.byte())
	if r.err == nil && codec > api.Delta {
		r.fail("unknown codec")
	}
	return codec, r.err
}

// Key aliases the patch.
func (p Patch) Key() api.Key { return Envelope(p).Key() }

// Body aliases the patch.
func (p Patch) Body() api.Body {
	r := reader{b: p}
	r.bytes()
	for n := r.count(2); n > 0; n-- {
		r.uvarint()
		r.skipColumns(1, maxShared)
	}
	codec := api.Codec(r.byte())
	if r.err != nil {
		return api.Body{}
	}
	return api.Body{Codec: codec, Data: r.b[r.off:]}
}

// Apply appends the envelope that the patch makes of the previous version's, and
// tells which cells are the same. A patch of another object or of other cells is
// an error, and dst is as it was.
func (p Patch) Apply(dst []byte, previous Envelope) (Envelope, api.Cells, *api.Status) {
	r, before := reader{b: p}, reader{b: previous}
	start := len(dst)
	if key := r.string(); before.string() != key {
		return nil, 0, api.Protocol("a patch of " + key + " was applied to another object")
	}
	before.skipUID()
	head := before.off
	old := before.bytes()
	n := r.count(2)
	if n == 0 {
		dst = append(dst, previous[:before.off]...)
		return append(dst, p[r.off:]...)[start:], api.AllCells, nil
	}
	var scratch [512]byte
	cells, unchanged, ok := r.applyCells(scratch[:0], p.Key(), old, n)
	if !ok {
		return nil, 0, api.Protocol("a patch of " + string(p.Key()) + " changes cells that it does not have")
	}
	dst = append(dst, previous[:head]...)
	dst = appendBytes(dst, cells)
	return append(dst, p[r.off:]...)[start:], unchanged, nil
}

// applyCells appends the cells of before with n of them replaced, and tells which
// are not.
func (r *reader) applyCells(dst []byte, key api.Key, before []byte, n int) ([]byte, api.Cells, bool) {
	old := cells{reader: reader{b: before}, key: key}
	old.begin()
	unchanged := api.AllCells
	copied, position := 0, -1
	for at := 0; n > 0; n-- {
		at += int(r.uint32())
		if at <= position {
			return nil, 0, false
		}
		for position < at {
			if position++; !old.next() {
				return nil, 0, false
			}
		}
		end := old.end
		dst = append(dst, before[copied:end-len(old.raw)]...)
		from := r.off
		var value api.Value
		shared, sharing := r.sharing()
		if !sharing {
			value = r.value()
		}
		switch {
		case !old.isField && (!sharing || shared < old.total):
			dst = append(dst, r.b[from:r.off]...)
			unchanged = unchanged.WithoutColumn(at - old.total)
		case old.isField && value.Kind == api.String:
			dst = appendField(dst, key, value.Text)
			unchanged = unchanged.WithoutField(at)
		default:
			return nil, 0, false
		}
		copied = end
	}
	return append(dst, before[copied:]...), unchanged, r.err == nil && old.err == nil
}
