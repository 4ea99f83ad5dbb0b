package wire

import "github.com/watchglass/watchglass/core/api"

// SubscriptionStatus ends a subscription: with 410 if its resource version is too old,
// and with another code, such as 400, 403, 404 or 429, if it cannot be served. If
// Subscription is zero, the status ends the whole connection.
type SubscriptionStatus struct {
	Subscription uint32
	Status       *api.Status
}

// Append appends the frame to dst.
func (f *SubscriptionStatus) Append(dst []byte) []byte {
	dst, start := begin(dst, TypeSubscriptionStatus)
	dst = appendUvarint(dst, uint64(f.Subscription))
	dst = appendStatus(dst, f.Status)
	return end(dst, start)
}

// Parse sets the fields from a payload.
func (f *SubscriptionStatus) Parse(payload []byte) error {
	r := reader{b: payload}
	f.Subscription = r.uint32()
	f.Status = r.status()
	return r.done("SubscriptionStatus")
}
