// Package admission limits the connections of a server, separately before and after
// authentication, so that unauthenticated clients cannot use the capacity of users.
//
// A silent connection can be closed without harm: it has not authenticated yet, or
// waits for its next request. If too many connections have no user, Control closes
// the oldest silent one of the address with the most. A new connection can therefore
// always authenticate, regardless of the number of silent ones. A connection that
// would exceed a limit for users is refused.
package admission
