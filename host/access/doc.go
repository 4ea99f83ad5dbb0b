// Package access decides who may read what.
//
// A [Policy] makes two decisions: which user presents a token, and whether that
// user may list and watch what a subscription or a request names. Policies here
// admit everyone, or everyone who knows a token; package kube has the one that
// asks the cluster. [Enforce] wraps a Policy with what holds for all of them.
//
// # Revocation
//
// A decision in favor of a user has a time at which it is to be reviewed, and no
// decision stands for longer than [ReviewInterval]. The host repeats it then for
// every connection, subscription and watch that was granted on it. So what was
// granted on a token or a right ends within 60 seconds of its revocation, as long
// as the policy answers reviews within [ReviewTimeout]. If it does not, what was
// granted stays granted, nothing more is granted, and the review is repeated every
// [ReviewRetry]. The expiry of a token ends what was granted on it at once, without
// a review.
package access
