// Package push lets a connector dial out: it connects to an edge object, which
// then is its reader, so that a cluster needs no address of its own.
//
// # Protocol
//
// The connection is a WebSocket to /feed with a bearer token, and with what is
// brought in the query: resources, comma-separated, and source, the name of the
// history that resource versions belong to. Text messages speak of sessions,
// binary ones belong to the one that runs:
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
// read anew. A refusal by 401, 403, 404 or 409 ends [Pusher.Run] as long as no
// connection has ever been accepted: then something is set wrong.
package push
