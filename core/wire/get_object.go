package wire

import "github.com/watchglass/watchglass/core/api"

// GetObject requests an acquired object with its body. The response is
// [ObjectReply] or [ErrorReply] and arrives within a second.
type GetObject struct {
	Request  uint32
	Resource string
	Key      api.Key
}

// Append appends the frame to dst.
func (f *GetObject) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeGetObject)
	dst = appendUvarint(dst, uint64(f.Request))
	dst = appendBytes(dst, f.Resource)
	dst = appendBytes(dst, f.Key)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *GetObject) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Request = r.uint32()
	f.Resource = r.string()
	f.Key = api.Key(r.string())
	return r.done("GetObject")
}
