package wire

import "github.com/watchglass/watchglass/core/api"

// CollectionSchema reports the fields and columns of a collection once they are
// known.
type CollectionSchema struct {
	Collection uint32
	Schema     api.Schema
}

// Append appends the frame to dst.
func (f *CollectionSchema) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeCollectionSchema)
	dst = appendUvarint(dst, uint64(f.Collection))
	dst = appendSchema(dst, &f.Schema)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *CollectionSchema) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Collection = r.uint32()
	r.schema(&f.Schema)
	return r.done("CollectionSchema")
}
