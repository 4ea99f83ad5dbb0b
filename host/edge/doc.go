// Package edge implements the HTTP server of the edge. It serves the read requests of the
// Kubernetes API, health and metrics from Durable Objects. The worker in wasm/edge runs
// the server, with one instance for each request. The package reaches the objects only
// through a function, so it also runs elsewhere.
//
// # Clusters
//
// A request names a cluster in its path, such as "/clusters/NAME/api/v1/pods". A path
// without that prefix refers to [DefaultCluster]. [Clusters] maps resources to objects;
// [Config.Object] returns the transport to an object. Package token verifies the token
// first, so a response to a request without a valid token discloses nothing. The JavaScript
// entry (js/src/edge/entry.ts) accepts WebSockets and finds their objects by the same
// rules; testdata/edge/clusters.json tests both implementations.
//
// # Namespaces
//
// A group of resources may be divided by namespace into shards, one per object ([Group]).
// The server sends a request for one namespace to the object of the namespace. It refuses a
// request for all namespaces with 400, because each object is at a different version. A watch
// could not continue from a combined list, and the pages of that list would be inconsistent.
// Clients that need all namespaces read the objects separately, over WebSockets.
//
// # Requests to an object
//
// There are two kinds of requests, each a GET below [Root]. A reply is a stream of frames
// of package wire, as the engine in the object emits them:
//
//	schemas?resource=R             CollectionSchema of a resource, or of all of them
//	command?resource=R&command=F   the reply to a command
//
// F is a command frame in base64url without padding; the object replaces its IDs. The
// reply to Get is an ObjectReply, to List a ListReply, and to OpenWatch WatchEvents and
// finally WatchClosed with the reason. The object also sets the credit of a watch. With
// all=true, the reply to List contains all pages, as of the same version. A refusal is a
// Status in JSON with its HTTP code, as from kube-apiserver. A later failure breaks the
// stream. js/src/edge/backend.ts implements the object's side.
//
// Neither side buffers: an object sends the next page or event when the stream has room.
// If a watch waits too long for room, the object ends it with 410, as for any slow client
// (rule P10).
//
// # Limits
//
// Each request first reads the schema and then the data from the object, which takes two
// subrequests. Discovery takes one subrequest per group. If a group is divided by
// namespace, its first object serves requests for schemas, so a connector must feed this
// object too. Readiness and metrics take one subrequest per object.
package edge
