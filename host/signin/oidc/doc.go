// Package oidc verifies the ID tokens of an OpenID Connect issuer, with the settings
// of the --oidc flags of kube-apiserver.
//
// A [Verifier] loads the configuration and the public keys of the issuer when the first
// token arrives, or when Run is called. It loads them again when they are too old for a
// new verdict, and when a token is signed with another key. Loads are at least ten
// seconds apart, and bounded in time and size. An issuer that does not respond leaves
// the known keys in use.
//
// Package kube uses a Verifier in place of TokenReview. It limits and caches the
// verdicts, and requests the rights of the user from the cluster.
package oidc
