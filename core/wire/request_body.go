package wire

import "github.com/watchglass/watchglass/core/api"

// RequestBody requests the body of one object ahead of other bodies, if it is
// missing in a subscription with RowsFirst. There is no response if the connector
// has no such object.
type RequestBody struct {
	Subscription uint32
	Key          api.Key
}

// Append writes the whole frame.
func (f *RequestBody) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeRequestBody)
	dst = appendUvarint(dst, uint64(f.Subscription))
	dst = appendBytes(dst, f.Key)
	return end(dst, start)
}

// Parse reads the payload.
func (f *RequestBody) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Subscription = r.uint32()
	f.Key = api.Key(r.string())
	return r.done("RequestBody")
}
