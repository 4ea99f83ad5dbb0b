package wire

// ReaderStalled says that data waits for an attached reader, which has neither
// credit nor room for it, or that it has taken something again. What becomes of
// one that stays so is up to the program: the engine waits with it for ever.
type ReaderStalled struct {
	Reader  uint32
	Stalled bool
}

// Append writes the whole frame.
func (f *ReaderStalled) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeReaderStalled)
	dst = appendUvarint(dst, uint64(f.Reader))
	dst = appendBool(dst, f.Stalled)
	return end(dst, start)
}

// Parse reads the payload.
func (f *ReaderStalled) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Reader = r.uint32()
	f.Stalled = r.bool()
	return r.done("ReaderStalled")
}
