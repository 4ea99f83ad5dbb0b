// Package edge is the HTTP face of the edge: the part of the Kubernetes API that
// reads, health and metrics, answered out of Durable Objects. It is what the
// worker in wasm/edge runs, where an instance of it lives for one request, and it
// runs anywhere else as well; all it needs is somebody to reach the objects.
//
// # Who asks whom
//
// A request is for a cluster: "/clusters/NAME/api/v1/pods", and without that
// prefix for the one called [DefaultCluster]. [Clusters] says which object has
// what is asked for; [Config.Object] reaches it. The token is checked first, by
// package token, so that whoever has none learns nothing. The JavaScript entry
// (js/src/edge/entry.ts) takes in the WebSockets and finds their objects by the
// same rules, which testdata/edge/places.json holds both to.
//
// # Namespaces
//
// A shard of resources may be divided by namespace over several objects
// ([Shard]). A request for one namespace goes to its object, and everything about
// it is as if there were no other. A request for all of them is refused with a 400,
// because no answer to it would be right: each object is at a version of its own, a
// list of several would be of no version that a watch could go on from, and its
// pages would have to be cut anew for each. Who needs all namespaces reads the
// objects one by one, over WebSockets.
//
// # What is asked of an object
//
// Four questions, each a GET on [Root] with the options as the query. A reply is a
// stream of frames of package wire, as the engine in the object says them:
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
// Match and sendInitialEvents are numbers, as on the wire. With all=true a page of
// a list is followed by the next one, as of the same version, until there is none.
// Everything that is refused is a Status in JSON with its HTTP code, as of a
// kube-apiserver. What goes wrong after that breaks the stream off. The other side
// is js/src/edge/backend.ts.
//
// Nothing is buffered in between: an object hands out the next page or event when
// there is room in the stream, and its watch ends with 410, as slow, when that
// takes too long (rule P10).
//
// # Limits
//
// Every object is asked for the schema before it is asked for the data, so a
// request costs the worker two subrequests, and discovery one per shard. Where a
// shard is divided by namespace its first object is asked for the schema, so that
// one has to be fed too. Health and metrics ask every object.
package edge
