// Package view maintains a live window over a collection: a range of the objects that match
// a query, in a given order.
//
// A [View] observes every change to its collection through Changed, and returns the changes to
// the window from Patch. For each row it keeps a sort key, a number that sorts like the row's
// value and is computed once per version. A change that preserves the sort key needs no search,
// and a search compares numbers.
//
// Build evaluates all objects when the view opens, again after a relist, which may change
// every object, and when there is no room for the sort keys of new texts. It works in steps of
// bounded duration, and changes are applied between the steps. The limits of queries (words, conditions, sort keys, facets,
// aggregates) bound the work per object. A view has no patch before it is built, so its
// first rows are exact.
//
// The views of a collection are in a [Set]. A view may narrow the search of an open view
// with an otherwise equal query. It then only checks the rows of that view and adopts
// their order.
//
// A view by owner contains the objects that belong to one of a set of owners. The owners
// depend on other collections, so the engine sets them before each patch with SetOwners.
//
// A window is positioned by an offset or by an anchor. An anchor is a version of an
// object, and the window stays at the position of that version in the order. A move names
// only the object: the next patch anchors the window at the version of the object in the
// window last returned, or else at its current version. Each patch counts the rows before
// the anchor, and reports the resulting offset.
//
// A patch is the difference between the window last returned and the current one,
// regardless of the changes in between. A view therefore never falls behind. A change that
// affects neither the rows of the window, the total nor the counts causes no patch.
package view
