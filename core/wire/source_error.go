package wire

import "github.com/watchglass/watchglass/core/api"

// SourceError says why a subscription hears nothing new: what the connector
// itself follows cannot be reached. It comes at once and again every period for
// as long as that lasts; the next news takes it back. Without a Status nothing is
// wrong as far as the connector knows: it still reads the first state. The
// subscription stays open. A reader that does not know the frame only misses the
// reason.
type SourceError struct {
	Subscription uint32
	Status       *api.Status // may be nil
}

// Append writes the whole frame.
func (f *SourceError) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeSourceError)
	dst = appendUvarint(dst, uint64(f.Subscription))
	dst = appendStatus(dst, f.Status)
	return end(dst, start)
}

// Parse reads the payload.
func (f *SourceError) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Subscription = r.uint32()
	f.Status = r.status()
	return r.done("SourceError")
}
