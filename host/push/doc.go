// Package push connects a connector to a Durable Object at the edge, which becomes
// its reader. The cluster therefore needs no public address.
//
// # Objects
//
// An edge stores resources in one object or in several, divided by resource or
// by namespace. Only the edge knows the division. The connector requests it with a plain
// GET of the same URL, with the resources in the query. The response lists every object
// to feed, with its resources and its shard of the namespaces:
//
//	{"objects": [{"resources": ["v1/pods"], "shard": "0-of-2"},
//	             {"resources": ["v1/pods"], "shard": "1-of-2"},
//	             {"resources": ["v1/nodes"]}]}
//
// A response of 426 means that the URL belongs to one object. Each object has a separate
// connection, which carries only the data of that object. All connections share the same
// upstream watches. If an object refuses its connection, the connector requests the
// division again. If the division has changed, the connector replaces all connections.
//
// # Protocol
//
// The connection is a WebSocket to /feed with a bearer token. The query contains the
// resources, separated by commas, and the shard, unless that covers all namespaces. The
// parameter clusterID is the ID of the history that resource versions belong to. Text
// messages control sessions. Binary messages belong to the running session; no binary
// message precedes the first session:
//
//	edge       begin N         start session N; a running one ends with it
//	connector  begun N         binary messages from here on belong to session N
//	connector  ended N REASON  the connector ended the session
//
// [connector.Connector.ServeShard] serves a session like that of any other reader. The
// edge sends Hello and subscribes from the resource version that it has stored. A
// connection without a session is on standby and carries only pings: the edge uses
// another connector, or hibernates. The edge begins a new session whenever it has lost
// its state.
//
// # Failure
//
// After a connection ends, the connector reads the token again and reconnects with
// increasing pauses. Some first responses indicate a wrong configuration and end
// [Pusher.Run]: 401, 403, 404, 409, a redirect, and the protocol of an endpoint for
// readers. This applies to the edge and to each object of the first division.
package push
