package wire

// Welcome is the response to [Hello]. The connector reports progress on every
// subscription at least every ProgressMillis. A reader considers its data stale
// after three such periods without progress.
type Welcome struct {
	Version        int
	Server         string // name and version of the connector, for humans
	ProgressMillis uint64
}

// Append appends the frame to dst.
func (f *Welcome) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeWelcome)
	dst = appendUvarint(dst, uint64(f.Version))
	dst = appendBytes(dst, f.Server)
	dst = appendUvarint(dst, f.ProgressMillis)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *Welcome) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Version = r.int()
	f.Server = r.string()
	f.ProgressMillis = r.uvarint()
	return r.done("Welcome")
}
