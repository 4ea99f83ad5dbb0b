package wire

// Credit allows a connector to send more bytes of data frames (such as SnapshotPart and
// Events) for a subscription.
type Credit struct {
	Subscription uint32
	Bytes        uint64
}

// Append appends the frame to dst.
func (f *Credit) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeCredit)
	dst = appendUvarint(dst, uint64(f.Subscription))
	dst = appendUvarint(dst, f.Bytes)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *Credit) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Subscription = r.uint32()
	f.Bytes = r.uvarint()
	return r.done("Credit")
}
