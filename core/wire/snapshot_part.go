package wire

import "github.com/watchglass/watchglass/core/api"

// Change is one object in a [SnapshotPart] or one event of [Events].
//
// Of a deletion only the key travels: the reader holds the object. The
// envelope is then empty.
type Change struct {
	Type            api.EventType // Added in snapshots
	ResourceVersion api.ResourceVersion
	Flags           api.Flags
	LabelSet        uint32 // defined by an earlier LabelSet of the subscription
	Key             api.Key
	Envelope        Envelope
}

// SnapshotPart is some of the objects of a snapshot, in ascending key order
// over all parts.
type SnapshotPart struct {
	Subscription uint32
	Objects      []Change
}

// Append writes the whole frame.
func (f *SnapshotPart) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeSnapshotPart)
	dst = appendUvarint(dst, uint64(f.Subscription))
	dst = appendUvarint(dst, uint64(len(f.Objects)))
	for i := range f.Objects {
		dst = appendUvarint(dst, uint64(f.Objects[i].ResourceVersion))
		dst = appendContent(dst, &f.Objects[i])
	}
	return end(dst, start)
}

// Parse reads the payload.
func (f *SnapshotPart) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Subscription = r.uint32()
	f.Objects = grow(f.Objects, r.count(3+minEnvelope))
	for i := range f.Objects {
		c := &f.Objects[i]
		*c = Change{Type: api.Added, ResourceVersion: r.rv()}
		r.content(c)
	}
	return r.done("SnapshotPart")
}

func appendContent(dst []byte, c *Change) []byte {
	dst = append(dst, byte(c.Flags))
	dst = appendUvarint(dst, uint64(c.LabelSet))
	return appendBytes(dst, c.Envelope)
}

func (r *reader) content(c *Change) {
	c.Flags = api.Flags(r.byte())
	c.LabelSet = r.uint32()
	c.Envelope = r.envelope()
	if r.err == nil {
		c.Key = c.Envelope.Key()
	}
}
