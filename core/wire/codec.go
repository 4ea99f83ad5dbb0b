package wire

import (
	"math"
	"strconv"
	"unsafe"

	"github.com/watchglass/watchglass/core/api"
)

// appendUvarint appends a varint. Inlining it at each use would make the module 2 %
// larger.
//
//go:noinline
func appendUvarint(dst []byte, v uint64) []byte {
	for v >= 0x80 {
		dst = append(dst, byte(v)|0x80)
		v >>= 7
	}
	return append(dst, byte(v))
}

func appendUint64(dst []byte, v uint64) []byte {
	for i := 0; i < 64; i += 8 {
		dst = append(dst, byte(v>>i))
	}
	return dst
}

func appendFloat(dst []byte, v float64) []byte { return appendUint64(dst, math.Float64bits(v)) }

//go:noinline
func appendVarint(dst []byte, v int64) []byte {
	return appendUvarint(dst, uint64(v)<<1^uint64(v>>63))
}

//go:noinline
func appendBytes[T ~string | ~[]byte](dst []byte, v T) []byte {
	return append(appendUvarint(dst, uint64(len(v))), v...)
}

//go:noinline
func appendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// reader parses a payload. After the first error every read returns a zero value,
// so parsers check the error once, at the end.
type reader struct {
	b   []byte
	off int
	err *api.Status
}

func (r *reader) fail(what string) {
	if r.err == nil {
		r.err = api.Protocol(what + " at byte " + strconv.Itoa(r.off))
	}
}

func (r *reader) left() int { return len(r.b) - r.off }

func (r *reader) byte() byte {
	if r.err == nil && r.off < len(r.b) {
		r.off++
		return r.b[r.off-1]
	}
	r.fail("truncated")
	return 0
}

func (r *reader) uvarint() uint64 {
	if r.err != nil {
		return 0
	}
	var v uint64
	for shift := uint(0); r.off < len(r.b); shift += 7 {
		c := r.b[r.off]
		r.off++
		if shift == 63 && c > 1 {
			r.fail("varint beyond 64 bits")
			return 0
		}
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v
		}
	}
	r.fail("truncated")
	return 0
}

// uint64 reads eight little-endian bytes. Numbers that are usually large, such as
// checksums, use this encoding, because a varint would be longer.
func (r *reader) uint64() uint64 {
	var v uint64
	for i := 0; i < 64; i += 8 {
		v |= uint64(r.byte()) << i
	}
	return v
}

//go:noinline
func (r *reader) float() float64 { return math.Float64frombits(r.uint64()) }

func (r *reader) varint() int64 {
	v := r.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

func (r *reader) uint32() uint32 {
	v := r.uvarint()
	if v > math.MaxUint32 {
		r.fail("number beyond 32 bits")
		return 0
	}
	return uint32(v)
}

// int reads a non-negative number below 2^31, which fits an int on every
// platform.
func (r *reader) int() int {
	v := r.uvarint()
	if v > math.MaxInt32 {
		r.fail("number beyond 31 bits")
		return 0
	}
	return int(v)
}

func (r *reader) bool() bool {
	c := r.byte()
	if c > 1 {
		r.fail("boolean that is neither 0 nor 1")
	}
	return c == 1
}

func (r *reader) bytes() []byte {
	// Fast path: nearly every length fits in one byte, and reading keys and cells takes
	// most of the parsing time.
	if off := r.off + 1; off <= len(r.b) {
		if n := int(r.b[r.off]); n < 0x80 && n <= len(r.b)-off && r.err == nil {
			r.off = off + n
			return r.b[off:r.off:r.off]
		}
	}
	return r.take(r.uvarint())
}

// take reads n bytes. The result aliases the payload.
func (r *reader) take(n uint64) []byte {
	if r.err != nil {
		return nil
	}
	if n > uint64(r.left()) {
		r.fail("length beyond the end of the frame")
		return nil
	}
	r.off += int(n)
	return r.b[r.off-int(n) : r.off : r.off]
}

//go:noinline
func (r *reader) string() string { return borrow(r.bytes()) }

// borrow returns the bytes as a string without copying. Every string that aliases the
// payload is created by borrow.
func borrow(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// count reads the number of elements that follow. Each element has at least size bytes.
// It rejects a count that does not fit the rest of the payload, so a forged count cannot
// cause a large allocation.
func (r *reader) count(size int) int {
	n := r.uvarint()
	if r.err == nil && n > uint64(r.left()/size) {
		r.fail("count beyond the end of the frame")
	}
	if r.err != nil {
		return 0
	}
	return int(n)
}

func (r *reader) rv() api.ResourceVersion { return api.ResourceVersion(r.uvarint()) }

// done returns the first read error, an error if the payload has unread bytes, or nil.
func (r *reader) done(frame string) error {
	if r.err == nil && r.left() > 0 {
		r.fail("trailing bytes")
	}
	if r.err != nil {
		r.err.Message = frame + " frame: " + r.err.Message
		return r.err
	}
	return nil
}

// grow returns a slice of length n. It reuses the memory and elements of s if the
// capacity suffices.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
