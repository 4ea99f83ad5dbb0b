// Package cacher compares core/cacher with the watch cache of kube-apiserver,
// k8s.io/apiserver/pkg/storage/cacher.
//
// Both caches process the same random sequence of changes, progress, passing time and
// relists, for a namespaced or a cluster-scoped resource. Both receive the same requests
// for watches, lists and single objects, some before the first list. Namespaces,
// selectors, resource versions, modes, limits, timeouts and continue tokens are random.
// Every watch must deliver the same events and bookmarks in the same order and end at the
// same position. Every list must have the same items, resource version, continue token
// and remaining count. Every error must have the same code and reason. The tests use the
// library's own functions for the defaulting and validation that kube-apiserver's REST
// layer performs.
//
//	go test ./cacher -worlds 1000 -seed 7
//	go test ./cacher -run '^$' -fuzz '^FuzzWorld$'
//
// Time is virtual on both sides. The library runs goroutines, so the tests synchronize
// with its observable state. They read the counters of dispatched events and of ended
// watches, the timer of bookmarks, and the length of queues. They also wait for the signal
// at the end of a watch's initial events.
//
// The tests do not compare the following, because core/cacher (ours) documents a
// difference or a comparison is impossible:
//
//   - Both send bookmarks with a jitter of up to a quarter of a second. The tests advance
//     time so that the jitter has no effect.
//   - A relist ends the library's watches, whereas ours deliver the difference. The tests
//     compare watches up to the relist.
//   - The library forwards some lists to the storage, which does not exist in these tests.
//     These lists are not compared. Ours may serve them from its history.
//   - With a continue token and resource version "0", the library ignores the limit, as it
//     does for a first page. Ours applies the limit.
//   - If a field selector names the only namespace or object that can match, the library
//     reads only this namespace or object. The library's continue tokens are relative to
//     this narrow scope, and ours to the scope of the request. Lists with such a selector
//     therefore have no limit in these tests.
//   - If a request has several errors, each side may report any of them. Continue tokens
//     are compared by their contents. Ours accepts only the format that both sides write.
//   - Before the first list, the library returns an error, and ours waits. The tests
//     compare the result of ours with a result that the library returns after the list.
//   - The library measures the wait for slow consumers by the machine's clock, and ours by
//     the virtual clock. The tests therefore compare the events of a slow watch, but not
//     the time at which the watch ends.
//   - Ours rejects a resource version with leading zeros, and the library accepts it.
//   - Events that share a resource version do not exist in Kubernetes.
package cacher
