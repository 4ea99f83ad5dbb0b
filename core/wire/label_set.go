package wire

import "github.com/watchglass/watchglass/core/api"

// LabelSet assigns an ID to a label set, for the following frames of one
// subscription. An ID may be redefined with a different set. It may also be
// repeated with the same set, by a connector that has forgotten the definition.
type LabelSet struct {
	Subscription uint32
	ID           uint32
	Labels       api.Labels
}

// Append writes the whole frame.
func (f *LabelSet) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeLabelSet)
	dst = appendUvarint(dst, uint64(f.Subscription))
	dst = appendUvarint(dst, uint64(f.ID))
	dst = appendLabels(dst, f.Labels)
	return end(dst, start)
}

// Parse reads the payload.
func (f *LabelSet) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Subscription = r.uint32()
	f.ID = r.uint32()
	f.Labels = r.labels(f.Labels)
	return r.done("LabelSet")
}
