package wire

// Hello is the first frame on a connection, sent by the reader. It carries the token for
// the connector's authentication, because a token must not be part of a URL.
type Hello struct {
	Version int
	Token   string
	Client  string // name and version of the reader, for logs
}

// Append appends the frame to dst.
func (f *Hello) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeHello)
	dst = appendUvarint(dst, uint64(f.Version))
	dst = appendBytes(dst, f.Token)
	dst = appendBytes(dst, f.Client)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *Hello) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Version = r.int()
	f.Token = r.string()
	f.Client = r.string()
	return r.done("Hello")
}
