// Package apiserver holds the connector to a real kube-apiserver, on an embedded
// etcd, with RBAC: what its source hands over, what its readers see, and whom it
// lets see it. Clients of client-go read from the module behind it, while the
// server changes and restarts; in the end each client's store must be what the
// server has, object by object. That lasts longer with WATCHGLASS_CHURN=2m.
//
// There is nothing here but tests; make conformance builds the server for them,
// which takes minutes the first time.
package apiserver
