package wire

// InspectReply contains named numbers in a fixed order. Names are dotted and
// stable, such as "collection.1.objects". Values are counts, bytes or
// milliseconds, as the name indicates.
type InspectReply struct {
	Request uint32
	Entries []InspectEntry
}

// InspectEntry is one named number.
type InspectEntry struct {
	Name  string
	Value int64
}

// Append appends the frame to dst.
func (f *InspectReply) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeInspectReply)
	dst = appendUvarint(dst, uint64(f.Request))
	dst = appendUvarint(dst, uint64(len(f.Entries)))
	for _, e := range f.Entries {
		dst = appendVarint(appendBytes(dst, e.Name), e.Value)
	}
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *InspectReply) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Request = r.uint32()
	f.Entries = grow(f.Entries, r.count(2))
	for i := range f.Entries {
		f.Entries[i] = InspectEntry{Name: r.string(), Value: r.varint()}
	}
	return r.done("InspectReply")
}
