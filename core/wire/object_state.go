package wire

import "github.com/watchglass/watchglass/core/api"

// ObjectState reports how current an acquired object is. The engine sends it whenever the
// state changes. The state applies to the data of the last [ObjectChanged].
type ObjectState struct {
	Handle uint32
	State  api.State
	Status *api.Status // the reason for the state, if there is one
}

// Append appends the frame to dst.
func (f *ObjectState) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeObjectState)
	dst = appendUvarint(dst, uint64(f.Handle))
	dst = append(dst, byte(f.State))
	dst = appendStatus(dst, f.Status)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *ObjectState) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Handle = r.uint32()
	f.State = api.State(r.enum(byte(api.StateClosed)))
	f.Status = r.status()
	return r.done("ObjectState")
}
