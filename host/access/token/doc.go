// Package token is the right to read, or to feed, as a signed text: who holds
// one needs no account, and who checks one needs nothing but the key.
//
// A token is a JWT, signed with HMAC-SHA256 (HS256) and nothing else. Its claims
// are [Claims]: a cluster, resources, namespaces, a time at which it ends, and
// whether it is for reading or for feeding. What a token does not name it does
// not grant. A token cannot be called back before it ends, so let it end soon.
//
// [Keys] sign and verify. The first key signs and every key verifies, so that a
// key is replaced by putting a new one in front of it, and dropped when the last
// token of it has ended. A key is a text of at least [MinKeyBytes] bytes without
// white space, which is used as it stands:
//
//	openssl rand -base64 48
//
// [Policy] is the answer to who may read what, for host/kubeapi and connectors.
//
// The edge checks tokens in JavaScript as well, where WebSockets are taken in
// (js/src/edge/token.ts). The file testdata/tokens/vectors.json holds both to the
// same verdicts, word for word.
package token
