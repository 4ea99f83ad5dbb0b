// Package cacher implements the cache of one collection: its current state, the
// window of its recent changes, and the watches on it. It is the watch cache of
// kube-apiserver without goroutines.
//
// The reflector feeds it. BeginList, ListObject and EndList replace the state in
// one step, and Apply changes one object. Progress advances the resource version,
// and Fault names an object that could not be read. Clients get lists, single
// objects and watches with the options and responses of Kubernetes (rules C8 to
// C52). Observers, such as views, see every change. Tick is the clock for
// bookmarks, deadlines, waits and the budget for slow consumers.
//
// The cost of an event is proportional to the number of watches it matches, not
// to the number registered. An index maps selector terms to watches (rule C24),
// and no frequent operation iterates over all watches.
//
// This cache also replaces the storage. It differs from upstream in these
// points:
//
//   - A watch or list that arrives before the first list waits for it instead
//     of failing (rules C6, C7), because no storage could answer it.
//   - A list or watch without a resource version reads the newest version in the
//     cache (rules C12, C36).
//   - A relist sends watches the difference instead of ending them (rule C3).
//
// A Cacher is not safe for concurrent use.
package cacher
