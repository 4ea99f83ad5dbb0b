package wire

// AttachReader lets another reader be served out of the engine's collections, as
// a connector would serve it: what it says comes in as [ReaderMessage], what it
// is told goes out as [SendReader]. The program owns its connection.
type AttachReader struct {
	Reader uint32
	// Allowed is all that the reader may see. Anything else is a 403 for the
	// subscription that asks for it.
	Allowed          []ReaderScope
	ProgressMillis   uint32 // how often it hears of progress, at the least; zero for 10 s, and not below the engine's own
	MaxSubscriptions uint32 // zero for 256
	Room             uint64 // bytes that its connection takes before [GrantReader]
	Kept             []byte // of the engine that served it before, see [KeepReader]; empty for a new one
	Stalled          bool   // as [ReaderStalled] said last
}

// ReaderScope is a resource, or one namespace of it.
type ReaderScope struct {
	Resource  string // "v1/pods"; "*" for all
	Namespace string // empty for all
}

// Append writes the whole frame.
func (f *AttachReader) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeAttachReader)
	dst = appendUvarint(dst, uint64(f.Reader))
	dst = appendUvarint(dst, uint64(len(f.Allowed)))
	for _, s := range f.Allowed {
		dst = appendBytes(appendBytes(dst, s.Resource), s.Namespace)
	}
	dst = appendUvarint(dst, uint64(f.ProgressMillis))
	dst = appendUvarint(dst, uint64(f.MaxSubscriptions))
	dst = appendUvarint(dst, f.Room)
	dst = appendBytes(dst, f.Kept)
	dst = appendBool(dst, f.Stalled)
	return end(dst, start)
}

// Parse reads the payload.
func (f *AttachReader) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Reader = r.uint32()
	f.Allowed = grow(f.Allowed, r.count(2))
	for i := range f.Allowed {
		f.Allowed[i] = ReaderScope{Resource: r.string(), Namespace: r.string()}
	}
	f.ProgressMillis = r.uint32()
	f.MaxSubscriptions = r.uint32()
	f.Room = r.uvarint()
	f.Kept = r.bytes()
	f.Stalled = r.bool()
	return r.done("AttachReader")
}
