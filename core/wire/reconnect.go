package wire

// Reconnect tells the engine to cut a waiting back-off short, because the
// network came back or a person asked.
type Reconnect struct{}

// Append writes the whole frame.
func (f *Reconnect) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeReconnect)
	return end(dst, start)
}

// Parse reads the payload.
func (f *Reconnect) Parse(payload []byte) error {
	r := reader{b: payload}
	return r.done("Reconnect")
}
