package wire

// WakeAt requests a Tick at the given time, on the clock of Tick. A new WakeAt replaces
// the previous one.
type WakeAt struct {
	Millis int64
}

// Append appends the frame to dst.
func (f *WakeAt) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeWakeAt)
	dst = appendVarint(dst, f.Millis)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *WakeAt) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Millis = r.varint()
	return r.done("WakeAt")
}
