package wire

import "github.com/watchglass/watchglass/core/api"

// Change is one object in a [SnapshotPart] or one event of [Events].
//
// Of a deletion only the key travels: the reader holds the object. The
// envelope is then empty.
//
// Of a modification of what the reader holds only the difference may travel: a
// patch of the envelope, and a body of codec Delta without its base. Both name
// the version that they build on, so that a reader that does not hold it notices.
type Change struct {
	Type            api.EventType // Added in snapshots
	Flags           api.Flags
	LabelSet        uint32 // defined by an earlier LabelSet of the subscription
	ResourceVersion api.ResourceVersion
	Key             api.Key
	Envelope        Envelope // unless there is a patch
	// Patch makes the envelope out of that of version Previous of the object.
	Patch    Patch
	Previous api.ResourceVersion
	Base     Base
}

// Base is what a body of codec Delta is the difference from, and zero for other
// bodies: an earlier version of the object. Its body is of another codec than
// Delta and uses the same dictionary; it is left out (NoBody) where the reader
// holds it, as the version before or as that one's base.
type Base struct {
	ResourceVersion api.ResourceVersion
	Body            api.Body
}

// The marks beside the flags of an object say what follows.
const (
	markBase     = 0x80 // the version of the base
	markBaseBody = 0x40 // its body
	markPatch    = 0x20 // a version and a patch instead of the envelope
	flagBits     = markPatch - 1
)

// minContent is the length of the shortest object without its version.
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
			r.fail("body that can be no base")
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
		r.fail("difference without a base, or base without a difference")
	}
}

// before reads how far a version lies before another.
func (r *reader) before(rv api.ResourceVersion) api.ResourceVersion {
	behind := r.rv()
	if behind == 0 || behind >= rv {
		r.fail("an earlier version that is none")
		return 0
	}
	return rv - behind
}
