// Package apiserver tests the connector against a real kube-apiserver with RBAC, on an
// embedded etcd. It covers the output of the source, the data that readers receive, and
// authorization. In one test, clients of client-go read from the module while objects
// change and the server restarts. At the end, the store of each client must equal the
// state of the server, object by object. CONFORMANCE_CHURN=2m extends this test.
//
// The package contains only tests. make conformance builds the server for them, which
// takes minutes the first time.
package apiserver
