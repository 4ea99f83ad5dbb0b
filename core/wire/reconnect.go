package wire

// Reconnect ends a backoff delay early. The program sends it when the network is
// available again, or when a user requests a connection.
type Reconnect struct{}

// Append appends the frame to dst.
func (f *Reconnect) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeReconnect)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *Reconnect) Parse(payload []byte) error {
	r := reader{b: payload}
	return r.done("Reconnect")
}
