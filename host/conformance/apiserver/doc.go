// Package apiserver tests the connector against a real kube-apiserver with RBAC, on an
// embedded etcd: the output of its source, the data that its readers get, and its
// authorization. Clients of client-go read from the module while the server changes and
// restarts. At the end, the store of each client must equal the state of the server,
// object by object. CONFORMANCE_CHURN=2m makes that test last longer.
//
// The package contains only tests. make conformance builds the server for them, which
// takes minutes the first time.
package apiserver
