package body

import (
	"slices"
	"strconv"

	"github.com/watchglass/watchglass/core/api"
)

// MaxDecoded is the maximum decoded size of a body in bytes. Kubernetes objects are at
// most a few megabytes in size. The limit prevents a forged length from exhausting
// memory.
const MaxDecoded = 16 << 20

// Decode appends the body's plain JSON to dst. It is a core.Decoder. The dictionary
// is the one that the body was encoded with, or nil. The base is the plain JSON of
// the version that a body of codec Delta applies to. On an error, dst is unchanged.
// Decode does not retain its arguments.
func Decode(dst []byte, body api.Body, dictionary, base []byte) ([]byte, error) {
	if len(dictionary) > maxDictionary {
		return dst, api.Internal("a dictionary of " + strconv.Itoa(len(dictionary)) +
			" bytes; the limit is " + strconv.Itoa(maxDictionary))
	}
	switch body.Codec {
	case api.JSON:
		if len(body.Data) > MaxDecoded {
			return dst, tooLarge(uint64(len(body.Data)))
		}
		return append(dst, body.Data...), nil
	case api.Packed:
		return decodeBlock(dst, body.Data, block{guide: guided(dictionary, true)})
	case api.Delta:
		return decodeBlock(dst, body.Data, block{guide: guided(base, false), dictionary: dictionary})
	case api.NoBody:
		return dst, api.Internal("object has no body: its collection holds metadata only")
	}
	return dst, api.Internal("body has the unknown codec " + strconv.Itoa(int(body.Codec)))
}

// decodeBlock appends the text of a block to dst. It uses the dictionary and the guide of
// b.
func decodeBlock(dst, data []byte, b block) ([]byte, error) {
	n, head := uvarint(data)
	if head == 0 {
		return dst, corrupt(0)
	}
	if n > MaxDecoded {
		return dst, tooLarge(n)
	}
	start := len(dst)
	dst = slices.Grow(dst, int(n))
	b.src, b.s, b.dst = data, head, dst[start:start+int(n)]
	b.distance = len(b.guide.text)
	if !b.decode() {
		return dst[:start], corrupt(b.s)
	}
	return dst[:start+int(n)], nil
}

func corrupt(at int) error {
	return api.Internal("body is not a valid block: corrupt at byte " + strconv.Itoa(at))
}

func tooLarge(n uint64) error {
	return api.TooLarge("body decodes to " + strconv.FormatUint(n, 10) +
		" bytes; the limit is " + strconv.Itoa(MaxDecoded))
}

// uvarint returns the value v of the varint at the start of b, and its size n in bytes.
// If the varint is truncated or longer than ten bytes, n is zero.
func uvarint(b []byte) (v uint64, n int) {
	for n < len(b) && n < 10 {
		c := b[n]
		v |= uint64(c&0x7f) << (7 * n)
		n++
		if c < 0x80 {
			return v, n
		}
	}
	return 0, 0
}
