package wire

// Unsubscribe ends a subscription. Frames in flight may still arrive.
type Unsubscribe struct {
	Subscription uint32
}

// Append appends the frame to dst.
func (f *Unsubscribe) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeUnsubscribe)
	dst = appendUvarint(dst, uint64(f.Subscription))
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *Unsubscribe) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Subscription = r.uint32()
	return r.done("Unsubscribe")
}
