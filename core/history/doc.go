// Package history is the sliding window of a collection's changes: what lets a
// watch start in the past, and a reader resume after a cut, without a list.
//
// It is a ring of events in the order of their resource versions. The ring
// grows and shrinks with the rate of changes so as to span a fresh window of
// time (rules H1 to H5), and knows the oldest resource version it can serve
// without a gap (rules H6 to H10).
package history
