// Package access decides which objects a user may read.
//
// A [Policy] decides which user a token belongs to, and whether that user may list and
// watch the objects of a subscription or a request. The policies in this package admit
// everyone, or everyone with a valid token. The policy in package kube uses the cluster's
// review APIs. [Enforce] adds the rules that apply to all policies.
//
// # Revocation
//
// A decision is valid until its next review, at most for [ReviewInterval]. The host then
// repeats the decision for every connection, subscription and watch that depends on it.
// After a token or a right is revoked, everything that depends on it therefore ends
// within 60 seconds, if the policy answers reviews within [ReviewTimeout]. Otherwise
// grants stay valid, new requests are refused, and the review is repeated every
// [ReviewRetry]. The expiry of a token ends its grants immediately, without a review.
package access
