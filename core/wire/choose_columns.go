package wire

import "github.com/watchglass/watchglass/core/api"

// ChooseColumns replaces the connector's columns for the [Subscribe] that follows. The
// connector computes the chosen columns from the bodies of the objects. A connector that
// does not support this frame ignores it, and the [Schema] of the subscription does not
// begin with the chosen columns.
type ChooseColumns struct {
	Subscription uint32
	Columns      []api.Column // without printers
}

// MaxChooseColumns is the maximum size of the payload of ChooseColumns, in bytes.
const MaxChooseColumns = 64 << 10

// Append appends the frame to dst.
func (f *ChooseColumns) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeChooseColumns)
	dst = appendUvarint(dst, uint64(f.Subscription))
	return end(appendColumns(dst, f.Columns), start)
}

// Parse sets the fields from a payload.
func (f *ChooseColumns) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Subscription = r.uint32()
	f.Columns = r.columns()
	return r.done("ChooseColumns")
}
