package wire

// WatchClosed is the end of a watch, after everything it had to deliver.
type WatchClosed struct {
	Watch uint32
}

// Append writes the whole frame.
func (f *WatchClosed) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeWatchClosed)
	dst = appendUvarint(dst, uint64(f.Watch))
	return end(dst, start)
}

// Parse reads the payload.
func (f *WatchClosed) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Watch = r.uint32()
	return r.done("WatchClosed")
}
