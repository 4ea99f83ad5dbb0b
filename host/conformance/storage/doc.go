// Package storage runs the test suites that Kubernetes has for its storage layer,
// k8s.io/apiserver/pkg/storage/testing, against the module: every write goes to
// an etcd through Kubernetes' own store, every read and every watch is answered
// by the engine under wazero, which a connector feeds from the same etcd.
//
//	go test ./storage -v
//
// The suites are those that the watch cache of kube-apiserver is held to, with
// the same options; what its own test leaves out is left out here, each with the
// reason, unless it passes. Beside those, the suite List skips two of its own rows,
// which it marks as not for a watch cache, under either setting of the gate.
//
// # What stands between
//
// [adapter] turns requests of Kubernetes' storage interface into those of the
// guest, in the place of the library's CacheDelegator. It decides nothing about
// what the module answers, and passes on to etcd what the library passes on:
//
//   - lists of an exact version, and continued ones, that the cache cannot serve:
//     because etcd has compacted that version, because the module's history does
//     not reach back so far and it says 410 (rule C45), or because the feature
//     gate ListFromCacheSnapshot is off;
//   - an object that the module does not have although it has everything up to
//     the newest version, which is the rule for a key or an object that is none,
//     such as one without a name. That etcd has a proper one then fails the test.
//
// A version that etcd has compacted is still in the module's history, where an
// exact list would find it: forgetting it sooner would help nobody. That etcd has
// the last word on it here is because the suites ask for that.
//
// Three suites get a hand. One writes objects of a namespaced resource without a
// namespace, which are taken for cluster-scoped ones. One asks for statistics of
// what the store has read, and is read everything to before. One asserts that the
// cache does not know a version that nobody has asked for, so there the source says
// how far it is only when it is asked.
//
// The storage layer knows one thing that its clients do not: a watch from version
// "0" that says nothing of initial events. The module reads that as kube-apiserver
// reads it from clients (rule C10), so the adapter leaves the end marker out.
package storage
