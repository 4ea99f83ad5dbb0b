package wire

import "github.com/watchglass/watchglass/core/api"

// AcquireObject takes a reference to one object, which is kept up to date as long
// as it is referenced. The program chooses the handle, a number for this
// reference. [ObjectState] and [ObjectChanged] report the object; [Rejected]
// reports an error.
type AcquireObject struct {
	Handle   uint32
	Resource string
	Key      api.Key
	Owner    string // the owner of the reference; may be empty, and may have several references
	// OnDemand disables deliveries. The object is read with [GetObject], and its
	// watch may stop while it is not read.
	OnDemand bool
}

// Append writes the whole frame.
func (f *AcquireObject) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeAcquireObject)
	dst = appendUvarint(dst, uint64(f.Handle))
	dst = appendBytes(dst, f.Resource)
	dst = appendBytes(dst, f.Key)
	dst = appendBytes(dst, f.Owner)
	dst = appendBool(dst, f.OnDemand)
	return end(dst, start)
}

// Parse reads the payload.
func (f *AcquireObject) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Handle = r.uint32()
	f.Resource = r.string()
	f.Key = api.Key(r.string())
	f.Owner = r.string()
	f.OnDemand = r.bool()
	return r.done("AcquireObject")
}
