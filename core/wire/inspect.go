package wire

// Inspect requests sizes and counters of the engine. The response is
// [InspectReply].
type Inspect struct {
	Request uint32
}

// Append appends the frame to dst.
func (f *Inspect) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeInspect)
	dst = appendUvarint(dst, uint64(f.Request))
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *Inspect) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Request = r.uint32()
	return r.done("Inspect")
}
