package wire

import "github.com/watchglass/watchglass/core/api"

// maxBlock is the maximum size of each section of a [SnapshotBlock] before compression,
// in bytes.
const maxBlock = 1 << 20

// maxBlockObjects is the maximum number of objects in a block, and also of label sets in
// a block. The size of the sections alone does not limit memory, because decoded objects
// are larger. A connector sends at most 192 objects per block.
const maxBlockObjects = 1 << 10

// SnapshotBlock contains neighboring objects of a snapshot, like [SnapshotPart],
// compressed together. All objects of a block belong to one namespace, or to the cluster
// scope.
//
// Data begins with the members, which describe the bodies. One deflate stream of two
// sections follows: the envelopes, and the bodies. A reader stores an object without
// decompressing its body. A block with metadata only omits the members and the bodies:
// its fields Members and Bodies are zero.
type SnapshotBlock struct {
	Subscription uint32
	Objects      uint32 // number of objects
	Envelopes    uint32 // bytes of the first section before compression
	Members      uint32 // bytes of the members
	Bodies       uint32 // bytes of the second section before compression
	Data         []byte
}

// Append appends the frame to dst.
func (f *SnapshotBlock) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeSnapshotBlock)
	dst = appendUvarint(dst, uint64(f.Subscription))
	dst = appendUvarint(dst, uint64(f.Objects))
	dst = appendUvarint(dst, uint64(f.Envelopes))
	dst = appendUvarint(dst, uint64(f.Members))
	dst = appendUvarint(dst, uint64(f.Bodies))
	dst = appendBytes(dst, f.Data)
	return end(dst, start)
}

// Parse sets the fields from a payload. [SnapshotBlock.Expand] reads the sections.
func (f *SnapshotBlock) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Subscription = r.uint32()
	f.Objects = r.uint32()
	f.Envelopes = r.uint32()
	f.Members = r.uint32()
	f.Bodies = r.uint32()
	f.Data = r.bytes()
	checkBlock(&r, f.Objects, f.Envelopes, f.Bodies)
	return r.done("SnapshotBlock")
}

// checkBlock sets the error of r if a block exceeds the size limits. It does not check
// that the data contains all members; Expand detects a block that is too short.
func checkBlock(r *reader, objects, envelopes, bodies uint32) {
	if envelopes > maxBlock || bodies > maxBlock {
		r.fail("section of a block beyond 1 MiB")
	}
	if objects > maxBlockObjects {
		r.fail("more than 1024 objects in a block")
	}
}

// splitBlock splits the data of a block into the members and the stream.
func splitBlock(data []byte, members uint32) (list, stream []byte) {
	n := min(int(members), len(data))
	return data[:n], data[n:]
}

// Block contains the objects of a [SnapshotBlock] or a [StoredBlock]. The LabelSet of an
// object is an index into LabelSets.
//
// Members describes the bodies of the objects. It is empty if the objects have no bodies.
// If the bodies were not decompressed, each body has a codec but no data.
type Block struct {
	LabelSets []api.Labels
	Objects   []Change
	Members   []Member

	sections  []byte
	envelopes []byte // the envelopes of Objects after addBodies, with bodies
	bodies    []RowBody
	inflater  inflater
}

// minBlockObject is the length of the shortest object in the first section.
const minBlockObject = 3 + minEnvelope

// Encode sets the fields of a frame except Subscription, and appends the two sections to
// the given buffers. Encode sets Data to the members only; the caller appends the
// compressed sections. Deltas must include the bodies of their bases.
func (b *Block) Encode(f *SnapshotBlock, envelopes, bodies []byte) (first, second []byte) {
	f.Data = b.AppendMembers(nil)
	first, second = b.AppendEnvelopes(envelopes), b.AppendBodies(bodies)
	f.Objects, f.Members = uint32(len(b.Objects)), uint32(len(f.Data))
	f.Envelopes, f.Bodies = uint32(len(first)-len(envelopes)), uint32(len(second)-len(bodies))
	return first, second
}

