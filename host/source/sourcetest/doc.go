// Package sourcetest contains the contract test of package source. The same suite
// runs against memory, etcd and kube-apiserver.
//
// Subtests are named after the rules they check. All subtests use a recorder that checks
// the invariants at every call (order, complete revisions, exact progress). Each subtest
// adds its own checks.
package sourcetest
