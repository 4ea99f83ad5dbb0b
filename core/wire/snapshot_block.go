package wire

import "github.com/watchglass/watchglass/core/api"

// maxBlock is the maximum size of a section of a [SnapshotBlock] before
// compression.
const maxBlock = 1 << 20

// maxBlockObjects is the maximum number of objects of a block, and of its label sets.
// Their decoded form takes more memory than their sections. A connector sends 192 at
// most.
const maxBlockObjects = 1 << 10

// SnapshotBlock contains neighboring objects of a snapshot, like [SnapshotPart],
// compressed together. All of them belong to one namespace, or to the cluster
// scope.
//
// Data is one deflate stream of two sections: the envelopes, and the bodies. The
// bodies are omitted for metadata only; Bodies is then zero.
type SnapshotBlock struct {
	Subscription uint32
	Objects      uint32 // number of objects
	Envelopes    uint32 // bytes of the first section before compression
	Bodies       uint32 // bytes of the second section before compression
	Data         []byte
}

// Append writes the whole frame.
func (f *SnapshotBlock) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeSnapshotBlock)
	dst = appendUvarint(dst, uint64(f.Subscription))
	dst = appendUvarint(dst, uint64(f.Objects))
	dst = appendUvarint(dst, uint64(f.Envelopes))
	dst = appendUvarint(dst, uint64(f.Bodies))
	dst = appendBytes(dst, f.Data)
	return end(dst, start)
}

// Parse reads the payload. [SnapshotBlock.Expand] reads the sections.
func (f *SnapshotBlock) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Subscription = r.uint32()
	f.Objects = r.uint32()
	f.Envelopes = r.uint32()
	f.Bodies = r.uint32()
	f.Data = r.bytes()
	if f.Envelopes > maxBlock || f.Bodies > maxBlock {
		r.fail("section of a block beyond 1 MiB")
	}
	if f.Objects > maxBlockObjects {
		r.fail("more than 1024 objects in a block")
	}
	return r.done("SnapshotBlock")
}

// Block contains the objects of a [SnapshotBlock]. The LabelSet of an object is an
// index in LabelSets.
type Block struct {
	LabelSets []api.Labels
	Objects   []Change

	sections  []byte
	envelopes []byte // with bodies
	bodies    []RowBody
	inflater  inflater
}

// minBlockObject is the length of the shortest object in the first section.
const minBlockObject = 3 + minEnvelope

// AppendSections appends the sections of a block to two buffers. Deltas must
// include the bodies of their bases.
func (b *Block) AppendSections(envelopes, bodies []byte) (first, second []byte) {
	return b.AppendEnvelopes(envelopes), b.AppendBodies(bodies)
}

// AppendEnvelopes appends the section of the envelopes.
func (b *Block) AppendEnvelopes(envelopes []byte) []byte {
	envelopes = appendUvarint(envelopes, uint64(len(b.LabelSets)))
	for _, labels := range b.LabelSets {
		envelopes = appendLabels(envelopes, labels)
	}
	var rv api.ResourceVersion
	for i := range b.Objects {
		c := &b.Objects[i]
		envelopes = appendVarint(envelopes, int64(c.ResourceVersion-rv))
		rv = c.ResourceVersion
		envelopes = append(envelopes, byte(c.Flags))
		envelopes = appendUvarint(envelopes, uint64(c.LabelSet))
		_, codec := c.Envelope.layout()
		envelopes = appendUvarint(envelopes, uint64(codec+1))
		envelopes = append(append(envelopes, c.Envelope[:codec]...), byte(api.NoBody))
	}
	return envelopes
}

func appendBlockBody(dst []byte, c *Change) []byte {
	body := c.Envelope.Body()
	dst = append(dst, byte(body.Codec))
	if body.Codec == api.Delta {
		dst = appendUvarint(dst, uint64(c.ResourceVersion-c.Base.ResourceVersion))
		dst = append(dst, byte(c.Base.Body.Codec))
		dst = appendBytes(dst, c.Base.Body.Data)
	}
	return appendBytes(dst, body.Data)
}

// Expand decompresses the objects into b, and reuses its memory. They are valid
// until the next call. The error describes the defect of the block.
func (f *SnapshotBlock) Expand(b *Block) *api.Status {
	n := int(f.Envelopes) + int(f.Bodies)
	b.sections = grow(b.sections, n)
	if !b.inflater.inflate(b.sections, f.Data) {
		return api.Internal("a block of the snapshot is corrupt: it does not decompress")
	}
	envelopes, bodies := reader{b: b.sections[:f.Envelopes]}, reader{b: b.sections[f.Envelopes:n]}
	b.parse(&envelopes, &bodies, int(f.Objects))
	for _, err := range [...]error{envelopes.done("envelopes"), bodies.done("bodies")} {
		if err != nil {
			return api.Internal("a block of the snapshot is corrupt: " + api.AsStatus(err).Message)
		}
	}
	return nil
}

func (b *Block) parse(envelopes, bodies *reader, objects int) {
	sets := envelopes.count(1)
	if sets > objects {
		envelopes.fail("more label sets than objects")
		return
	}
	b.LabelSets = grow(b.LabelSets, sets)
	for i := range b.LabelSets {
		b.LabelSets[i] = envelopes.labels(b.LabelSets[i])
	}
	if objects > envelopes.left()/minBlockObject {
		envelopes.fail("count of objects beyond the end of the section")
		objects = 0
	}
	b.Objects = grow(b.Objects, objects)
	// The buffer does not grow below, because each object takes more bytes in the
	// sections.
	b.envelopes = grow(b.envelopes, len(envelopes.b)+len(bodies.b))[:0]
	var rv api.ResourceVersion
	for i := range b.Objects {
		c := &b.Objects[i]
		rv += api.ResourceVersion(envelopes.varint())
		*c = Change{Type: api.Added, ResourceVersion: rv, Flags: api.Flags(envelopes.byte()), LabelSet: envelopes.uint32()}
		envelope, codec := envelopes.envelope()
		if envelopes.err == nil && (codec != api.NoBody || int(c.LabelSet) >= len(b.LabelSets)) {
			envelopes.fail("object with a body or an undefined label set")
		}
		body := api.Body{}
		if len(bodies.b) > 0 {
			body = bodies.blockBody(c)
		}
		if envelopes.err != nil || bodies.err != nil {
			return
		}
		at := len(b.envelopes)
		b.envelopes = envelope.AppendWithBody(b.envelopes, body)
		c.Envelope = b.envelopes[at:len(b.envelopes):len(b.envelopes)]
		c.Key = c.Envelope.Key()
	}
}

// blockBody reads the body of an object, and sets the base of a delta.
func (r *reader) blockBody(c *Change) api.Body {
	body := api.Body{Codec: api.Codec(r.byte())}
	if body.Codec > api.Delta {
		r.fail("unknown codec")
	}
	if body.Codec == api.Delta {
		c.Base.ResourceVersion = r.before(c.ResourceVersion)
		c.Base.Body = api.Body{Codec: api.Codec(r.byte()), Data: r.bytes()}
		if codec := c.Base.Body.Codec; codec == api.NoBody || codec >= api.Delta {
			r.fail("body that cannot be a base")
		}
	}
	body.Data = r.bytes()
	return body
}
