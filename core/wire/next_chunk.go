package wire

// NextChunk requests the next chunk after the program has processed the previous one. If
// Stop is set, NextChunk cancels the snapshot instead.
type NextChunk struct {
	Request uint32 // the request number of the TakeSnapshot
	Stop    bool
}

// Append appends the frame to dst.
func (f *NextChunk) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeNextChunk)
	dst = appendUvarint(dst, uint64(f.Request))
	dst = appendBool(dst, f.Stop)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *NextChunk) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Request = r.uint32()
	f.Stop = r.bool()
	return r.done("NextChunk")
}
