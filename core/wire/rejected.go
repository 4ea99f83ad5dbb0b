package wire

import "github.com/watchglass/watchglass/core/api"

// Rejected says that a collection, watch, view or handle was not opened, a reader
// not attached, or a kept state not restored, and why. That of a kept state can come
// long after it was handed in, of a body that cannot be loaded: the collection is
// there, and is taken from its connector anew.
type Rejected struct {
	Object Object
	ID     uint32
	Status *api.Status
}

// Append writes the whole frame.
func (f *Rejected) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeRejected)
	dst = append(dst, byte(f.Object))
	dst = appendUvarint(dst, uint64(f.ID))
	dst = appendStatus(dst, f.Status)
	return end(dst, start)
}

// Parse reads the payload.
func (f *Rejected) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Object = Object(r.enum(byte(ObjectReader)))
	f.ID = r.uint32()
	f.Status = r.status()
	return r.done("Rejected")
}
