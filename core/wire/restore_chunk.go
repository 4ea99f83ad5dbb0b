package wire

// RestoreChunk returns a persisted chunk to a collection that was opened with Restore.
// The chunks of a complete state come first, in order, then the chunks of later changes.
// End marks the last chunk. After the last chunk, the state is available immediately, or
// a [Rejected] frame explains why it was not restored. In both cases the collection
// connects afterwards.
//
// The body of a chunk may be omitted from Data and identified by a number instead. The
// engine loads the body by that number when one of its objects is read. The body must
// therefore remain loadable until the collection is closed or has a state with a
// different cluster ID.
type RestoreChunk struct {
	Collection uint32
	Data       []byte // a Chunk, followed by its body unless Body names it; may be empty with End
	End        bool
	Body       uint32 // a number that the program chooses for the body; zero if the body is in Data
}

// Append appends the frame to dst.
func (f *RestoreChunk) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeRestoreChunk)
	dst = appendUvarint(dst, uint64(f.Collection))
	dst = appendBytes(dst, f.Data)
	dst = appendBool(dst, f.End)
	dst = appendUvarint(dst, uint64(f.Body))
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *RestoreChunk) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Collection = r.uint32()
	f.Data = r.bytes()
	f.End = r.bool()
	f.Body = r.uint32()
	return r.done("RestoreChunk")
}
