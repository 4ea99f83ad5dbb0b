// Package kubeapi tests host/kubeapi with its intended clients: kubectl, and the
// reflector, three kinds of informers, the pager and the discovery of client-go.
//
// The clients read from three backends: a connector, the module in wazero behind a
// connector, and an edge behind a connector. The edge is the worker with its Durable
// Object as users deploy it, in workerd. Meanwhile, objects in the source change and
// connections break. In the end, each client's store must equal the state of the source,
// object by object. With CONFORMANCE_CHURN=2m, the changes continue for two minutes.
package kubeapi
