// Package history implements the sliding window of recent changes to a collection. With
// it, a watch can start at an earlier resource version, and a client can resume after a
// disconnect without a new list.
//
// The window is a ring of events in order of resource version. The ring grows and
// shrinks with the rate of changes so that it spans a configured time (rules H1
// to H5). The window records the oldest resource version from which it can serve a
// watch without a gap (rules H6 to H10).
package history
