// Package oidc verifies the ID tokens of an OpenID Connect issuer, with the settings
// of the --oidc flags of kube-apiserver.
//
// A [Verifier] loads the configuration and the public keys of the issuer when the first
// token arrives, or when Run is called. It loads the keys again when they are too old for
// a new verdict, and when no known key verifies a token. Loads are at least ten seconds
// apart. Their duration and size are limited. While the issuer does not respond, the
// known keys stay in use.
//
// Package kube uses a Verifier in place of TokenReview. Package kube limits and caches the
// verdicts, and asks the cluster to authorize the user.
package oidc
