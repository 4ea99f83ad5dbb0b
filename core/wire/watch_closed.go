package wire

import "github.com/watchglass/watchglass/core/api"

// WatchClosed reports the end of a watch. The engine sends it after all events of the
// watch.
type WatchClosed struct {
	Watch  uint32
	End    api.WatchEnd
	Status *api.Status // nil for WatchEndTimeout
}

// Append appends the frame to dst.
func (f *WatchClosed) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeWatchClosed)
	dst = appendUvarint(dst, uint64(f.Watch))
	dst = append(dst, byte(f.End))
	dst = appendStatus(dst, f.Status)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *WatchClosed) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Watch = r.uint32()
	f.End = api.WatchEnd(r.enum(byte(api.WatchEndCorrupt)))
	f.Status = r.status()
	return r.done("WatchClosed")
}
