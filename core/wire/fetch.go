package wire

// Fetch asks the program to GET a path of the Kubernetes API that the engine reads
// directly. The program responds with [Fetched], with [StreamData] for each piece of the
// body, and with [StreamClosed] at the end of the body. The message of StreamClosed is
// empty after a complete body. [CloseStream] cancels the request.
type Fetch struct {
	Stream uint32
	Path   string // with its query, such as "/api/v1/pods?watch=1"
}

// Append appends the frame to dst.
func (f *Fetch) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeFetch)
	dst = appendUvarint(dst, uint64(f.Stream))
	dst = appendBytes(dst, f.Path)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *Fetch) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Stream = r.uint32()
	f.Path = r.string()
	return r.done("Fetch")
}
