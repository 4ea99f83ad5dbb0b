// Package source is where a connector gets its objects from: the contract of a
// list+watch on one resource. The sources are in the packages below it, among them
// one in memory for tests; the well-known resources are in core/catalog.
//
// A source moves bytes. It knows keys, revisions and raw JSON values; it
// decodes nothing, filters nothing and keeps no state between calls. What it
// promises is the order and completeness of what it hands to its [Sink]; the
// contract test in package sourcetest holds every source to that.
package source
