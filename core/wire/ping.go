package wire

// Ping requests a [Pong] with the same mark. The reader sends the Pong after it has
// processed everything before the Ping, so the connector can compute how much data is in
// flight. The mark is unpredictable, so a Pong proves that the reader has received the
// Ping. A reader that does not support Ping does not respond.
type Ping struct {
	Mark uint64
}

// Append appends the frame to dst.
func (f *Ping) Append(dst []byte) []byte { return appendMark(dst, TypePing, f.Mark) }

// Parse sets the fields from a payload.
func (f *Ping) Parse(payload []byte) (err error) {
	f.Mark, err = parseMark(payload, "Ping")
	return err
}

func appendMark(dst []byte, t Type, mark uint64) []byte {
	dst, start := begin(dst, t)
	dst = appendUvarint(dst, mark)
	return end(dst, start)
}

func parseMark(payload []byte, name string) (uint64, error) {
	r := reader{b: payload}
	mark := r.uvarint()
	return mark, r.done(name)
}
