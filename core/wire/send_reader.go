package wire

// SendReader asks the program to send a message to an attached reader. The engine
// subtracts the length of the message from the reader's room.
type SendReader struct {
	Reader uint32
	Data   []byte
}

// Append appends the frame to dst.
func (f *SendReader) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeSendReader)
	dst = appendUvarint(dst, uint64(f.Reader))
	dst = appendBytes(dst, f.Data)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *SendReader) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Reader = r.uint32()
	f.Data = r.bytes()
	return r.done("SendReader")
}
