// Package source defines the interface through which a connector lists and watches the
// objects of a resource. The subpackages etcd, kube and memory implement the interface.
// Package memory is a source for tests. core/catalog describes well-known resources.
//
// A source transports bytes: keys, revisions and raw JSON values. It does not filter
// objects, and parses only their keys and versions. A source guarantees the order and
// completeness of the data that it passes to a [Sink]. The contract test in package
// sourcetest checks every source.
package source
