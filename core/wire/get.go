package wire

import "github.com/watchglass/watchglass/core/api"

// Get requests one object with its body. The response is [ObjectReply] or
// [ErrorReply].
type Get struct {
	Request    uint32
	Collection uint32
	Key        api.Key
}

// Append appends the frame to dst.
func (f *Get) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeGet)
	dst = appendUvarint(dst, uint64(f.Request))
	dst = appendUvarint(dst, uint64(f.Collection))
	dst = appendBytes(dst, f.Key)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *Get) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Request = r.uint32()
	f.Collection = r.uint32()
	f.Key = api.Key(r.string())
	return r.done("Get")
}
