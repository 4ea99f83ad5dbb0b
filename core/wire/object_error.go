package wire

import "github.com/watchglass/watchglass/core/api"

// ObjectError reports an object whose newest version cannot be served, because it
// cannot be decoded or exceeds the size limit. The reader keeps the last good
// version. Other objects are not affected.
type ObjectError struct {
	Subscription    uint32
	Key             api.Key
	ResourceVersion api.ResourceVersion
	Status          *api.Status
}

// Append appends the frame to dst.
func (f *ObjectError) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeObjectError)
	dst = appendUvarint(dst, uint64(f.Subscription))
	dst = appendBytes(dst, f.Key)
	dst = appendUvarint(dst, uint64(f.ResourceVersion))
	dst = appendStatus(dst, f.Status)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *ObjectError) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Subscription = r.uint32()
	f.Key = api.Key(r.string())
	f.ResourceVersion = r.rv()
	f.Status = r.status()
	return r.done("ObjectError")
}
