// Package sourcetest contains the contract test of package source. The same suite
// runs against memory, etcd and kube-apiserver.
//
// Subtests are named after the rules they check. Their common recorder checks the
// invariants at every call (order, complete revisions, exact progress). Each test
// adds its own checks.
package sourcetest
