package wire

// MaxViewRows is the largest window a view can have.
const MaxViewRows = 10_000

// Object is the type of object that a [Rejected] frame refers to.
type Object uint8

// The types of objects that can be rejected.
const (
	ObjectCollection Object = iota
	ObjectWatch
	ObjectView
	ObjectHandle  // an acquired object
	ObjectRestore // the persisted state of a collection; the collection continues without it
	ObjectReader  // a reader to be attached
)

// enum reads a byte and rejects values above last.
func (r *reader) enum(last byte) byte {
	v := r.byte()
	if v > last {
		r.fail("unknown option value")
		return 0
	}
	return v
}
