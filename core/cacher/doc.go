// Package cacher implements the cache of one collection: its current state, the
// window of its recent changes, and the watches on it. It is the watch cache of
// kube-apiserver without goroutines.
//
// The reflector feeds the cache. A [Listing] replaces the state in one step, and
// Apply changes one object. Progress advances the resource version, and Fault records
// an object that could not be read. Clients get lists, single objects and watches
// with the options and responses of Kubernetes (rules C8 to C52). Observers, such as
// views, see every change. Tick is the clock for bookmarks, deadlines, waits and the
// budget for slow consumers.
//
// The parts of a [Cacher] have their own types: [Listing], [Waits] for a version, the
// state of the source ([Upstream]), and the restore of a persisted state ([Restored]).
// Package dispatch implements the dispatcher of watches.
//
// Unlike the watch cache of kube-apiserver, this cache has no storage behind it. It
// therefore differs from that cache in these points:
//
//   - A request that arrives before the first list has completed waits for that list
//     (rules C6, C7). There is no storage to fall back to.
//   - A list or watch without a resource version reads the newest version in the
//     cache (rules C12, C36).
//   - A relist sends watches the difference instead of ending them (rule C3). A watch
//     with [api.PolicyTerminate] still ends if it would receive a deletion.
//
// A Cacher is not safe for concurrent use.
package cacher
