// Package store keeps the objects of one collection in memory that the garbage
// collector does not scan.
//
// An [Arena] stores object versions. A version is immutable, named by a [Ref] and
// reference-counted. The current state, the history and the queues of watchers
// hold references of their own. The arena frees a version when its last reference
// is released. Envelopes are stored in large byte chunks, label sets are
// interned, and the record of a version contains no pointers. To the garbage
// collector, a collection of a million objects is a handful of large slices.
//
// Bodies of neighboring objects that arrive compressed together, in a block, remain in the
// block. A version then has a [MemberRef], and [Arena.Body] decompresses the block. Changed
// objects have bodies of their own. When versions use only a few bodies of a block,
// [Arena.Repack] takes these bodies out of the block.
//
// A [Store] is the current state of a collection: at most one version per key, with lookup by
// hash and iteration in key order. Each key has an [ID] that updates do not change. An update
// therefore touches neither the order nor the hash index. Other packages use the ID as a slice
// index for per-object data, such as the sort keys of a view. [Store.Prefetch] prefetches the
// memory that a batch of updates reads. Several stores can share an arena: a relist stages the
// next state beside the current one and adds only the versions that differ.
//
// A [Segment] is a range of keys whose objects a restore has not yet loaded into the
// store. Reads load the segment on demand, so callers of the store do not observe it.
//
// An [Ordered] is a sequence of objects in any total order, with positions. A store uses
// an Ordered for key order, and a view uses one for its rows.
//
// The types of this package are not safe for concurrent use.
package store
