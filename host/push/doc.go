// Package push lets a connector dial out: it connects to an edge object, which
// then is its reader, so that a cluster needs no address of its own.
//
// # Objects
//
// What an edge holds lies in one object or in several, divided by resource or by
// namespace. It alone is told how: the connector asks, by a plain GET of the same
// URL with the resources in the query, and is answered with every object that it
// has to feed, and with the part of the namespaces that an object has:
//
//	{"objects": [{"resources": ["v1/pods"], "shard": "0-of-2"},
//	             {"resources": ["v1/pods"], "shard": "1-of-2"},
//	             {"resources": ["v1/nodes"]}]}
//
// An answer of 426 means that the URL is that of one object. Each is fed over a
// connection of its own, on which there is only what lies in it, all of them from
// the same upstream watches. When one refuses, the edge is asked again: if its
// objects are others now, all connections are made anew.
//
// # Protocol
//
// The connection is a WebSocket to /feed with a bearer token, and with what is
// brought in the query: resources, comma-separated, shard, unless it is all
// namespaces, and source, the name of the history that resource versions belong
// to. Text messages speak of sessions, binary ones belong to the one that runs, and
// none comes before the first:
//
//	edge       begin N         start session N; one that runs ends with it
//	connector  begun N         binary messages from here on belong to session N
//	connector  ended N REASON  the session is over, for reasons of this side
//
// A session is what [connector.Connector.Serve] does with any reader: the edge
// says Hello and subscribes, with the resource version that it has kept. A
// connection without a session stands by, because the edge has another connector
// or sleeps; only pings pass. The edge begins anew whenever it has forgotten
// where it was.
//
// # Failure
//
// A connection that ends is dialled again after growing pauses, with the token
// read anew. A refusal by 401, 403, 404 or 409, a redirect, and an endpoint that is
// there for readers end [Pusher.Run] when they are the first answer of the edge, or
// of an object that it names at first: then something is set wrong.
package push
