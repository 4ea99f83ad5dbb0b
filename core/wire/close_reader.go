package wire

import "github.com/watchglass/watchglass/core/api"

// CloseReader reports that the engine has detached a reader that violated the protocol.
// The program closes the connection.
type CloseReader struct {
	Reader uint32
	Status *api.Status
}

// Append appends the frame to dst.
func (f *CloseReader) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeCloseReader)
	dst = appendUvarint(dst, uint64(f.Reader))
	dst = appendStatus(dst, f.Status)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *CloseReader) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Reader = r.uint32()
	f.Status = r.status()
	return r.done("CloseReader")
}
