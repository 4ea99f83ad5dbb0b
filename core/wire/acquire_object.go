package wire

import "github.com/watchglass/watchglass/core/api"

// AcquireObject adds a reference to one object. The engine keeps the object up to date
// while a reference to it exists. Handle is a number that the program chooses for the
// reference. [ObjectState] and [ObjectChanged] report the object; [Rejected] reports that
// the engine refused the reference.
type AcquireObject struct {
	Handle   uint32
	Resource string
	Key      api.Key
	Owner    string // a name for the holder of the reference; may be empty, and may be used for several references
	// OnDemand suppresses [ObjectState] and [ObjectChanged]. The program reads the object
	// with [GetObject], and the engine may stop watching the object between reads.
	OnDemand bool
}

// Append appends the frame to dst.
func (f *AcquireObject) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeAcquireObject)
	dst = appendUvarint(dst, uint64(f.Handle))
	dst = appendBytes(dst, f.Resource)
	dst = appendBytes(dst, f.Key)
	dst = appendBytes(dst, f.Owner)
	dst = appendBool(dst, f.OnDemand)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *AcquireObject) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Handle = r.uint32()
	f.Resource = r.string()
	f.Key = api.Key(r.string())
	f.Owner = r.string()
	f.OnDemand = r.bool()
	return r.done("AcquireObject")
}
