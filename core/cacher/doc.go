// Package cacher is one collection: its current state, the window of its
// recent changes, and the watches on it. It is the watch cache of
// kube-apiserver without the goroutines.
//
// The upstream side feeds it: BeginList, ListObject and EndList replace the
// state in one step, Apply changes one object, Progress moves the resource
// version, Fault names an object that could not be read. The reading side gets
// lists, single objects and watches with the options and answers of Kubernetes
// (rules C8 to C52), and observers that see every change, which is what views
// are built on. Tick is the clock: bookmarks, deadlines, waits and the budget
// for slow consumers hang on it.
//
// An event costs what the watches cost that it concerns, be there ten more or ten
// thousand: an index knows what each selector insists on (rule C24), and nothing
// that happens often goes through all watches.
//
// Where this cache stands in for the storage too, it differs from upstream:
//
//   - A watch or list that comes before the first list waits for it instead of
//     being refused (rules C6, C7): the reader sees the collection's state, and
//     nobody else would answer.
//   - A list or watch without a resource version reads the newest version known
//     here (rules C12, C36); there is no storage to ask.
//   - A relist hands watches the difference instead of ending them (rule C3).
//
// Not safe for concurrent use.
package cacher
