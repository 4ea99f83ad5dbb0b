// Package view maintains a live window over a collection: some successive rows of the
// objects that match a selector, in a given order.
//
// A [View] observes every change of its collection through Changed, and returns
// the changes of the window from Patch. For each row it keeps a sort key, a
// number that sorts like the row's value and is computed once per version. A
// change that preserves the sort key needs no search, and a search compares
// numbers.
//
// Build evaluates all objects when the view opens and after a relist, because every
// object may have changed. It does so in steps of bounded work, and applies changes in
// between. The limits of queries (words, conditions, sort keys, facets, aggregates) bound
// the work per object. A view has no patch before it is built, so its first rows are
// exact.
//
// The views of a collection are in a [Set]. A view may narrow the search of an open view
// with an otherwise equal query. It then only checks the rows of that view and adopts
// their order.
//
// A view by owner has the rows of a set of owners. The owners depend on other
// collections, so the engine sets them before each patch with SetOwners.
//
// A window has an offset, or an anchor: a version of an object, at whose position in the
// order the window stays. The version is found for the first patch after the window was
// moved. Each patch counts the rows before it, and reports the resulting offset.
//
// A patch is the difference between the window last returned and the current one,
// regardless of the changes in between. A view therefore never falls behind. A
// change that affects neither rows, total nor counts causes no patch.
package view
