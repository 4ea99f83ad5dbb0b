package wire

import "github.com/watchglass/watchglass/core/api"

// RequestBody requests one missing body of a subscription with RowsFirst, ahead of the
// other bodies. The connector does not respond if it has no object with that key.
type RequestBody struct {
	Subscription uint32
	Key          api.Key
}

// Append appends the frame to dst.
func (f *RequestBody) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeRequestBody)
	dst = appendUvarint(dst, uint64(f.Subscription))
	dst = appendBytes(dst, f.Key)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *RequestBody) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Subscription = r.uint32()
	f.Key = api.Key(r.string())
	return r.done("RequestBody")
}
