package wire

import "github.com/watchglass/watchglass/core/api"

// Subscribe requests one resource, optionally restricted to a namespace and to selectors.
// With ResourceVersion zero, the response starts with a snapshot. Otherwise it consists
// of the changes after that version, or of a 410 if those changes are no longer
// available. NotOlderThan prevents a reader from going back in time on a lagging
// connector, which does not respond before it has reached that version. If ClusterID
// differs from the connector's, the versions are not comparable and the response is a
// snapshot.
type Subscribe struct {
	Subscription    uint32 // chosen by the reader; not zero, and not in use on this connection
	Resource        string // such as "v1/pods"
	Namespace       string // "" means all
	LabelSelector   string
	FieldSelector   string
	ResourceVersion api.ResourceVersion
	NotOlderThan    api.ResourceVersion
	ClusterID       string // the cluster ID of both versions, from the last Schema; "" if both are zero
	// DeltaEpoch is the epoch of the last Schema, or zero if the reader has no bases. The
	// reader has the bases of that epoch for versions above DeltaEpochSince, and other
	// bases for versions up to DeltaEpochSince.
	DeltaEpoch      uint64
	DeltaEpochSince api.ResourceVersion
	MetadataOnly    bool // omit bodies
	// RowsFirst requests a snapshot without bodies. The bodies follow as [SnapshotBodies]
	// while the subscription is live. A connector that does not support this sends a
	// complete snapshot, regardless of the ResourceVersion.
	RowsFirst bool
	// BodiesFrom is the first key whose body the reader lacks, if RowsFirst is set and
	// the reader resumes.
	BodiesFrom api.Key
	// SnapshotFrom asks the connector to continue an interrupted snapshot at this key. The
	// reader has the objects before this key as of ResourceVersion. It is empty otherwise.
	SnapshotFrom api.Key
	Credit       uint64 // bytes of data frames that the reader accepts before it grants more
}

// Append appends the frame to dst.
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
	dst = appendBytes(dst, f.ClusterID)
	dst = appendUvarint(dst, f.DeltaEpoch)
	dst = appendUvarint(dst, uint64(f.DeltaEpochSince))
	dst = appendBool(dst, f.MetadataOnly)
	dst = appendBool(dst, f.RowsFirst)
	dst = appendBytes(dst, f.BodiesFrom)
	dst = appendBytes(dst, f.SnapshotFrom)
	return appendUvarint(dst, f.Credit)
}

// Parse sets the fields from a payload.
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
	f.ClusterID = r.string()
	f.DeltaEpoch = r.uvarint()
	f.DeltaEpochSince = r.rv()
	f.MetadataOnly = r.bool()
	f.RowsFirst = r.bool()
	f.BodiesFrom = api.Key(r.string())
	f.SnapshotFrom = api.Key(r.string())
	f.Credit = r.uvarint()
}
