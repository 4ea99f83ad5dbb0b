package wire

// SavedSubscription is the state of one subscription of a reader. It is persisted, and
// never sent over the network.
type SavedSubscription struct {
	Subscribe            // what the reader would send to resume now, with the remaining credit
	Live           bool  // the reader has the schema, and the state or its part before SnapshotFrom
	ReportedMillis int64 // time of the last progress report; zero if there was none
	// Debt is the number of bytes sent in excess of the credit.
	Debt uint64
}

// Append appends the frame to dst.
func (f *SavedSubscription) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeSavedSubscription)
	dst = f.appendPayload(dst)
	dst = appendBool(dst, f.Live)
	dst = appendVarint(dst, f.ReportedMillis)
	dst = appendUvarint(dst, f.Debt)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *SavedSubscription) Parse(payload []byte) error {
	r := reader{b: payload}
	f.read(&r)
	f.Live = r.bool()
	f.ReportedMillis = r.varint()
	f.Debt = r.uvarint()
	return r.done("SavedSubscription")
}
