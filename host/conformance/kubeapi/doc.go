// Package kubeapi holds host/kubeapi against the clients that it is for: the
// reflector, informers of three kinds, pager and discovery of client-go, and
// kubectl.
//
// They read from the connector directly, from the module under wazero behind a
// connector, and from an edge that a connector feeds: the worker that is deployed
// and its Durable Object, in workerd. Meanwhile a source changes and connections
// break. In the end each
// client's store must be what the source has, object by object. The churn is
// longer with WATCHGLASS_CHURN=2m.
package kubeapi
