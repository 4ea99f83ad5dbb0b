// Package cacher compares core/cacher with the watch cache of kube-apiserver,
// k8s.io/apiserver/pkg/storage/cacher.
//
// Both process the same random sequence of changes, progress, passing time and relists,
// of a namespaced or a cluster-scoped resource. Both receive the same requests for
// watches, lists and single objects, some of them before the first list. Namespaces,
// selectors, resource versions, modes, limits, timeouts and continue tokens are random.
// Every watch must deliver the same events and bookmarks in the same order and end at the
// same position. Every list must have the same items, resource version, continue token
// and remaining count. Every error must have the same code and reason. The tests use the
// library's own functions for the defaulting and validation that kube-apiserver's REST
// layer does.
//
//	go test ./cacher -worlds 1000 -seed 7
//	go test ./cacher -run '^$' -fuzz '^FuzzWorld$'
//
// Time is virtual on both sides. The library runs goroutines, so the tests synchronize
// with its observable state. They read the counters of dispatched events and of ended
// watches, the timer of bookmarks, and the length of queues. They also read the signal at
// the end of a watch's initial events.
//
// The tests do not compare the following. Either core/cacher documents the
// difference, or the comparison is impossible:
//
//   - Both send bookmarks with a jitter of up to a quarter of a second. The tests advance
//     time so that the jitter has no effect.
//   - A relist ends the library's watches, whereas ours deliver the difference.
//     Watches are compared up to the relist.
//   - The library forwards some lists to the storage, which does not exist in these
//     tests. These lists are not compared. Ours may serve them from its history.
//   - With a continue token and resource version "0", the library ignores the
//     limit, as it does for a first page. Ours applies it.
//   - If a field selector names the only namespace or object that can match, the library
//     reads only that namespace or object. Its continue tokens are relative to that
//     scope, but the next request uses the wider scope. Our tokens are relative to the
//     request, so more objects may remain to be examined. Lists with such a selector have
//     no limit in these tests.
//   - If a request has several errors, each side may report any of them. Continue
//     tokens are compared by their contents. Ours accepts only the format that both
//     sides write.
//   - Before the first list, the library returns an error, and ours waits. The result of
//     ours is then compared with the result of the library's retry.
//   - The library measures the wait for slow consumers by the machine's clock, and ours
//     by the virtual clock. The time at which a slow watch ends is therefore not
//     compared, but its events until then are.
//   - Ours rejects a resource version with leading zeros, and the library accepts it.
//   - Events that share a resource version do not exist in Kubernetes.
package cacher
