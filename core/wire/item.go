package wire

import "github.com/watchglass/watchglass/core/api"

// Item is one object as the program receives it, with its labels. The body is plain JSON
// or absent.
type Item struct {
	ResourceVersion api.ResourceVersion
	Flags           api.Flags
	Labels          api.Labels
	Envelope        Envelope
}

// minItem is the length of the shortest item on the wire.
const minItem = 3 + minEnvelope

func appendItem(dst []byte, it *Item) []byte {
	dst = appendUvarint(dst, uint64(it.ResourceVersion))
	dst = append(dst, byte(it.Flags))
	dst = appendLabels(dst, it.Labels)
	return appendBytes(dst, it.Envelope)
}

func (r *reader) item(it *Item) {
	it.ResourceVersion = r.rv()
	it.Flags = api.Flags(r.byte())
	it.Labels = r.labels(it.Labels)
	it.Envelope, _ = r.envelope()
}

// usualLabels is the maximum number of labels for which memory is allocated in advance.
// Objects rarely have more.
const usualLabels = 64

func appendLabels(dst []byte, labels api.Labels) []byte {
	dst = appendUvarint(dst, uint64(len(labels)))
	for _, l := range labels {
		dst = appendBytes(dst, l.Key)
		dst = appendBytes(dst, l.Value)
	}
	return dst
}

// labels reads labels and checks that they are sorted and unique, as api.Labels
// requires.
func (r *reader) labels(into api.Labels) api.Labels {
	n := r.count(2)
	into = grow(into, min(n, usualLabels)) // n may be forged, so it must not determine the size of the allocation
	for i := 0; i < n && r.err == nil; i++ {
		if i == len(into) {
			into = append(into, api.Label{})
		}
		into[i] = api.Label{Key: r.string(), Value: r.string()}
		if i > 0 && r.err == nil && into[i-1].Key >= into[i].Key {
			r.fail("labels not in order")
		}
	}
	if r.err != nil {
		return nil
	}
	return into
}

func appendStatus(dst []byte, s *api.Status) []byte {
	if s == nil {
		s = &api.Status{}
	}
	dst = appendUvarint(dst, uint64(s.Code))
	dst = appendBytes(dst, string(s.Reason))
	dst = appendBytes(dst, s.Message)
	dst = appendBytes(dst, s.Cause)
	dst = appendUvarint(dst, uint64(s.RetryAfterSeconds))
	return appendBytes(dst, s.Continue)
}

// status reads a status. It returns nil for code zero. It copies the strings, because a
// status outlives its frame.
func (r *reader) status() *api.Status {
	s := &api.Status{
		Code:              r.int(),
		Reason:            api.Reason(string(r.bytes())),
		Message:           string(r.bytes()),
		Cause:             string(r.bytes()),
		RetryAfterSeconds: r.int(),
		Continue:          string(r.bytes()),
	}
	if r.err != nil || s.Code == 0 {
		return nil
	}
	return s
}
