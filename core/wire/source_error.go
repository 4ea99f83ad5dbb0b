package wire

import "github.com/watchglass/watchglass/core/api"

// SourceError reports why a subscription makes no progress: the connector cannot reach
// its source. The connector sends it when the reason changes, and once per progress
// period while the problem lasts. The next data or progress clears the error. If Status
// is nil, the connector is still reading the initial state from its source. The
// subscription stays open. A reader that does not support SourceError can ignore the
// frame.
type SourceError struct {
	Subscription uint32
	Status       *api.Status // may be nil
}

// Append appends the frame to dst.
func (f *SourceError) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeSourceError)
	dst = appendUvarint(dst, uint64(f.Subscription))
	dst = appendStatus(dst, f.Status)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *SourceError) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Subscription = r.uint32()
	f.Status = r.status()
	return r.done("SourceError")
}
