// Package server is the HTTP face of a connector: the WebSocket endpoint
// /watch, /healthz and /readyz for whoever runs it, /metrics, and the dashboard
// at / when it was built into the binary.
//
// # Readiness
//
// /readyz answers 200 while readers can be served: from a collection that is cached,
// current or stale, or because the source answers. One lost source therefore does not
// remove every replica from a load balancer. With ?verbose it has a line for each
// resource: current, stale and for how long, or not cached. Why it is stale, which
// may name addresses, is for the handler that [Server.Private] returns.
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
// # Limits of connections
//
// Connections are limited separately before and after authentication, on this
// server and on those beside it. A connection to /watch is authenticated from its
// Hello on, one to the Kubernetes API while it serves a request with an accepted
// token, and one for pages and metrics never. Without a user a connection is cheap
// to replace: when there are more than max-unauthenticated, the oldest silent one
// of the address with the most of them is closed, so that silent connections never
// keep others from presenting a token. With a user it is refused beyond
// max-connections-per-address and max-connections-per-user, by a status that names
// the limit and no numbers.
//
// Clients behind a proxy share its address, and the defaults leave room for a few
// thousand of them. [Config.TrustedProxies] names proxies whose X-Forwarded-For
// tells clients apart. Only name proxies that set the header themselves, or clients
// choose their own address.
//
// # Ends of a connection
//
// Every connection that this side ends is told why twice: by a
// SubscriptionStatus for subscription zero, and by the close code, 1002 for a
// broken protocol, 1001 for a shutdown, 1008 for a refusal, 1013 for too many
// readers. A message over the limit is the exception: the transport ends the
// connection by code 1009 alone.
package server
