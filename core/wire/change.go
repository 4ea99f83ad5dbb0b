package wire

import "github.com/watchglass/watchglass/core/api"

// Change is one object in a [SnapshotPart] or one event of [Events].
//
// A deletion carries only the key; the reader already has the deleted object. The
// envelope of a deletion is empty.
//
// A modification may be sent as a difference: a patch of the envelope, and a body of
// codec Delta without its base. The patch and the delta each name the version that they
// apply to, so a reader can detect that this version is missing.
type Change struct {
	Type            api.EventType // always Added in a snapshot
	Flags           api.Flags
	LabelSet        uint32 // an ID that an earlier LabelSet frame of the subscription defines
	ResourceVersion api.ResourceVersion
	Key             api.Key
	Envelope        Envelope // empty if there is a patch
	// Patch produces the envelope from the envelope of version Previous.
	Patch    Patch
	Previous api.ResourceVersion
	Base     Base
}

// Base identifies the earlier version that a body of codec Delta refers to. Base is zero
// for other bodies. The body of the base is not a Delta and uses the same dictionary. The
// frame omits that body (NoBody) if the base is the previous version, or the base of the
// previous version, because the reader already has the body.
type Base struct {
	ResourceVersion api.ResourceVersion
	Body            api.Body
}

// These bits share a byte with the object's flags. A set bit indicates that the data that
// its comment describes follows.
const (
	markBase     = 0x80 // the version of the base
	markBaseBody = 0x40 // the body of the base
	markPatch    = 0x20 // a version and a patch instead of the envelope
	flagBits     = markPatch - 1
)

// minContent is the length in bytes of the shortest encoded object, without its version.
const minContent = 2 + minEnvelope

func appendContent(dst []byte, c *Change) []byte {
	marks := byte(c.Flags) & flagBits
	if c.Base.ResourceVersion != 0 {
		marks |= markBase
	}
	if c.Base.Body.Codec != api.NoBody {
		marks |= markBaseBody
	}
	if c.Patch != nil {
		marks |= markPatch
	}
	dst = append(dst, marks)
	dst = appendUvarint(dst, uint64(c.LabelSet))
	if marks&markBase != 0 {
		dst = appendUvarint(dst, uint64(c.ResourceVersion-c.Base.ResourceVersion))
	}
	if marks&markBaseBody != 0 {
		dst = append(dst, byte(c.Base.Body.Codec))
		dst = appendBytes(dst, c.Base.Body.Data)
	}
	if marks&markPatch != 0 {
		dst = appendUvarint(dst, uint64(c.ResourceVersion-c.Previous))
		return appendBytes(dst, c.Patch)
	}
	return appendBytes(dst, c.Envelope)
}

func (r *reader) content(c *Change) {
	marks := r.byte()
	c.Flags = api.Flags(marks & flagBits)
	c.LabelSet = r.uint32()
	if marks&markBase != 0 {
		c.Base.ResourceVersion = r.before(c.ResourceVersion)
	}
	if marks&markBaseBody != 0 {
		c.Base.Body = api.Body{Codec: api.Codec(r.byte()), Data: r.bytes()}
		if codec := c.Base.Body.Codec; codec == api.NoBody || codec >= api.Delta || marks&markBase == 0 {
			r.fail("body that cannot be a base")
		}
	}
	var codec api.Codec
	if marks&markPatch != 0 {
		c.Previous = r.before(c.ResourceVersion)
		c.Patch, codec = r.patch()
		c.Key = c.Patch.Key()
	} else {
		c.Envelope, codec = r.envelope()
		c.Key = c.Envelope.Key()
	}
	if r.err == nil && (codec == api.Delta) != (marks&markBase != 0) {
		r.fail("delta without a base, or base without a delta")
	}
}

// before reads a version that is lower than rv and encoded as the difference from rv.
func (r *reader) before(rv api.ResourceVersion) api.ResourceVersion {
	behind := r.rv()
	if behind == 0 || behind >= rv {
		r.fail("invalid previous version")
		return 0
	}
	return rv - behind
}
