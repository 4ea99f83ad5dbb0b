package wire

import "github.com/watchglass/watchglass/core/api"

// Patch is an [Envelope] encoded as the difference from an earlier version of the object.
// A patch contains the key and the changed data.
//
// Layout: key, number of changed cells, the changed cells in ascending order, codec, and
// the body up to the end. A changed cell is encoded as the distance from the previous
// changed cell, followed by the new value. Cells are numbered from the first field to the
// last column. The value of a field is encoded like a string column. A partially changed
// text is encoded as [editedText], the lengths of its unchanged prefix and suffix, and
// the text between.
type Patch []byte

// editedText is the kind of a cell whose text changed only in part. It occurs only in
// patches.
const editedText = sameAsField + maxShared

// minCommon is the minimum number of unchanged bytes in a text that is encoded as
// an edit.
const minCommon = 3

// AppendPatch appends the patch from previous to current, with the given body instead of
// the body of current. It returns false and appends nothing if the two are not versions
// of one object or have different numbers of cells.
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

// appendCellChanges appends the number of changed cells, their positions and their new
// values. It returns false if the two versions have different numbers of fields or
// columns.
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
		changed = appendCellChange(changed, &a, &b)
		last, n = i, n+1
	}
	if a.next() || a.err != nil || b.err != nil {
		return dst, false
	}
	return append(appendUvarint(dst, n), changed...), true
}

func appendCellChange(dst []byte, previous, current *cells) []byte {
	is, isText := current.ownText()
	if !isText {
		return append(dst, current.raw...)
	}
	was, _ := previous.ownText()
	head, tail := common(was, is)
	if head+tail < minCommon {
		return appendValue(dst, api.Value{Kind: api.String, Text: is})
	}
	dst = appendUvarint(append(dst, editedText), uint64(head))
	dst = appendUvarint(dst, uint64(tail))
	return appendBytes(dst, is[head:len(is)-tail])
}

// common returns the lengths of the common prefix and the common suffix of two texts. The
// prefix and the suffix do not overlap.
func common(was, is string) (head, tail int) {
	most := min(len(was), len(is))
	for head < most && was[head] == is[head] {
		head++
	}
	for tail < most-head && was[len(was)-1-tail] == is[len(is)-1-tail] {
		tail++
	}
	return head, tail
}

// cells iterates over the cells of an envelope.
type cells struct {
	reader
	key     api.Key
	total   int    // number of fields
	fields  int    // remaining fields
	columns int    // remaining columns, after the fields
	isField bool   // the cell is a field
	text    string // the text of the cell, if it is a field
	raw     []byte // the encoded cell
	end     int    // end of the cell
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

// skip skips n cells. It returns false if fewer than n cells remain.
func (c *cells) skip(n int) bool {
	fields := min(n, c.fields)
	c.skipFields(fields)
	if c.fields -= fields; c.fields == 0 && fields > 0 {
		c.columns = c.count(1)
	}
	n -= fields
	if n > c.columns {
		return false
	}
	c.skipColumns(n, c.total)
	c.columns -= n
	return c.err == nil
}

// ownText returns the text that the cell contains. It returns false for a cell that is
// not text, and for a column that refers to a field.
func (c *cells) ownText() (string, bool) {
	if c.isField {
		return c.text, true
	}
	r := reader{b: c.raw}
	if api.ValueKind(r.byte()) != api.String {
		return "", false
	}
	return r.string(), true
}

// patch reads and validates a length-prefixed patch. It returns the patch and the codec
// of the body.
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
	if at, ok := p.bodyAlone(); ok {
		r.off = at
	} else {
		if len(r.bytes()) == 0 && r.err == nil {
			r.fail("empty key")
		}
		for n := r.count(2); n > 0; n-- {
			r.uint32()
			r.skipCellChange()
		}
	}
	codec := r.bodyCodec()
	return codec, r.err
}

// bodyAlone returns the offset of the codec in a patch without cell changes, which is the
// common case. It returns false for other patches, and for keys of 128 bytes or more.
func (p Patch) bodyAlone() (codec int, ok bool) {
	if len(p) == 0 || p[0] == 0 || p[0] >= 0x80 {
		return 0, false
	}
	codec = int(p[0]) + 2
	return codec, codec < len(p) && p[codec-1] == 0
}

func (r *reader) skipCellChange() {
	if r.edits() {
		r.uvarint()
		r.uvarint()
		r.bytes()
		return
	}
	r.skipColumns(1, maxShared)
}

