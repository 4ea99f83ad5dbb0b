package wire

import "github.com/watchglass/watchglass/core/api"

// Subscribe asks for one resource, optionally narrowed. With ResourceVersion
// zero the answer begins with a snapshot; otherwise with the changes after it,
// or a 410 when those are gone. NotOlderThan keeps a reader from going back in
// time on a connector that lags: nothing is answered before the connector has
// reached it. Versions of another source than the connector's mean nothing to
// it: it answers with a snapshot.
type Subscribe struct {
	Subscription    uint32 // chosen by the reader, not used before on this connection
	Resource        string // "v1/pods"
	Namespace       string // empty for all
	LabelSelector   string
	FieldSelector   string
	ResourceVersion api.ResourceVersion
	NotOlderThan    api.ResourceVersion
	Source          string // of the two versions, as the last Schema named it; empty when there are none
	// Bases are those of the versions above BasesSince that the reader holds, as
	// the last Schema named them; zero when it holds none of such a name. The
	// bases of versions up to BasesSince are others.
	Bases        uint64
	BasesSince   api.ResourceVersion
	MetadataOnly bool   // leave bodies out
	Credit       uint64 // bytes of data frames the reader takes before it grants more
}

// Append writes the whole frame.
func (f *Subscribe) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeSubscribe)
	return end(f.appendPayload(dst), start)
}

func (f *Subscribe) appendPayload(dst []byte) []byte {
	dst = appendUvarint(dst, uint64(f.Subscription))
	dst = appendBytes(dst, f.Resource)
	dst = appendBytes(dst, f.Namespace)
	dst = appendBytes(dst, f.LabelSelector)
	dst = appendBytes(dst, f.FieldSelector)
	dst = appendUvarint(dst, uint64(f.ResourceVersion))
	dst = appendUvarint(dst, uint64(f.NotOlderThan))
	dst = appendBytes(dst, f.Source)
	dst = appendUvarint(dst, f.Bases)
	dst = appendUvarint(dst, uint64(f.BasesSince))
	dst = appendBool(dst, f.MetadataOnly)
	return appendUvarint(dst, f.Credit)
}

// Parse reads the payload.
func (f *Subscribe) Parse(payload []byte) error {
	r := reader{b: payload}
	f.read(&r)
	return r.done("Subscribe")
}

func (f *Subscribe) read(r *reader) {
	f.Subscription = r.uint32()
	f.Resource = r.string()
	f.Namespace = r.string()
	f.LabelSelector = r.string()
	f.FieldSelector = r.string()
	f.ResourceVersion = r.rv()
	f.NotOlderThan = r.rv()
	f.Source = r.string()
	f.Bases = r.uvarint()
	f.BasesSince = r.rv()
	f.MetadataOnly = r.bool()
	f.Credit = r.uvarint()
}
