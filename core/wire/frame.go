package wire

import (
	"strconv"

	"github.com/watchglass/watchglass/core/api"
)

// Subprotocol is the WebSocket subprotocol of this package.
const Subprotocol = "watchglass.v1"

// Version is the protocol version that [Hello] and [Welcome] carry.
const Version = 1

// MaxMessage is the maximum size of a message in either direction. It is
// sufficient for the largest etcd transaction with its envelopes.
const MaxMessage = 16 << 20

// Type is the first byte of a frame.
type Type byte

// Optional is the first type that receivers may skip.
const Optional Type = 0x80

// The frame types are part of the wire format; do not renumber them.
const (
	TypeHello           Type = 0x01
	TypeSubscribe       Type = 0x02
	TypeUnsubscribe     Type = 0x03
	TypeCredit          Type = 0x04
	TypeRequestProgress Type = 0x05
	TypePong            Type = Optional | 0x06

	TypeWelcome            Type = 0x10
	TypeSchema             Type = 0x11
	TypeDictionary         Type = 0x12
	TypeLabelSet           Type = 0x13
	TypeSnapshotBegin      Type = 0x14
	TypeSnapshotPart       Type = 0x15
	TypeSnapshotEnd        Type = 0x16
	TypeEvents             Type = 0x17
	TypeProgress           Type = 0x18
	TypeSubscriptionStatus Type = 0x19
	TypeObjectError        Type = 0x1a
	TypeSourceError        Type = Optional | 0x1b
	TypePing               Type = Optional | 0x1c
	TypeFragment           Type = 0x1d
	TypeSnapshotBlock      Type = 0x1e

	TypeChunk            Type = 0x30
	TypeKeptSubscription Type = 0x31

	TypeConfig          Type = 0x40
	TypeOpenCollection  Type = 0x41
	TypeCloseCollection Type = 0x42
	TypeOpenWatch       Type = 0x43
	TypeGrantWatch      Type = 0x44
	TypeCloseWatch      Type = 0x45
	TypeGet             Type = 0x46
	TypeList            Type = 0x47
	TypeOpenView        Type = 0x48
	TypeMoveView        Type = 0x49
	TypeCloseView       Type = 0x4a
	TypeInspect         Type = 0x4b
	TypeAcquireObject   Type = 0x4c
	TypeReleaseObject   Type = 0x4d
	TypeGetObject       Type = 0x4e
	TypeGrantView       Type = 0x4f
	TypeStreamOpened    Type = 0x50
	TypeStreamData      Type = 0x51
	TypeStreamClosed    Type = 0x52
	TypeReconnect       Type = 0x53
	TypeTakeSnapshot    Type = 0x54
	TypeNextChunk       Type = 0x55
	TypeRestoreChunk    Type = 0x56
	TypeAttachReader    Type = 0x57
	TypeReaderMessage   Type = 0x58
	TypeGrantReader     Type = 0x59
	TypeDetachReader    Type = 0x5a
	TypeKeepReader      Type = 0x5b
	TypeFetched         Type = 0x5c

	TypeOpenStream       Type = 0x60
	TypeSendStream       Type = 0x61
	TypeCloseStream      Type = 0x62
	TypeWakeAt           Type = 0x63
	TypeCollectionState  Type = 0x64
	TypeCollectionSchema Type = 0x65
	TypeCollectionError  Type = 0x66
	TypeWatchEvents      Type = 0x67
	TypeWatchClosed      Type = 0x68
	TypeViewPatch        Type = 0x69
	TypeRejected         Type = 0x6a
	TypeObjectReply      Type = 0x6b
	TypeListReply        Type = 0x6c
	TypeInspectReply     Type = 0x6d
	TypeErrorReply       Type = 0x6e
	TypeObjectChanged    Type = 0x6f
	TypeObjectState      Type = 0x70
	TypeSnapshotChunk    Type = 0x71
	TypeSendReader       Type = 0x72
	TypeCloseReader      Type = 0x73
	TypeKeptReader       Type = 0x74
	TypeFetch            Type = 0x75
	TypeReaderStalled    Type = 0x76
)

// Next splits the first frame off a message. The payload aliases the message.
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

// Size returns the length of a frame with a payload of n bytes.
func Size(n int) int {
	size := 2 + n
	for ; n >= 0x80; n >>= 7 {
		size++
	}
	return size
}

// Unknown returns the error for an unknown mandatory frame type.
func Unknown(t Type) error {
	return api.Protocol("frame of type 0x" + strconv.FormatUint(uint64(t), 16) + " is unknown or not allowed here")
}

// begin starts a frame of unknown length; end completes it.
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
