// Package kubeapi tests host/kubeapi with its intended clients: the reflector,
// informers of three kinds, pager and discovery of client-go, and kubectl.
//
// The clients read from three backends: the connector directly, the module under
// wazero behind a connector, and an edge behind a connector. The edge is the
// deployed worker with its Durable Object, in workerd. Meanwhile the source changes
// and connections break. In the end each client's store must equal the state of the
// source, object by object. The churn is longer with CONFORMANCE_CHURN=2m.
package kubeapi
