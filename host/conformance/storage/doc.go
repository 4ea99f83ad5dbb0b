// Package storage runs the test suites of the Kubernetes storage layer,
// k8s.io/apiserver/pkg/storage/testing, against the module. Every write goes to an etcd
// through Kubernetes' own store. The engine in wazero serves every read and every watch,
// and a connector feeds it from the same etcd.
//
//	go test ./storage -v
//
// The suites and their options are the same as in the tests of kube-apiserver's watch
// cache. If these tests skip a suite, this package also skips the suite, unless the suite
// passes here. The suite List skips two cases that it marks as not for a watch cache, with
// the feature gate ListFromCacheSnapshot on or off.
//
// # Adapter
//
// [adapter] converts requests of Kubernetes' storage interface to requests of the module,
// and replaces the library's CacheDelegator. It does not change the module's responses.
// Like the library, it forwards some requests to etcd:
//
//   - lists of an exact version, and continued lists, that the cache cannot serve. Either
//     etcd has compacted the version, the module returns 410 because its history does not
//     contain the version (rule C45), or the feature gate ListFromCacheSnapshot is off.
//   - single objects that a current module does not have. Usually, the key has no object,
//     or an invalid object such as one without a name. If etcd has a valid object, the
//     test fails.
//
// The module's history may still contain a version that etcd has compacted, so the module
// could serve an exact list of this version. The adapter reads from etcd only because the
// suites require the error of etcd.
//
// Three suites need a special adapter. One suite writes objects of a namespaced resource
// without a namespace; the adapter treats them as cluster-scoped. One requests statistics
// of the objects that the store has read, so the adapter first reads all objects. One
// asserts that the cache has not reached a version that no client has requested, so the
// source reports progress only on request.
//
// The storage layer accepts one request that clients cannot send: a watch from version "0"
// that does not specify initial events. The module treats this watch as kube-apiserver
// treats it for clients (rule C10). The adapter therefore omits the bookmark at the end of
// the initial events.
package storage
