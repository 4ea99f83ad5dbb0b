package wire

// Pong reports that the reader has processed everything up to the [Ping] with
// this mark.
type Pong struct {
	Mark uint64
}

// Append writes the whole frame.
func (f *Pong) Append(dst []byte) []byte { return appendMark(dst, TypePong, f.Mark) }

// Parse reads the payload.
func (f *Pong) Parse(payload []byte) (err error) {
	f.Mark, err = parseMark(payload, "Pong")
	return err
}
