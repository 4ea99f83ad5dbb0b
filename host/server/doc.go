// Package server implements the HTTP server of a connector. Readers connect to the WebSocket
// endpoint /watch, and list the resources that they can open at /api and /apis. Operators use
// /healthz, /readyz and /metrics. The dashboard is at / if it was built into the binary.
//
// # Readiness
//
// /readyz returns 200 while readers can be served: a collection is cached, even if it is
// stale, or the source responds. One lost source therefore does not remove every replica
// from a load balancer. With ?verbose, the response has a line for each resource:
// current, stale (with its age), or not cached. The reason why a resource is stale may
// contain addresses, so only the handler that [Server.Private] returns includes it.
//
// # The page
//
// The directory "page" is compiled into the binary. In a clean checkout, it contains only a
// placeholder, and / then explains how to build the dashboard. Files are compressed once,
// at their first request. Files with a content hash in their name ("app-5F3K2QVA.js") may
// be cached forever. Clients revalidate all others by ETag. Without access control, index.html
// contains <meta name="watchglass-access" content="everyone">, and the tabs of the dashboard then
// share a connection without a sign-in.
//
// # Who may connect
//
// A browser sends the origin of the page that opens a WebSocket. Without an origin check, a
// page of any site could connect, through the user's browser, to a server that only the
// user can reach. A request with an Origin must therefore come from the server's own host,
// from a loopback host, or from one of [Config.AllowOrigins]. On a loopback address, the
// Host header must also be a loopback name or the host of an allowed origin. Otherwise an
// attacker could change the address of a domain to 127.0.0.1 (DNS rebinding), and pages of
// that domain would appear to come from this server. Requests without an Origin come from
// programs. The Access policy of the connector authenticates these programs by their
// tokens.
//
// # Connection limits
//
// Connections are limited separately before and after authentication. This server and
// the servers that [Server.Beside] returns share the limits. A connection to /watch is
// authenticated after its Hello. A connection to the Kubernetes API is authenticated
// while it serves a request with an accepted token. A connection for pages or metrics
// is never authenticated.
//
// If unauthenticated connections exceed max-unauthenticated, the server closes the oldest
// silent connection from the address with the most unauthenticated connections. Silent
// connections therefore cannot prevent other clients from presenting a token. An
// authenticated connection is refused if it exceeds max-connections-per-address or
// max-connections-per-user. The status names the limit but not its value.
//
// Clients behind a proxy share the address of the proxy. The default limits allow a few
// thousand clients behind one proxy. [Config.TrustedProxies] lists proxies whose
// X-Forwarded-For header distinguishes clients. A listed proxy must set the header
// itself. Otherwise clients can claim any address.
//
// # Closing a connection
//
// When the server closes a connection to /watch, it sends the reason twice: in a
// SubscriptionStatus for subscription zero, and in the close code. The code is 1002 for a
// protocol violation, 1001 for a shutdown, 1008 for a refusal, 1009 for a message over
// the limit, and 1013 for too many readers.
package server
