// Package push lets a connector dial out: it connects to a Durable Object at the edge,
// which then is its reader. The cluster needs no address of its own.
//
// # Objects
//
// An edge holds resources in one object or in several, divided by resource or by
// namespace. Only the edge knows the division. The connector asks for it with a plain
// GET of the same URL, with the resources in the query. The answer lists every object
// to feed, and which part of the namespaces an object has:
//
//	{"objects": [{"resources": ["v1/pods"], "shard": "0-of-2"},
//	             {"resources": ["v1/pods"], "shard": "1-of-2"},
//	             {"resources": ["v1/nodes"]}]}
//
// An answer of 426 means that the URL is that of one object. Each object is fed over a
// connection of its own, which carries only what belongs to it. All connections share
// the same upstream watches. If an object refuses, the connector asks the edge again;
// if the division has changed, it replaces all connections.
//
// # Protocol
//
// The connection is a WebSocket to /feed with a bearer token. The query has the
// resources, comma-separated; the shard, unless it is all namespaces; and source, the
// name of the history that resource versions belong to. Text messages control sessions.
// Binary messages belong to the session that runs; none precedes the first session:
//
//	edge       begin N         start session N; a running one ends with it
//	connector  begun N         binary messages from here on belong to session N
//	connector  ended N REASON  the connector ended the session
//
// A session is what [connector.Connector.Serve] does with any reader: the edge sends
// Hello and subscribes from the resource version that it has stored. A connection
// without a session stands by, because the edge has another connector or sleeps; it
// carries only pings. The edge begins a new session whenever it has lost its state.
//
// # Failure
//
// A connection that ends is dialed again after growing pauses, with the token read
// again. A refusal by 401, 403, 404 or 409, a redirect, and an endpoint for readers end
// [Pusher.Run] if they are the first answer of the edge, or of an object that it names
// at first: the configuration is wrong then.
package push
