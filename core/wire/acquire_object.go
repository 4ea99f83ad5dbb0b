package wire

import "github.com/watchglass/watchglass/core/api"

// AcquireObject takes a reference to one object, which is kept present for as
// long as there is one. The handle is a number that the program chooses, for
// this reference alone. Answered by [ObjectState] and [ObjectChanged] as things
// become known, or by [Rejected].
type AcquireObject struct {
	Handle   uint32
	Resource string
	Key      api.Key
	Owner    string // who refers to it; may be empty, and may do so several times
	// OnDemand asks for no deliveries: the object is read with [GetObject], and
	// its watch may stop while nobody does.
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
