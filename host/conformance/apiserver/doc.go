// Package apiserver holds the connector to a real kube-apiserver, on an embedded
// etcd, with RBAC: what its source hands over, what its readers see, and whom it
// lets see it. There is nothing here but tests; make conformance builds the
// server for them, which takes minutes the first time.
package apiserver
