// Package kubeapi serves the read requests of the Kubernetes API from any cache. It
// supports discovery, get, list and watch, as objects, metadata or tables. kubectl,
// client-go informers and dashboards use it like a kube-apiserver.
//
// # The path of a request
//
// [Handler.ServeHTTP] checks the token. route.go parses the path, accept.go the requested
// representation, params.go the options. Discovery uses [Backend.Resources]. Every other
// request becomes one call of the [Backend] with the options of Kubernetes. The backend
// implements rules C8 to C12 and C38 to C52. The response is written by encoder.go and
// table.go. Bodies are passed on unmodified. This package decodes no objects.
//
// # Watches
//
// The headers of a watch are sent before the first event (rule P1). A failure after
// that is an ERROR event, which ends the stream (rule P6). A failure before it is a
// Status with its HTTP code (rule P7). A watch ends without an event after its
// timeout, when its consumer is too slow, and when the server stops (rule P10). The
// client then resumes from its last resource version. If the backend has lost the
// history, the watch ends with 410.
//
// The backend limits the events that wait for a slow client, and ends the watch at the
// limit. A client that accepts no data for the write timeout is disconnected. Watches and
// other requests beyond [limit.MaxWatches] and [limit.MaxRequests] get 429. Clients share
// these limits, but one client with small requests can use only about half of the
// capacity. A list of many objects counts several times. [limit.MaxWaitingRequests]
// limits requests that wait for a first list or for a resource version. Beyond 20
// refusals per second, each 429 to a client is sent a second later.
// [limit.MaxWaitingRequests] also limits the number of delayed refusals.
//
// # Rights
//
// Users can review their own rights and identity with SelfSubjectAccessReview,
// SelfSubjectRulesReview and SelfSubjectReview. Reviews are evaluated and not stored. The
// responses describe what this API permits. Writes, subresources and paths that are not
// served are therefore denied, with a reason, regardless of the user's rights at the
// kube-apiserver. Selectors in a review are ignored, so the response applies to all
// objects. Rights to read come from the policy, which may have cached them.
//
// # Differences from kube-apiserver
//
//   - All methods except GET return 405, and so do all writes except these reviews.
//   - Only JSON is served. Reviews are also read as protobuf. A client that accepts
//     only protobuf or CBOR gets 406.
//   - Subresources and /openapi do not exist: 404.
//   - A read without a resource version returns the state of the cache, not of the
//     storage (rule C12).
//   - A watch on the path of an object is supported (rule P1); kube-apiserver ignores the
//     parameter there.
//   - A get with a malformed resource version returns 400, not 500 (rule C8).
//   - Items of a list have their kind, for every resource.
//   - A negative limit or timeoutSeconds is 400 instead of being ignored.
//   - The deprecated watch paths (/api/v1/watch/...) and watches over WebSocket
//     (rule P14) are not served.
//
// # Where it runs
//
// Besides the standard library and the protobuf field decoder, the package imports
// only the core, packages access and limit, and small helpers. The same code serves
// from a connector, from the module under wazero, and at the edge under GOOS=js.
package kubeapi
