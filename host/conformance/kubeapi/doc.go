// Package kubeapi tests host/kubeapi with its intended clients: kubectl, and the
// reflector, three kinds of informers, the pager and the discovery of client-go.
//
// The clients read from three backends: a connector, the module in wazero behind a
// connector, and an edge behind a connector. The edge is the deployed worker with
// its Durable Object, in workerd. Meanwhile the source changes and connections
// break. In the end each client's store must equal the state of the source, object
// by object. The churn is longer with CONFORMANCE_CHURN=2m.
package kubeapi
