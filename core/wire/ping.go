package wire

// Ping asks a reader to say that it has come this far: it answers with a [Pong]
// of the same mark. The serving side sends one where it has to know how much of
// what it sent still waits on the way, as it cannot see that itself. A mark that
// cannot be guessed tells a reader that has read from one that only says so. A
// reader that does not know the frame does not answer.
type Ping struct {
	Mark uint64
}

// Append writes the whole frame.
func (f *Ping) Append(dst []byte) []byte { return appendMark(dst, TypePing, f.Mark) }

// Parse reads the payload.
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
