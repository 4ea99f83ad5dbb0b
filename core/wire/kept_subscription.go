package wire

// KeptSubscription is how far a reader has been sent one subscription. It is
// kept, never sent.
type KeptSubscription struct {
	Subscribe            // as the reader would resume it, with the credit that is left
	Live           bool  // the reader has the whole state, and its schema
	ReportedMillis int64 // when it was last told how far it is; zero for never
	// Debt is how many bytes it was sent beyond its credit.
	Debt uint64
}

// Append writes the whole frame.
func (f *KeptSubscription) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeKeptSubscription)
	dst = f.appendPayload(dst)
	dst = appendBool(dst, f.Live)
	dst = appendVarint(dst, f.ReportedMillis)
	dst = appendUvarint(dst, f.Debt)
	return end(dst, start)
}

// Parse reads the payload.
func (f *KeptSubscription) Parse(payload []byte) error {
	r := reader{b: payload}
	f.read(&r)
	f.Live = r.bool()
	f.ReportedMillis = r.varint()
	f.Debt = r.uvarint()
	return r.done("KeptSubscription")
}
