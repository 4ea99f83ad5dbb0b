// Package kubeapi is the part of the Kubernetes API that reads, served from any
// cache: discovery, get, list and watch, as objects, as metadata alone or as
// tables. kubectl, client-go informers and dashboards use it as they would use
// a kube-apiserver.
//
// # The way of a request
//
// [Handler.ServeHTTP] checks the token; route.go reads the path, accept.go what
// form the client takes, params.go the options. Discovery is answered from
// [Backend.Resources]; everything else becomes one call of the [Backend] with
// the options of Kubernetes (rules C8 to C12, C38 to C52, which are the
// backend's to keep), and form.go and table.go write what comes back. Bodies
// are passed on as they are: nothing here decodes an object.
//
// # Watches
//
// The headers of a watch leave before there is an event (rule P1). From then on
// a failure is an ERROR event, after which the stream ends (rule P6); before, it
// is a Status with its HTTP code (rule P7). A watch ends without a word when its
// time is over, when its consumer was too slow, and when the server stops (rule P10):
// the client resumes from its last resource version. A watch of a history that the
// backend has lost ends with 410. What waits for a slow client is bounded by the backend,
// which ends the watch; a client that takes nothing for the write-timeout is
// taken for dead. Watches and other requests beyond [limit.MaxWatches] and
// [limit.MaxRequests] are 429. Clients share them: none has more than are left for
// others, and a list of many objects counts several times. Requests that wait, for a
// first list or for a resource version, are bounded by [limit.MaxWaitingRequests].
//
// # What is different from a kube-apiserver
//
//   - Writes and all else that is not a GET are 405.
//   - Only JSON is spoken. Whoever accepts protobuf or CBOR alone gets 406.
//   - There are no subresources and no /openapi: 404.
//   - A read without a resource version is as new as the cache, not as the
//     storage behind it (rule C12).
//   - A watch on the path of an object is one (rule P1); kube-apiserver ignores
//     that it was asked for.
//   - A get with a version that is no number is 400, not 500 (rule C8).
//   - Items of a list say their kind, whatever the resource.
//   - A negative limit or timeoutSeconds is 400 instead of being ignored.
//   - The deprecated watch paths (/api/v1/watch/...) and watches over WebSocket
//     (rule P14) are not served.
//
// # Where it runs
//
// It imports core, the question who may read what (host/access) and the standard
// library, so that the same code serves from a connector, from the module under
// wazero, and at the edge under GOOS=js.
package kubeapi
