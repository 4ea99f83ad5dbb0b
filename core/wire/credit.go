package wire

// Credit grants a subscription more bytes of data frames (SnapshotPart and
// Events).
type Credit struct {
	Subscription uint32
	Bytes        uint64
}

// Append writes the whole frame.
func (f *Credit) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeCredit)
	dst = appendUvarint(dst, uint64(f.Subscription))
	dst = appendUvarint(dst, f.Bytes)
	return end(dst, start)
}

// Parse reads the payload.
func (f *Credit) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Subscription = r.uint32()
	f.Bytes = r.uvarint()
	return r.done("Credit")
}
