// Package token implements signed tokens that grant the right to read or to feed
// resources. The holder of a token needs no account, and verification needs only the key.
//
// A token is a JWT, signed with HMAC-SHA256 (HS256) and no other algorithm. Its
// claims are [Claims]: a cluster, resources, namespaces, an expiry, and whether it
// is for reading or for feeding. A token grants only the named rights. It cannot be
// revoked, so choose an early expiry.
//
// The first of the [Keys] signs tokens, and every key verifies them. To replace a key,
// insert the new key before it, and remove the old key when the last token signed with it
// has expired. A key is a string of at least [MinKeyBytes] bytes without whitespace,
// which is used unmodified. For example:
//
//	openssl rand -base64 48
//
// [Policy] authorizes requests by token, for host/kubeapi and connectors.
//
// The edge also verifies tokens in JavaScript, where WebSockets are accepted
// (js/src/edge/token.ts). The tests of both implementations read
// testdata/tokens/vectors.json and must agree.
package token
