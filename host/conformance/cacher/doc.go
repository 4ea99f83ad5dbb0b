// Package cacher holds core/cacher against the watch cache of kube-apiserver
// itself, k8s.io/apiserver/pkg/storage/cacher.
//
// Both are fed the same random life: changes, progress, time that passes,
// relists. Both are asked the same: watches and lists with random namespaces,
// selectors, resource versions, modes, limits and continue tokens. Every watch
// must tell the same events in the same order, every list must have the same
// items, resource version, continue token and remaining count, and every
// refusal must have the same code and reason. What the REST layer of
// kube-apiserver does to a request, defaults and validation, is done with the
// library's own functions.
//
//	go test ./cacher -worlds 1000 -seed 7
//
// Time is virtual on both sides. The library runs goroutines, so the tests wait
// for it to have told what ours has told, and then compare.
//
// What is not compared, each for a reason that core/cacher documents or that
// lies in the nature of the thing:
//
//   - Periodic bookmarks are a matter of timing. They must not overtake: no
//     event that follows one is older. The bookmark that ends the initial events
//     is compared, with its place and its version.
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
//   - Before the first list the library refuses, and ours waits.
//   - How long a consumer may be slow depends on the clock, so none is.
//   - A resource version with leading zeros is refused here and read there.
//   - Events that share a resource version do not exist in Kubernetes.
package cacher
