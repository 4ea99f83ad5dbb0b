// Package server is the HTTP server of a connector: the WebSocket endpoint /watch,
// /healthz and /readyz for operators, /metrics, and the dashboard at / if it was
// built into the binary.
//
// # Readiness
//
// /readyz answers 200 while readers can be served: because a collection is cached,
// current or stale, or because the source responds. One lost source therefore does
// not remove every replica from a load balancer. With ?verbose it has a line for
// each resource: current, stale and for how long, or not cached. The reason may
// contain addresses, so only the handler that [Server.Private] returns includes it.
//
// # The page
//
// The directory page is compiled in. A clean checkout has only a placeholder there,
// and / then explains how to build the dashboard. Files are compressed once, at
// their first request. Those with a content hash in their name ("app-5F3K2QVA.js")
// may be cached forever; all others are revalidated by ETag.
//
// # Who may connect
//
// A browser sends the origin of the page that opens a WebSocket. Only this check
// keeps a page of another site from connecting with the user's network access. A
// request with an Origin must therefore come from the server's own host, from a
// loopback host, or from one of [Config.AllowOrigins]. A server that was reached
// through a loopback address also requires a loopback name or that of an allowed
// origin in the Host header, because a name whose address changes to 127.0.0.1 (DNS
// rebinding) makes a foreign page look like its own. Requests without an Origin come
// from programs, which authenticate with tokens (Authenticate in session.Config).
//
// # Limits of connections
//
// Connections are limited separately before and after authentication, across this
// server and those beside it. A connection to /watch is authenticated after its
// Hello, one to the Kubernetes API while it serves a request with an accepted token,
// and one for pages and metrics never. A connection without a user is cheap to
// replace: beyond max-unauthenticated, the oldest silent one of the address with the
// most is closed, so that silent connections cannot keep others from presenting a
// token. A connection with a user is refused beyond max-connections-per-address and
// max-connections-per-user, with a status that names the limit and no numbers.
//
// Clients behind a proxy share its address; the defaults leave room for a few
// thousand of them. [Config.TrustedProxies] names proxies whose X-Forwarded-For
// distinguishes clients. Only name proxies that set the header themselves, or
// clients can choose their own address.
//
// # Ends of a connection
//
// When this side ends a connection, it gives the reason twice: in a
// SubscriptionStatus for subscription zero, and in the close code. The code is 1002
// for a protocol violation, 1001 for a shutdown, 1008 for a refusal and 1013 for too
// many readers. For a message over the limit, only the close code 1009 is sent.
package server
