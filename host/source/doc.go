// Package source defines where a connector gets its objects from: a list and watch of
// one resource. The implementations are in the packages below it, one of them in
// memory for tests. Well-known resources are described in core/catalog.
//
// A source moves bytes. It knows keys, revisions and raw JSON values. It decodes and
// filters nothing, and keeps no state between calls. It guarantees the order and
// completeness of what it passes to its [Sink]. The contract test in package
// sourcetest checks every source.
package source
