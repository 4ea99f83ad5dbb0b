package wire

import "github.com/watchglass/watchglass/core/api"

// ObjectChanged reports the newest version of an acquired object, with its body, or that
// the object does not exist. The engine may skip intermediate versions.
type ObjectChanged struct {
	Handle          uint32
	ResourceVersion api.ResourceVersion // all changes up to this version are included
	Item            *Item               // nil if the object does not exist
}

// Append appends the frame to dst.
func (f *ObjectChanged) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeObjectChanged)
	dst = appendUvarint(dst, uint64(f.Handle))
	dst = appendUvarint(dst, uint64(f.ResourceVersion))
	dst = appendBool(dst, f.Item != nil)
	if f.Item != nil {
		dst = appendItem(dst, f.Item)
	}
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *ObjectChanged) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Handle = r.uint32()
	f.ResourceVersion = r.rv()
	if !r.bool() {
		f.Item = nil
		return r.done("ObjectChanged")
	}
	if f.Item == nil {
		f.Item = &Item{}
	}
	r.item(f.Item)
	return r.done("ObjectChanged")
}
