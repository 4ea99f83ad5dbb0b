package wire

// SendStream asks the program to send one message.
type SendStream struct {
	Stream uint32
	Data   []byte
}

// Append appends the frame to dst.
func (f *SendStream) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeSendStream)
	dst = appendUvarint(dst, uint64(f.Stream))
	dst = appendBytes(dst, f.Data)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *SendStream) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Stream = r.uint32()
	f.Data = r.bytes()
	return r.done("SendStream")
}
