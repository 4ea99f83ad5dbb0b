// Package store holds the objects of one collection without giving the garbage
// collector anything to scan.
//
// A [Heap] keeps object versions. A version never changes; it is named by a
// [Ref] and counted: the current state, the history, the queue of a watcher
// each hold their own count, and the version goes when the last one lets go.
// Envelopes lie in a slab of large byte chunks, label sets are kept once and
// named by small numbers, and a version's record has no pointers. So a
// collection of a million objects is a handful of large slices to the
// collector, and no pause grows with it.
//
// A [Store] is a current state: at most one version per key, found by hash or
// in key order. Each key has a number there, an [ID], that a new version leaves
// as it is: an update touches neither the order nor the hash index, and whoever
// keeps something about objects, such as a view its sort keys, keeps it in a
// slice. What an update of many objects reads can be brought close before it
// ([Store.Seek]). Several stores can share a heap, which is how a relist stages
// the next state beside the present one and pays only for what differs.
//
// Objects that nobody has looked at yet can wait outside of their store, in a [Run]:
// what was kept and restored does. Nobody who asks the store can tell.
//
// An [Ordered] is a sequence of objects by any total order, with positions; the
// key order of a store and the rows of a view are both one.
//
// Nothing here is safe for concurrent use.
package store
