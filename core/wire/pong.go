package wire

// Pong reports that the reader has processed everything up to the [Ping] with
// this mark.
type Pong struct {
	Mark uint64
}

// Append appends the frame to dst.
func (f *Pong) Append(dst []byte) []byte { return appendMark(dst, TypePong, f.Mark) }

// Parse sets the fields from a payload.
func (f *Pong) Parse(payload []byte) (err error) {
	f.Mark, err = parseMark(payload, "Pong")
	return err
}
