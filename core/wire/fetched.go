package wire

// Fetched reports the HTTP status of the response to a [Fetch].
type Fetched struct {
	Stream uint32
	Code   int
	// RetryAfterSeconds is the value of the Retry-After header, or zero.
	RetryAfterSeconds int
}

// Append appends the frame to dst.
func (f *Fetched) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeFetched)
	dst = appendUvarint(dst, uint64(f.Stream))
	dst = appendUvarint(dst, uint64(f.Code))
	dst = appendUvarint(dst, uint64(f.RetryAfterSeconds))
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *Fetched) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Stream = r.uint32()
	f.Code = r.int()
	f.RetryAfterSeconds = r.int()
	return r.done("Fetched")
}
