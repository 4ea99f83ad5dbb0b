// Package source defines where a connector gets its objects: a list and watch of one
// resource. Its subpackages implement it, one of them in memory for tests.
// core/catalog describes well-known resources.
//
// A source transports bytes: keys, revisions and raw JSON values. It does not decode
// or filter objects, and has no state between calls. It guarantees the order and
// completeness of the data that it passes to its [Sink]. The contract test in
// package sourcetest checks every source.
package source
