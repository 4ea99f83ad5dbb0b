// Package edge implements the HTTP server of the edge. It serves the read requests of the
// Kubernetes API, health and metrics from Durable Objects. The worker in wasm/edge runs it, with an
// instance for each request. It depends only on a function that reaches the objects, so it also
// runs elsewhere.
//
// # Clusters
//
// A request names a cluster in its path, such as "/clusters/NAME/api/v1/pods". A path
// without that prefix refers to [DefaultCluster]. [Clusters] maps resources to objects; [Config.Object] reaches an
// object. Package token verifies the token first, so a request without a valid one
// discloses nothing. The JavaScript entry (js/src/edge/entry.ts) accepts WebSockets
// and finds their objects by the same rules; testdata/edge/clusters.json tests both.
//
// # Namespaces
//
// A group of resources may be divided by namespace into shards, one per object ([Group]). A
// request for one namespace goes to its object. A request for all namespaces is
// refused with 400, because each object is at a different version. A watch could not
// continue from a combined list, and its pages would differ from the pages of each
// object. Clients that need all namespaces read the objects separately, over
// WebSockets.
//
// # Requests to an object
//
// There are two requests, each a GET on [Root]. A reply is a stream of frames of
// package wire, as the engine in the object emits them:
//
//	schemas?resource=R             CollectionSchema of a resource, or of all of them
//	command?resource=R&command=F   the reply to a command
//
// F is a command frame in base64url without padding, whose IDs the object replaces. It
// is Get (ObjectReply), List (ListReply) or OpenWatch (WatchEvents, and at the end
// WatchClosed with the reason). The object also sets the credit of a watch. With
// all=true, the reply to List contains all pages, as of the same version. A refusal is a
// Status in JSON with its HTTP code, as from kube-apiserver. A later failure breaks the
// stream. The other side is js/src/edge/backend.ts.
//
// Neither side buffers: an object sends the next page or event when the stream has room. If that
// takes too long, the object ends the watch with 410, as for any slow client (rule P10).
//
// # Limits
//
// Each request first reads the schema from the object and then the data, which
// costs the worker two subrequests. Discovery costs one per group. If an object is
// divided by namespace, its first object serves requests for schemas, so it must be
// fed too. Health and metrics query every object.
package edge
