// Package view maintains a live window over a collection. The window has the rows
// from an offset on, of all objects that match a selector, in a given order.
//
// A [View] observes every change of its collection through Changed, and returns
// the changes of the window from Patch. For each row it keeps a sort key, a
// number that sorts like the row's value and is computed once per version. A
// change that preserves the sort key needs no search, and a search compares
// numbers. After a relist the view sorts again, because every object may have
// changed.
//
// A view by owner has the rows of a set of owners. They depend on other
// collections, so the engine sets them before each patch with SetOwners.
//
// A patch is the difference between the window last returned and the current one,
// regardless of the changes in between. A view therefore never falls behind. A
// change that affects neither rows, total nor counts causes no patch.
package view
