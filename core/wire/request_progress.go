package wire

// RequestProgress asks for the next [Progress] of a subscription as soon as
// there is something new to say, and not only when it is due, because somebody
// waits for a version that may already be in (rule C35). A connector that has
// nothing new asks its source, if that can be asked.
type RequestProgress struct {
	Subscription uint32
}

// Append writes the whole frame.
func (f *RequestProgress) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeRequestProgress)
	dst = appendUvarint(dst, uint64(f.Subscription))
	return end(dst, start)
}

// Parse reads the payload.
func (f *RequestProgress) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Subscription = r.uint32()
	return r.done("RequestProgress")
}
