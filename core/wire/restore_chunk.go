package wire

// RestoreChunk hands a chunk that was kept back to a collection that was opened
// with Restore: those of a whole state in their order, then those of the changes
// that were kept after it. With End there are no more, and the state is there at
// once; or, if anything was wrong with it, nothing is, which a [Rejected] frame
// explains. Either way the collection goes on to follow its connector.
//
// The body of a chunk can be left out. It is loaded by its name when something of it
// is looked at, so it has to stay there until the collection is closed or says that
// it is of another version altogether.
type RestoreChunk struct {
	Collection uint32
	Data       []byte // a Chunk, and its body unless Body says where that is; may be empty with End
	End        bool
	Body       uint32 // the program's name for the body; zero where it is in Data
}

// Append writes the whole frame.
func (f *RestoreChunk) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeRestoreChunk)
	dst = appendUvarint(dst, uint64(f.Collection))
	dst = appendBytes(dst, f.Data)
	dst = appendBool(dst, f.End)
	dst = appendUvarint(dst, uint64(f.Body))
	return end(dst, start)
}

// Parse reads the payload.
func (f *RestoreChunk) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Collection = r.uint32()
	f.Data = r.bytes()
	f.End = r.bool()
	f.Body = r.uint32()
	return r.done("RestoreChunk")
}
