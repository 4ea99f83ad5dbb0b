package wire

import "github.com/watchglass/watchglass/core/api"

// Progress reports that the connector has sent every change of a subscription up to and
// including ResourceVersion. The connector's source has just confirmed that no further
// change exists.
type Progress struct {
	Subscription    uint32
	ResourceVersion api.ResourceVersion
}

// Append appends the frame to dst.
func (f *Progress) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeProgress)
	dst = appendUvarint(dst, uint64(f.Subscription))
	dst = appendUvarint(dst, uint64(f.ResourceVersion))
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *Progress) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Subscription = r.uint32()
	f.ResourceVersion = r.rv()
	return r.done("Progress")
}
