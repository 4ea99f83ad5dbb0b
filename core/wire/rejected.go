package wire

import "github.com/watchglass/watchglass/core/api"

// Rejected reports why a collection, watch, view or handle was not opened, a reader was
// not attached, or persisted state was not restored. For persisted state, Rejected may
// arrive long after the restore, when a body cannot be loaded. The collection then
// remains open and relists from its connector.
type Rejected struct {
	Object Object
	ID     uint32
	Status *api.Status
}

// Append appends the frame to dst.
func (f *Rejected) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeRejected)
	dst = append(dst, byte(f.Object))
	dst = appendUvarint(dst, uint64(f.ID))
	dst = appendStatus(dst, f.Status)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *Rejected) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Object = Object(r.enum(byte(ObjectReader)))
	f.ID = r.uint32()
	f.Status = r.status()
	return r.done("Rejected")
}
