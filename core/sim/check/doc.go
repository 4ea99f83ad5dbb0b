// Package check judges recorded histories: what happened at a source, and what
// watches of it delivered. Each guarantee has a validator and an error of its
// own, so that a failure says which promise was broken:
//
//	Filter        every event is one that the request asked for
//	Ordered       resource versions never go down
//	Unique        no change comes twice
//	Atomic        a revision is not split over deliveries
//	Bookmarkable  a bookmark covers what came before it, and nothing after it
//	Resumable     a watch from a version starts with the change after it
//	Reliable      nothing is missing
//	PrevState     each event leads from what the watcher held to something true
//	Fold          at a bookmark, the events add up to the exact list
//	Selected      a watch with a selector is the filtered full watch
//	Suffix        watches from different versions end alike
//
// The validators know nothing of the engine. They read selectors with a parser
// of their own and compute what should have come from the [Log] alone.
package check
