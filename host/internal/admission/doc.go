// Package admission limits the connections of a server, separately before and after
// authentication, so that unauthenticated clients cannot use up the capacity for users.
//
// A connection is silent before it authenticates and between requests. Closing a silent
// connection interrupts no request. If too many connections have no user, Control closes
// the oldest silent connection of the address with the most connections. A new connection
// can therefore always authenticate, regardless of the number of silent connections.
// After authentication, a connection that would exceed a limit is refused.
package admission
