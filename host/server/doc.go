// Package server is the HTTP face of a connector: the WebSocket endpoint
// /watch, /healthz and /readyz for whoever runs it, /metrics, and the dashboard
// at / when it was built into the binary.
//
// # The page
//
// The directory page is compiled in. A clean checkout has only a placeholder
// there, and / then says how to build the dashboard. Files are compressed once,
// when somebody first asks for them; those with a content hash in their name
// ("app-5F3K2QVA.js") may be cached for ever, all others are asked for again by
// ETag.
//
// # Who may connect
//
// A browser sends the origin of the page that opens a WebSocket, and nothing
// else keeps a page of somebody else's from connecting here with the user's
// network access. So a request with an Origin must come from the server's own
// host, from a loopback host, or from one of [Config.AllowOrigins]. A server
// that was reached through a loopback address also insists that it was called by
// a loopback name or that of an allowed origin, because a name whose address
// changes to 127.0.0.1 (DNS rebinding) makes a foreign page look like our own.
// Requests without an Origin come from programs; tokens are for those
// (Authenticate in session.Config).
//
// # Ends of a connection
//
// Every connection that this side ends is told why twice: by a
// SubscriptionStatus for subscription zero, and by the close code, 1002 for a
// broken protocol, 1001 for a shutdown, 1008 for a refusal, 1013 for too many
// readers. A message over the limit is the exception: the transport ends the
// connection by code 1009 alone.
package server
