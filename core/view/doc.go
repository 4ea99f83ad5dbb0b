// Package view is a live window over a collection: the objects that match a
// selector, in an order, of which the rows from an offset on are shown.
//
// A [View] sees every change of its collection through Changed, and says what
// the window looks like now through Patch. It keeps a number for each row that
// sorts like the row's value, read once per version: a change that leaves it as
// it is costs no search, and a search compares numbers. After a relist the view
// sorts anew, because every object may be another.
//
// Between two patches any number of changes may have come: a patch is the
// difference between the window last handed out and the window now, so a view
// never falls behind, whatever the rate. What leaves rows, total and counts as
// they are makes no patch.
package view
