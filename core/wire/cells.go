package wire

import "github.com/watchglass/watchglass/core/api"

// An envelope stores each text once. The key contains the name and the namespace, so a
// field can refer to the key. A column often has the text of a field, so it can refer to
// that field.

// A field starts with a varint. The values 0 and 1 refer to the name and the namespace in
// the key. Any other value is the length of the text plus fieldText, and the text
// follows.
const (
	fieldIsName = iota
	fieldIsNamespace
	fieldText
)

// sameAsField+i is the kind of a column whose text equals that of field i. A text with a
// time never refers to a field.
const (
	sameAsField = 0x10
	maxShared   = 0x60 // number of fields that a column can refer to
)

func appendCells(dst []byte, key api.Key, fields []string, columns []api.Value) []byte {
	dst = appendUvarint(dst, uint64(len(fields)))
	for _, f := range fields {
		dst = appendField(dst, key, f)
	}
	dst = appendUvarint(dst, uint64(len(columns)))
	for _, c := range columns {
		dst = appendColumn(dst, fields, c)
	}
	return dst
}

func appendField(dst []byte, key api.Key, f string) []byte {
	switch f {
	case key.Name():
		return append(dst, fieldIsName)
	case key.Namespace():
		return append(dst, fieldIsNamespace)
	}
	return append(appendUvarint(dst, uint64(len(f))+fieldText), f...)
}

func appendColumn(dst []byte, fields []string, v api.Value) []byte {
	if v.Kind == api.String && v.Time == 0 {
		for i, f := range fields[:min(len(fields), maxShared)] {
			if f == v.Text {
				return append(dst, sameAsField+byte(i))
			}
		}
	}
	return appendValue(dst, v)
}

// These are the kinds of a String and an Integer whose Time is not zero. The text or the
// integer follows, and then the time.
const (
	timedText    = 0x0e
	timedInteger = 0x0f
)

func appendValue(dst []byte, v api.Value) []byte {
	kind := byte(v.Kind)
	if v.Time != 0 && v.Kind == api.String {
		kind = timedText
	} else if v.Time != 0 && v.Kind == api.Integer {
		kind = timedInteger
	}
	dst = append(dst, kind)
	switch v.Kind {
	case api.Null:
	case api.Number:
		dst = appendFloat(dst, v.Float)
	case api.String:
		dst = appendBytes(dst, v.Text)
	default:
		dst = appendVarint(dst, v.Int)
	}
	if kind >= timedText {
		dst = appendVarint(dst, v.Time)
	}
	return dst
}

func (r *reader) field(key api.Key) string {
	switch n := r.uvarint(); n {
	case fieldIsName:
		return key.Name()
	case fieldIsNamespace:
		return key.Namespace()
	default:
		return borrow(r.take(n - fieldText))
	}
}

func (r *reader) value() api.Value {
	v := api.Value{Kind: api.ValueKind(r.byte())}
	switch v.Kind {
	case api.Null:
	case api.Bool, api.Integer, api.Date, api.Duration:
		v.Int = r.varint()
	case timedText:
		v.Kind, v.Text, v.Time = api.String, r.string(), r.varint()
	case timedInteger:
		v.Kind, v.Int, v.Time = api.Integer, r.varint(), r.varint()
	case api.Number:
		v.Float = r.float()
	case api.String:
		v.Text = r.string()
	default:
		r.fail("unknown kind of cell")
	}
	return v
}

// sharing reports whether the next column refers to a field. If so, it reads the column
// and returns the index of the field. Otherwise it reads nothing.
func (r *reader) sharing() (field int, ok bool) {
	if r.err != nil || r.off >= len(r.b) || r.b[r.off] < sameAsField || r.b[r.off] >= sameAsField+maxShared {
		return 0, false
	}
	r.off++
	return int(r.b[r.off-1]) - sameAsField, true
}

// skipFields skips n fields. It has a fast path for short fields, because most cells are
// short and cells take most of the time of parsing events.
func (r *reader) skipFields(n int) {
	for ; n > 0; n-- {
		if off := r.off; off < len(r.b) {
			if end := off + 1 + max(int(r.b[off])-fieldText, 0); r.b[off] < 0x80 && end <= len(r.b) && r.err == nil {
				r.off = end
				continue
			}
		}
		r.field("")
	}
}

// skipColumns skips n columns of an object with the given number of fields.
func (r *reader) skipColumns(n, fields int) {
	for ; n > 0; n-- {
		if r.err == nil {
			if end := r.shortColumn(fields); end > 0 {
				r.off = end
				continue
			}
		}
		if i, ok := r.sharing(); !ok {
			r.value()
		} else if i >= fields {
			r.fail("cell that repeats a missing field")
		}
	}
}

// shortColumn returns the end of the next column if it is Null, a field reference, a
// short text or a one-byte value, as most columns are. Otherwise it returns zero, and the
// caller reads the column. Validating rows accounts for a fifth of the time of an initial list.
func (r *reader) shortColumn(fields int) int {
	b, off := r.b, r.off
	if off >= len(b) {
		return 0
	}
	kind := b[off]
	switch {
	case kind == byte(api.Null):
		return off + 1
	case kind >= sameAsField:
		if int(kind)-sameAsField < fields && kind < sameAsField+maxShared {
			return off + 1
		}
	case off+1 >= len(b) || b[off+1] >= 0x80:
	case kind == byte(api.String):
		if end := off + 2 + int(b[off+1]); end <= len(b) {
			return end
		}
	case kind == byte(api.Bool), kind == byte(api.Integer), kind == byte(api.Date), kind == byte(api.Duration):
		return off + 2
	}
	return 0
}

// appendUID appends a uid. A UUID, the usual case, is encoded as a zero and 16 bytes. Any
// other uid is encoded as its length plus one, followed by its text.

func appendUID(dst []byte, uid string) []byte {
	if packed, ok := packUUID(uid); ok {
		return append(append(dst, 0), packed[:]...)
	}
	return append(appendUvarint(dst, uint64(len(uid))+1), uid...)
}

func (r *reader) uid() string {
	if n := r.uvarint(); n > 0 {
		return borrow(r.take(n - 1))
	}
	packed := r.take(16)
	if r.err != nil {
		return ""
	}
	return unpackUUID(packed)
}

func (r *reader) skipUID() {
	if end := r.off + 17; end <= len(r.b) && r.b[r.off] == 0 && r.err == nil {
		r.off = end
		return
	}
	n := r.uvarint()
	if n == 0 {
		n = 16 + 1
	}
	r.take(n - 1)
}

const hexDigits = "0123456789abcdef"

// isHyphen reports whether a UUID has a hyphen at index i.
func isHyphen(i int) bool { return i == 8 || i == 13 || i == 18 || i == 23 }

func packUUID(s string) (packed [16]byte, ok bool) {
	if len(s) != 36 {
		return packed, false
	}
	digits := 0
	for i := range len(s) {
		c := s[i]
		switch {
		case isHyphen(i):
			if c != '-' {
				return packed, false
			}
			continue
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		default:
			return packed, false
		}
		packed[digits/2] = packed[digits/2]<<4 | c
		digits++
	}
	return packed, true
}

func unpackUUID(packed []byte) string {
	text := make([]byte, 0, 36)
	for _, c := range packed {
		if isHyphen(len(text)) {
			text = append(text, '-')
		}
		text = append(text, hexDigits[c>>4], hexDigits[c&15])
	}
	return borrow(text)
}
