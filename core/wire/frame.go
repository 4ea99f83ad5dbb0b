package wire

import "strconv"

// SubprotocolPrefix is the common prefix of the WebSocket subprotocols of all versions.
const SubprotocolPrefix = "watchglass.v"

// Subprotocol is the WebSocket subprotocol that this package implements.
const Subprotocol = SubprotocolPrefix + "2"

// Version is the protocol version that [Hello] and [Welcome] carry.
const Version = 2

// MaxMessage is the maximum size of a message in either direction, in bytes. It is enough
// for the changes of the largest etcd transaction, with their envelopes.
const MaxMessage = 16 << 20

// Type is the first byte of a frame.
type Type byte

// Optional is the lowest optional type. A receiver skips frames of unknown optional
// types.
const Optional Type = 0x80

// Next returns the type and the payload of the first frame of a message, and the rest of
// the message. The payload aliases the message.
func Next(message []byte) (t Type, payload, rest []byte, err error) {
	r := reader{b: message}
	t = Type(r.byte())
	payload = r.bytes()
	if r.err != nil {
		r.err.Message = "frame of type 0x" + strconv.FormatUint(uint64(t), 16) + ": " + r.err.Message
		return 0, nil, nil, r.err
	}
	return t, payload, message[r.off:], nil
}

// Subscription returns the number of the subscription that a frame belongs to. This
// number is the first field of the payload.
func Subscription(payload []byte) uint32 {
	r := reader{b: payload}
	return r.uint32()
}

// Size returns the length of a frame with a payload of n bytes, including the type byte
// and the length prefix.
func Size(n int) int {
	size := 2 + n
	for ; n >= 0x80; n >>= 7 {
		size++
	}
	return size
}

// begin starts a frame of unknown length and returns the offset of its payload. The
// function end inserts the length.
//
//go:noinline
func begin(dst []byte, t Type) ([]byte, int) {
	dst = append(dst, byte(t), 0)
	return dst, len(dst)
}

func end(dst []byte, start int) []byte {
	n := uint64(len(dst) - start)
	if n < 0x80 {
		dst[start-1] = byte(n)
		return dst
	}
	var length [10]byte
	head := appendUvarint(length[:0], n)
	dst = append(dst, head[1:]...)
	copy(dst[start-1+len(head):], dst[start:start+int(n)])
	copy(dst[start-1:], head)
	return dst
}
