// Package view is a live window over a collection: the objects that match a
// selector, in an order, of which the rows from an offset on are shown.
//
// A [View] sees every change of its collection through Changed, at the cost of
// one removal and one insertion in a sorted sequence, and says what the window
// looks like now through Patch. Between two patches any number of changes may
// have come: a patch is the difference between the window last handed out and
// the window now, so a view never falls behind, whatever the rate.
package view
