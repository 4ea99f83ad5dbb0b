// Package push connects a connector to Durable Objects at the edge, which become readers of
// the connector. The connector opens the connections, so the cluster needs no public
// address.
//
// # Objects
//
// An edge stores all resources in one object, or divides them among several objects by
// resource or by namespace. Only the edge knows the division. The connector requests
// the division with a plain GET of the feed URL, with the resources in the query. The
// response lists every object to feed, with the resources of the object and its shard
// of the namespaces:
//
//	{"objects": [{"resources": ["v1/pods"], "shard": "0-of-2"},
//	             {"resources": ["v1/pods"], "shard": "1-of-2"},
//	             {"resources": ["v1/nodes"]}]}
//
// A response of 426 means that one object stores all resources. Each object has a
// separate connection, which carries only the data of that object. All connections share
// the same upstream watches. If an object refuses its connection, the connector requests
// the division again. If the division has changed, the connector replaces all
// connections.
//
// # Protocol
//
// The connection is a WebSocket to /feed with a bearer token. The query contains the
// resources, separated by commas, and the shard, unless the object stores all
// namespaces. The parameter clusterID is the ID of the history that resource versions
// belong to. Text messages control sessions. Binary messages belong to the running
// session; no binary message precedes the first session:
//
//	edge       begin N         start session N, and end any running session
//	connector  begun N         all following binary messages belong to session N
//	connector  ended N REASON  the connector ended the session
//
// [connector.Connector.ServeShard] serves a session like that of any other reader. The edge
// sends Hello and subscribes from the resource version that it has stored. A connection without
// a session is on standby and carries only pings, because the edge uses another connector or
// hibernates. The edge begins a new session whenever it has lost its state.
//
// # Failure
//
// After a connection ends, the connector reads the token again and reconnects with
// increasing pauses. The configuration is wrong if the first response is 401, 403, 404, 409 or a
// redirect, or if the server uses the protocol for readers. [Pusher.Run] then returns an error.
// This rule applies to the request for the division and to each object of the first division.
package push
