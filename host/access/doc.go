// Package access decides who may read what.
//
// A [Policy] is asked twice: who presents a token, and whether that user may
// list and watch what a subscription or a request names. The host asks it when
// somebody connects and subscribes, and again every minute, so that a right that
// is withdrawn ends what was granted on it. Policies here let everyone in, or
// everyone who knows a token; package kube has the one that asks the cluster.
package access