// AppendEnvelopes appends the envelopes section: the label sets, then the objects.
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

// Expand decompresses the objects into b and reuses the memory of b. The objects are
// valid until the next call. If bodies is false, it decompresses only the envelopes. The
// error describes what is wrong with the block.
func (f *SnapshotBlock) Expand(b *Block, bodies bool) *api.Status {
	n := f.Envelopes
	if bodies {
		n += f.Bodies
	}
	members, stream := splitBlock(f.Data, f.Members)
	if !b.inflate(n, stream) {
		return api.Internal("a block of the snapshot is corrupt: it does not decompress")
	}
	err := b.parse(b.sections[:f.Envelopes], int(f.Objects))
	if err == nil && f.Members+f.Bodies > 0 {
		b.Members = grow(b.Members, len(b.Objects))
		err = readMembers(b.Members, members, f.Bodies)
	}
	if err == nil {
		err = b.addBodies(b.sections[f.Envelopes:])
	}
	if err != nil {
		return api.Internal("a block of the snapshot is corrupt: " + api.AsStatus(err).Message)
	}
	return nil
}

// inflate decompresses a stream into b.sections until it has n bytes, and reports whether
// it succeeded.
func (b *Block) inflate(n uint32, stream []byte) bool {
	b.sections = grow(b.sections, int(n))
	return b.inflater.inflate(b.sections, stream)
}

// parse reads the first section, which contains the label sets and the given number of
// objects.
func (b *Block) parse(section []byte, objects int) error {
	r := reader{b: section}
	b.Objects, b.Members = b.Objects[:0], b.Members[:0]
	sets := r.count(1)
	if sets > objects {
		r.fail("more label sets than objects")
		sets = 0
	}
	b.LabelSets = grow(b.LabelSets, sets)
	for i := range b.LabelSets {
		b.LabelSets[i] = r.labels(b.LabelSets[i])
	}
	if objects > r.left()/minBlockObject {
		r.fail("count of objects beyond the end of the section")
		objects = 0
	}
	b.Objects = grow(b.Objects, objects)
	var rv api.ResourceVersion
	for i := range b.Objects {
		rv += api.ResourceVersion(r.varint())
		c := &b.Objects[i]
		*c = Change{Type: api.Added, ResourceVersion: rv, Flags: api.Flags(r.byte()), LabelSet: r.uint32()}
		envelope, codec := r.envelope()
		if r.err == nil && (codec != api.NoBody || int(c.LabelSet) >= len(b.LabelSets)) {
			r.fail("object with a body or an undefined label set")
		}
		c.Envelope, c.Key = envelope, envelope.Key()
	}
	return r.done("envelopes")
}

// addBodies adds the bodies that the members describe to the objects, whose envelopes are
// in b.sections. If bodies is empty, as usual for an initial list, the objects get the
// codecs and the versions of bases, but no data. In this case, addBodies copies no
// envelope: the codec replaces the last byte of each one.
func (b *Block) addBodies(bodies []byte) error {
	inPlace := len(bodies) == 0
	if !inPlace {
		b.envelopes = grow(b.envelopes, len(b.sections))[:0] // enough for each envelope with its body
	}
	for i := range b.Members {
		c := &b.Objects[i]
		body, rest, err := b.Members[i].rowBody(c.ResourceVersion, bodies)
		if err != nil {
			return err
		}
		bodies, c.Base = rest, body.Base
		if inPlace {
			c.Envelope[len(c.Envelope)-1] = byte(body.Body.Codec)
			continue
		}
		at := len(b.envelopes)
		b.envelopes = c.Envelope.AppendWithBody(b.envelopes, body.Body)
		c.Envelope = b.envelopes[at:len(b.envelopes):len(b.envelopes)]
		c.Key = c.Envelope.Key()
	}
	return nil
}
