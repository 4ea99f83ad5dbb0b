package wire

// RequestProgress requests the next [Progress] of a subscription as soon as the version
// advances, instead of at the regular time. A reader sends it when a read is waiting for
// a version (rule C35). A connector without newer information queries its source, if the
// source supports such queries.
type RequestProgress struct {
	Subscription uint32
}

// Append appends the frame to dst.
func (f *RequestProgress) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeRequestProgress)
	dst = appendUvarint(dst, uint64(f.Subscription))
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *RequestProgress) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Subscription = r.uint32()
	return r.done("RequestProgress")
}
