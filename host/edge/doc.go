// Package edge is the HTTP face of the edge: the reading part of the Kubernetes API,
// health and metrics, answered from Durable Objects. The worker in wasm/edge runs it,
// with an instance for each request. It needs only a way to reach the objects, so it
// also runs elsewhere.
//
// # Clusters
//
// A request is for a cluster: "/clusters/NAME/api/v1/pods", and without that prefix for
// the one called [DefaultCluster]. [Clusters] says which object holds what;
// [Config.Object] reaches it. Package token checks the token first, so a request
// without a valid one learns nothing. The JavaScript entry (js/src/edge/entry.ts)
// accepts WebSockets and finds their objects by the same rules;
// testdata/edge/places.json tests both.
//
// # Namespaces
//
// A shard of resources may be divided by namespace over several objects ([Shard]). A
// request for one namespace goes to its object, as if there were no other. A request for
// all of them is refused with 400, because no answer would be right. Each object is at
// its own version; a combined list would be of no version from which a watch could
// continue, and its pages would differ from those of each object. Clients that need all
// namespaces read the objects one by one, over WebSockets.
//
// # Requests to an object
//
// There are four requests, each a GET on [Root] with the options as the query. A reply
// is a stream of frames of package wire, as the engine in the object emits them:
//
//	schemas  resource, or none for all          CollectionSchema, one for each
//	get      resource key                       ObjectReply
//	list     resource namespace labelSelector   ListReply, one for each page
//	         fieldSelector resourceVersion
//	         match limit continue all
//	watch    the same without limit, continue   WatchEvents, and at the end
//	         and all, and sendInitialEvents     WatchClosed with the reason
//	         bookmarks timeoutSeconds
//
// Match and sendInitialEvents are numbers, as on the wire. With all=true a page of a
// list is followed by the next one, as of the same version, until there is none. A
// refusal is a Status in JSON with its HTTP code, as from kube-apiserver. A later
// failure breaks the stream. The other side is js/src/edge/backend.ts.
//
// Nothing is buffered between the two: an object sends the next page or event when
// there is room in the stream. Its watch ends with 410, as slow, if that takes too long
// (rule P10).
//
// # Limits
//
// Every object is asked for the schema before it is asked for the data, so a request
// costs the worker two subrequests, and discovery one per shard. If a shard is divided
// by namespace, its first object is asked for the schema, so that one must be fed too.
// Health and metrics ask every object.
package edge
