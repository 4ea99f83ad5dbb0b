// Package kubeapi serves the reading part of the Kubernetes API from any cache:
// discovery, get, list and watch, as objects, metadata or tables. kubectl, client-go
// informers and dashboards use it like a kube-apiserver.
//
// # The way of a request
//
// [Handler.ServeHTTP] checks the token. route.go parses the path, accept.go the
// requested representation, params.go the options. [Backend.Resources] answers
// discovery. Everything else becomes one call of the [Backend] with the options of
// Kubernetes; the backend implements rules C8 to C12 and C38 to C52. form.go and
// table.go write the answer. Bodies are passed on as they are: nothing here decodes an
// object.
//
// # Watches
//
// The headers of a watch are sent before the first event (rule P1). A failure after
// that is an ERROR event, which ends the stream (rule P6). A failure before it is a
// Status with its HTTP code (rule P7). A watch ends without an event when its time is
// over, when its consumer is too slow, and when the server stops (rule P10): the
// client resumes from its last resource version. A watch of a history that the backend
// has lost ends with 410.
//
// The backend bounds what waits for a slow client, and ends the watch. A client that
// accepts nothing for the write timeout is disconnected. Watches and other requests
// beyond [limit.MaxWatches] and [limit.MaxRequests] get 429. Clients share these
// limits: none has more than are left for others, and a list of many objects counts
// several times. [limit.MaxWaitingRequests] bounds requests that wait for a first list
// or for a resource version.
//
// # What is different from a kube-apiserver
//
//   - Writes and all other methods but GET are 405.
//   - Only JSON is served. A client that accepts only protobuf or CBOR gets 406.
//   - There are no subresources and no /openapi: 404.
//   - A read without a resource version is as new as the cache, not as the
//     storage behind it (rule C12).
//   - A watch on the path of an object is one (rule P1); kube-apiserver ignores the
//     parameter there.
//   - A get with a version that is no number is 400, not 500 (rule C8).
//   - Items of a list have their kind, whatever the resource.
//   - A negative limit or timeoutSeconds is 400 instead of being ignored.
//   - The deprecated watch paths (/api/v1/watch/...) and watches over WebSocket
//     (rule P14) are not served.
//
// # Where it runs
//
// The package imports core, package access and the standard library. The same code
// serves from a connector, from the module under wazero, and at the edge under
// GOOS=js.
package kubeapi
