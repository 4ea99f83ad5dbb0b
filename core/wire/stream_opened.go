package wire

// StreamOpened reports that a requested stream is open. Token is the credential that the
// engine sends in [Hello].
type StreamOpened struct {
	Stream uint32
	Token  string
}

// Append appends the frame to dst.
func (f *StreamOpened) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeStreamOpened)
	dst = appendUvarint(dst, uint64(f.Stream))
	dst = appendBytes(dst, f.Token)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *StreamOpened) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Stream = r.uint32()
	f.Token = r.string()
	return r.done("StreamOpened")
}
