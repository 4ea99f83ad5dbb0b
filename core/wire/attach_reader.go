package wire

// AttachReader adds a reader. The engine serves its own collections to this reader, as a
// connector would. Messages from the reader arrive as [ReaderMessage];
// messages to the reader leave as [SendReader]. The program owns the connection to the
// reader.
type AttachReader struct {
	Reader uint32
	// Allowed lists everything the reader may read. The engine rejects other
	// subscriptions with 403.
	Allowed          []ReaderScope
	ProgressMillis   uint32 // longest time between progress reports; zero means 10 s; never below the engine's own period
	MaxSubscriptions uint32 // maximum number of open subscriptions; zero means 256
	Room             uint64 // bytes that the engine may send before the first [GrantReader]
	Saved            []byte // the state that another engine saved, see [SaveReader]; empty for a new reader
	Stalled          bool   // the last value that [ReaderStalled] reported
}

// ReaderScope selects a resource, in one namespace or in all namespaces.
type ReaderScope struct {
	Resource  string // such as "v1/pods"; "*" means all
	Namespace string // "" means all
}

// Append appends the frame to dst.
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
	dst = appendBytes(dst, f.Saved)
	dst = appendBool(dst, f.Stalled)
	return end(dst, start)
}

// Parse sets the fields from a payload.
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
	f.Saved = r.bytes()
	f.Stalled = r.bool()
	return r.done("AttachReader")
}
