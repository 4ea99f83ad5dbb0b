// Package storage runs the test suites of the Kubernetes storage layer,
// k8s.io/apiserver/pkg/storage/testing, against the module. Every write goes to an etcd
// through Kubernetes' own store. The engine in wazero serves every read and every watch,
// and a connector feeds it from the same etcd.
//
//	go test ./storage -v
//
// The suites and their options are the same as for kube-apiserver's watch cache. A suite
// that the cache's own test skips is skipped here for the same reason, unless it passes.
// In addition, under both settings of the gate, the suite List skips two rows that it
// marks as not for a watch cache.
//
// # Adapter
//
// [adapter] converts requests of Kubernetes' storage interface to requests of the module,
// and replaces the library's CacheDelegator. It does not change the module's responses.
// Like the library, it forwards some requests to etcd:
//
//   - lists of an exact version, and continued ones, that the cache cannot serve.
//     Either etcd has compacted that version, the module's history does not reach
//     it and returns 410 (rule C45), or the feature gate ListFromCacheSnapshot is
//     off.
//   - objects that the module does not have although it is current. This is usual for a
//     key without an object, or with an invalid object such as one without a name. If
//     etcd has a valid object, the test fails.
//
// A version that etcd has compacted may still be in the module's history, so an exact
// list could be served. Evicting it earlier would have no benefit. The adapter reads from
// etcd only because the suites require that.
//
// Three suites need support. One writes objects of a namespaced resource without a
// namespace, which are treated as cluster-scoped. One requests statistics of the objects
// that the store has read, so the adapter first reads all of them. One asserts that the
// cache does not have a version that no client has requested, so its source reports
// progress only on request.
//
// The storage layer has one request that its clients do not have: a watch from
// version "0" that does not specify initial events. The module treats it as
// kube-apiserver treats it from clients (rule C10), so the adapter omits the end
// marker.
package storage