// edits reports whether the next cell is an edited text. If so, it reads the kind of the
// cell. Otherwise it reads nothing.
func (r *reader) edits() bool {
	if r.err != nil || r.off >= len(r.b) || r.b[r.off] != editedText {
		return false
	}
	r.off++
	return true
}

// edited reads an edit of the text "was" and appends the resulting text to dst.
func (r *reader) edited(dst []byte, was string) []byte {
	head, tail, between := r.uvarint(), r.uvarint(), r.bytes()
	if size := uint64(len(was)); head > size || tail > size-head {
		r.fail("more text reused than exists")
		return dst
	}
	dst = append(append(dst, was[:head]...), between...)
	return append(dst, was[len(was)-int(tail):]...)
}

// Key returns the key. It aliases the patch.
//
//go:noinline
func (p Patch) Key() api.Key { return Envelope(p).Key() }

// Body returns the body. It aliases the patch.
func (p Patch) Body() api.Body {
	r := reader{b: p}
	r.bytes()
	for n := r.count(2); n > 0; n-- {
		r.uvarint()
		r.skipCellChange()
	}
	codec := api.Codec(r.byte())
	if r.err != nil {
		return api.Body{}
	}
	return api.Body{Codec: codec, Data: r.b[r.off:]}
}

// Apply applies the patch to the previous version of the object. It appends the resulting
// envelope to dst, and returns that envelope and the cells that did not change. It
// returns an error if the previous version belongs to another object or lacks a changed
// cell.
func (p Patch) Apply(dst []byte, previous Envelope) (Envelope, api.Cells, *api.Status) {
	if key := p.Key(); !previous.IsOf(key) {
		return nil, 0, api.Protocol("a patch of " + string(key) + " was applied to another object")
	}
	var scratch []byte
	head, body, unchanged, status := p.ApplyInParts(&scratch, previous)
	if status != nil {
		return nil, 0, status
	}
	start := len(dst)
	return append(append(dst, head...), body...)[start:], unchanged, nil
}

// ApplyInParts is like Apply but returns the envelope in two parts. head, the
// part before the body, aliases the previous version or scratch. The body with
// its codec aliases the patch. The previous version must belong to the same
// object.
func (p Patch) ApplyInParts(scratch *[]byte, previous Envelope) (head, body []byte, unchanged api.Cells, status *api.Status) {
	at, end := previous.layout()
	if codec, ok := p.bodyAlone(); ok {
		return previous[:end], p[codec:], api.AllCells, nil
	}
	r, before := reader{b: p}, reader{b: previous, off: at}
	r.bytes()
	old := before.bytes()
	n := r.count(2)
	if n == 0 {
		return previous[:end], p[r.off:], api.AllCells, nil
	}
	var space [512]byte
	cells, unchanged, ok := r.applyCells(space[:0], p.Key(), old, n)
	if !ok {
		return nil, nil, 0, api.Protocol("a patch of " + string(p.Key()) + " changes cells that it does not have")
	}
	*scratch = appendBytes(append((*scratch)[:0], previous[:at]...), cells)
	return *scratch, p[r.off:], unchanged, nil
}

// applyCells reads n changed cells, and appends to dst the cells in before, with the
// changed ones replaced. It returns the result, the set of unchanged cells, and whether
// the changes fit the previous version.
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
		if !old.skip(at-position-1) || !old.next() {
			return nil, 0, false
		}
		position = at
		end := old.end
		dst = append(dst, before[copied:end-len(old.raw)]...)
		var ok bool
		if dst, ok = r.appendChanged(dst, &old); !ok {
			return nil, 0, false
		}
		if old.isField {
			unchanged = unchanged.WithoutField(at)
		} else {
			unchanged = unchanged.WithoutColumn(at - old.total)
		}
		copied = end
	}
	return append(dst, before[copied:]...), unchanged, r.err == nil && old.err == nil
}

// appendChanged reads the new value of a cell and appends it. It returns false if
// the value is invalid for the cell.
func (r *reader) appendChanged(dst []byte, old *cells) ([]byte, bool) {
	if field, ok := r.sharing(); ok {
		return append(dst, sameAsField+byte(field)), !old.isField && field < old.total
	}
	var text [256]byte
	var value api.Value
	if was, isText := old.ownText(); !r.edits() {
		value = r.value()
	} else if isText {
		value = api.Value{Kind: api.String, Text: borrow(r.edited(text[:0], was))}
	} else {
		return dst, false
	}
	if !old.isField {
		return appendValue(dst, value), true
	}
	return appendField(dst, old.key, value.Text), value.Kind == api.String
}
