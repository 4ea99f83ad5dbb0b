package wire

import "github.com/watchglass/watchglass/core/api"

// CollectionError reports that an object of a collection cannot be updated; see
// [ObjectError].
type CollectionError struct {
	Collection      uint32
	Key             api.Key
	ResourceVersion api.ResourceVersion
	Status          *api.Status
}

// Append appends the frame to dst.
func (f *CollectionError) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeCollectionError)
	dst = appendUvarint(dst, uint64(f.Collection))
	dst = appendBytes(dst, f.Key)
	dst = appendUvarint(dst, uint64(f.ResourceVersion))
	dst = appendStatus(dst, f.Status)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *CollectionError) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Collection = r.uint32()
	f.Key = api.Key(r.string())
	f.ResourceVersion = r.rv()
	f.Status = r.status()
	return r.done("CollectionError")
}
