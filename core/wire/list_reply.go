package wire

import "github.com/watchglass/watchglass/core/api"

// ListReply is the response to [List].
type ListReply struct {
	Request         uint32
	ResourceVersion api.ResourceVersion
	Continue        string // empty on the last page
	Remaining       uint64 // items after this page; zero if unknown (rule P17)
	Items           []Item
}

// Append appends the frame to dst.
func (f *ListReply) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeListReply)
	dst = appendUvarint(dst, uint64(f.Request))
	dst = appendUvarint(dst, uint64(f.ResourceVersion))
	dst = appendBytes(dst, f.Continue)
	dst = appendUvarint(dst, f.Remaining)
	dst = appendUvarint(dst, uint64(len(f.Items)))
	for i := range f.Items {
		dst = appendItem(dst, &f.Items[i])
	}
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *ListReply) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Request = r.uint32()
	f.ResourceVersion = r.rv()
	f.Continue = r.string()
	f.Remaining = r.uvarint()
	f.Items = grow(f.Items, r.count(minItem))
	for i := range f.Items {
		r.item(&f.Items[i])
	}
	return r.done("ListReply")
}
