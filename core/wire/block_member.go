package wire

import (
	"math"

	"github.com/watchglass/watchglass/core/api"
)

// Member describes the body of one object in a block. If the body is a delta, the base
// directly precedes the delta in the bodies section.
type Member struct {
	Codec     api.Codec
	BaseCodec api.Codec           // codec of the base if the body is a delta
	Behind    api.ResourceVersion // version of the object minus that of the base
	Size      uint32              // bytes of the body
	BaseSize  uint32              // bytes of the body of the base
}

// RowBody is the body of one version of an object. If Body is a delta, Base is its base.
type RowBody struct {
	Body api.Body
	Base Base
}

// AppendMembers appends one member to dst for each object of the block.
func (b *Block) AppendMembers(dst []byte) []byte {
	for i := range b.Objects {
		c := &b.Objects[i]
		body := c.Envelope.Body()
		dst = appendSized(dst, body)
		if body.Codec == api.Delta {
			dst = appendUvarint(dst, uint64(c.ResourceVersion-c.Base.ResourceVersion))
			dst = appendSized(dst, c.Base.Body)
		}
	}
	return dst
}

// codecBits is the number of low bits that hold the codec in a number that combines a
// codec and a size.
const codecBits = 2

// appendSized appends the codec and the size of a body as one number.
func appendSized(dst []byte, body api.Body) []byte {
	return appendUvarint(dst, uint64(len(body.Data))<<codecBits|uint64(body.Codec))
}

// sized reads a codec and a size. The message size is the only limit, because a body that
// is too large for a block is sent alone, without compression.
func (r *reader) sized() (api.Codec, uint32) {
	v := r.uvarint()
	if v>>codecBits > math.MaxUint32 {
		r.fail("body of more than 4 GiB")
	}
	return api.Codec(v & (1<<codecBits - 1)), uint32(v >> codecBits)
}

// AppendBodies appends the bodies section to dst: the body of each object, after the base
// if the body is a delta.
func (b *Block) AppendBodies(dst []byte) []byte {
	for i := range b.Objects {
		c := &b.Objects[i]
		body := c.Envelope.Body()
		if body.Codec == api.Delta {
			dst = append(dst, c.Base.Body.Data...)
		}
		dst = append(dst, body.Data...)
	}
	return dst
}

// readMembers parses len(list) members into list. It returns an error unless the sizes of
// their bodies and bases add up to the parameter bodies, in bytes.
func readMembers(list []Member, members []byte, bodies uint32) error {
	r, total := reader{b: members}, uint64(0)
	for i := range list {
		m := Member{}
		if m.Codec, m.Size = r.sized(); m.Codec == api.Delta {
			m.Behind = r.rv()
			m.BaseCodec, m.BaseSize = r.sized()
			if m.BaseCodec == api.NoBody || m.BaseCodec == api.Delta {
				r.fail("body that cannot be a base")
			}
		}
		if m.Codec == api.NoBody && m.Size > 0 {
			r.fail("body without a codec")
		}
		total += uint64(m.Size) + uint64(m.BaseSize)
		list[i] = m
	}
	if total != uint64(bodies) {
		r.fail("bodies of another size")
	}
	return r.done("members")
}

// rowBody takes the body of version rv, and the base of a delta, from the front of
// bodies. It returns both and the rest of bodies. If bodies is empty, the result has
// codecs and versions but no data. [readMembers] has checked the sizes.
func (m *Member) rowBody(rv api.ResourceVersion, bodies []byte) (body RowBody, rest []byte, err error) {
	body.Body.Codec = m.Codec
	if m.Codec == api.Delta {
		if m.Behind == 0 || m.Behind >= rv {
			return body, nil, api.Protocol("a base that is not older than its delta")
		}
		body.Base = Base{ResourceVersion: rv - m.Behind, Body: api.Body{Codec: m.BaseCodec}}
	}
	if len(bodies) > 0 {
		body.Base.Body.Data, bodies = bodies[:m.BaseSize], bodies[m.BaseSize:]
		body.Body.Data, bodies = bodies[:m.Size], bodies[m.Size:]
	}
	return body, bodies, nil
}
