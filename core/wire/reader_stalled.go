package wire

// ReaderStalled reports that an attached reader lacks the room or the credit for pending
// data, or that the reader accepts data again. The engine sets no time limit; the program
// decides what happens to a stalled reader.
type ReaderStalled struct {
	Reader  uint32
	Stalled bool
}

// Append appends the frame to dst.
func (f *ReaderStalled) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeReaderStalled)
	dst = appendUvarint(dst, uint64(f.Reader))
	dst = appendBool(dst, f.Stalled)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *ReaderStalled) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Reader = r.uint32()
	f.Stalled = r.bool()
	return r.done("ReaderStalled")
}
