// Package signin contains policies for the ways in which dashboards sign in: session
// cookies, authenticating proxies and impersonation. Each policy wraps another policy,
// which authorizes the requests.
//
// The context of each call carries the headers and the TLS state of the request, as an
// [access.Client]. The policies read the credentials from the context and verify them
// again at each review. Access therefore ends within a minute after the credentials
// become invalid.
package signin
