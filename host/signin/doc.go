// Package signin contains policies for the ways in which dashboards sign in: session
// cookies, authenticating proxies and impersonation. Each policy wraps another one,
// which decides about rights.
//
// The credentials are in the headers and the TLS connection of a request, which the
// context of each call contains as an [access.Client]. They are verified again at each
// review. Everything granted on them therefore ends within a minute after they become
// invalid.
package signin
