// Package sourcetest holds every source to the contract of package source: the
// same suite runs against memory, etcd and kube-apiserver.
//
// Subtests are named after the rules they check. The recorder behind all of
// them checks the invariants at every call (order, whole revisions, progress
// never behind or ahead), so each test adds only what it is about.
package sourcetest
