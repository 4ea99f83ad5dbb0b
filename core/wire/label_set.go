package wire

import "github.com/watchglass/watchglass/core/api"

// LabelSet assigns an ID to a label set. Later frames of the subscription refer to the
// set by this ID. A later frame may redefine an ID. A connector that has discarded a
// definition sends the definition again before it uses the ID.
type LabelSet struct {
	Subscription uint32
	ID           uint32
	Labels       api.Labels
}

// Append appends the frame to dst.
func (f *LabelSet) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeLabelSet)
	dst = appendUvarint(dst, uint64(f.Subscription))
	dst = appendUvarint(dst, uint64(f.ID))
	dst = appendLabels(dst, f.Labels)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *LabelSet) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Subscription = r.uint32()
	f.ID = r.uint32()
	f.Labels = r.labels(f.Labels)
	return r.done("LabelSet")
}
