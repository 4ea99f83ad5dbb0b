// Package cacher holds core/cacher against the watch cache of kube-apiserver
// itself, k8s.io/apiserver/pkg/storage/cacher.
//
// Both are fed the same random life: changes, progress, time that passes,
// relists, of a namespaced resource or one that is not. Both are asked the same:
// watches, lists and single objects with random namespaces, selectors, resource
// versions, modes, limits, time-outs and continue tokens, before the first list
// as well. Every watch must tell the same events and bookmarks in the same
// order and end at the same place, every list must have the same items, resource
// version, continue token and remaining count, and every refusal must have the
// same code and reason. What the REST layer of kube-apiserver does to a request,
// defaults and validation, is done with the library's own functions.
//
//	go test ./cacher -worlds 1000 -seed 7
//	go test ./cacher -run '^$' -fuzz '^FuzzWorld$'
//
// Time is virtual on both sides. The library runs goroutines, so the tests wait
// for what it says of itself: its counters of dispatched events and of ended
// watches, the timer of its bookmarks, the signal that a watch's initial events
// are told, how much its queues hold.
//
// What is not compared, each for a reason that core/cacher documents or that
// lies in the nature of the thing:
//
//   - Both hand out bookmarks with a jitter of up to a quarter of a second. Time
//     passes in such a way that it does not matter.
//   - A relist ends the library's watches, and ours are told the difference.
//     Watches are compared up to there.
//   - A list that the library passes on to the storage is not compared: there is
//     no storage. Ours may serve it from its history.
//   - With a continue token and resource version "0" the library ignores the
//     limit, as it does for a first page; ours keeps to it.
//   - Where a field selector names the one namespace or object that can match,
//     the library looks only there, and its continue tokens are relative to
//     there, where it does not look for the next page. Ours tells with a token
//     relative to the request that there is more to examine. Such lists have no
//     limit here.
//   - Of several faults in one request either side may name any. A continue token
//     is compared for what it says; ours reads only tokens written the way both
//     sides write them.
//   - Before the first list the library refuses, and ours waits. What ours
//     answers then is compared with what the library answers when asked again.
//   - The library gives slow consumers time by the clock of the machine, ours by
//     that of the world. So the moment at which a slow watch is ended is not
//     compared; what it tells until then is.
//   - A resource version with leading zeros is refused here and read there.
//   - Events that share a resource version do not exist in Kubernetes.
package cacher
