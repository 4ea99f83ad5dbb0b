// Package kubeapi serves the read requests of the Kubernetes API from any cache. It
// supports discovery, get, list and watch, and returns objects, metadata or tables.
// kubectl, client-go informers and dashboards use it like a kube-apiserver.
//
// # The path of a request
//
// [Handler.ServeHTTP] authenticates the token. route.go parses the path, accept.go the
// requested representation, and params.go the options. Discovery calls
// [Backend.Resources]. Each read becomes one Get, List or Watch call to the [Backend], which
// implements rules C8 to C12 and C38 to C52. encoder.go and table.go write the response. The
// JSON of an object is copied without decoding it.
//
// # Watches
//
// The headers of a watch are sent before the first event (rule P1). A failure after the
// headers is sent as an ERROR event, which ends the stream (rule P6). A failure before
// the headers is sent as a Status with its HTTP code (rule P7). A watch ends without an
// event after its timeout and when the server stops. The watch of a slow client ends
// with a 410 that names the cause (rule P10). The client then resumes from its last
// resource version. If the backend no longer has the changes since that version, the new
// watch ends with 410 too.
//
// The backend limits the number of queued events of a slow client, and ends the watch at
// the limit. A client that accepts no data for the write timeout is disconnected. Watches
// and other requests beyond [limit.MaxWatches] and [limit.MaxRequests] get 429. All
// clients share these two limits, but one client with small requests can use only about
// half of the capacity. A list of many objects takes the capacity of several requests.
// [limit.MaxWaitingRequests] limits the requests that wait for the source's first list or
// for a resource version. After a client has received 20 refusals within a second, its
// further 429 responses are delayed by a second. [limit.MaxWaitingRequests] also limits
// the number of delayed refusals.
//
// # Rights
//
// Users can review their own rights and identity with SelfSubjectAccessReview,
// SelfSubjectRulesReview and SelfSubjectReview. Reviews are not stored. The response to a
// review describes only what this API permits. Writes, subresources and paths that are
// not served are therefore denied, with a reason, regardless of the user's rights at the
// kube-apiserver. Selectors in a review are ignored, so the response applies to all
// objects. The policy decides whether a user may read. The policy may return cached
// decisions.
//
// # Differences from kube-apiserver
//
//   - All methods except GET, HEAD and OPTIONS return 405. The only exception is a POST
//     that creates one of the self reviews above.
//   - Only JSON is served. Reviews are also read as protobuf. A client that accepts
//     only protobuf or CBOR gets 406.
//   - Subresources and /openapi return 404.
//   - A read without a resource version returns the state of the cache, not of the
//     storage (rule C12).
//   - The parameter "watch" also works on the path of one object (rule P1). kube-apiserver
//     ignores the parameter on such a path.
//   - A get with a malformed resource version returns 400, not 500 (rule C8).
//   - The items of a list contain their kind, for every resource.
//   - A negative limit or timeoutSeconds returns 400 instead of being ignored.
//   - The deprecated watch paths (/api/v1/watch/...) and watches over WebSocket
//     (rule P14) are not served.
//
// # Where it runs
//
// Besides the standard library and the protobuf field decoder, the package imports
// only the core, packages access and limit, and small helpers. The same code serves the
// cache of a connector, the cache of a Go client, whose module runs in wazero, and the
// cache at the edge, where it is compiled with GOOS=js.
package kubeapi
