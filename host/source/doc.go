// Package source is where a connector gets its objects from: the contract of a
// list+watch on one resource, and a memory source for tests. The real sources are
// in the packages below it, the well-known resources in core/catalog.
//
// A source moves bytes. It knows keys, revisions and raw JSON values; it
// decodes nothing, filters nothing and keeps no state between calls. What it
// promises is the order and completeness of what it hands to its [Sink]; the
// contract test in package sourcetest holds every source to that.
package source
