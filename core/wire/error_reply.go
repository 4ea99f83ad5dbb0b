package wire

import "github.com/watchglass/watchglass/core/api"

// ErrorReply is the response to a request that failed.
type ErrorReply struct {
	Request uint32
	Status  *api.Status
}

// Append appends the frame to dst.
func (f *ErrorReply) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeErrorReply)
	dst = appendUvarint(dst, uint64(f.Request))
	dst = appendStatus(dst, f.Status)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *ErrorReply) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Request = r.uint32()
	f.Status = r.status()
	return r.done("ErrorReply")
}
