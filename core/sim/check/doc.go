// Package check validates recorded histories: the changes of a source, and the
// deliveries of its watches. Each guarantee has a validator and an error, so that a
// failure names the violated guarantee:
//
//	Filter        every event matches the request
//	Ordered       resource versions never decrease
//	Unique        no change is delivered twice
//	Atomic        a revision is not split across deliveries
//	Bookmarkable  a bookmark covers all events before it, and none after it
//	Resumable     a watch from a version starts with the change after it
//	Continuable   a watch that continues after an event does not miss the next one
//	Reliable      no change is missing
//	PrevState     each event leads from the state of the watcher to a state of the source
//	Fold          at a bookmark, the events add up to the exact list
//	Selected      a watch with a selector receives the filtered events of the full watch
//	Suffix        watches from different versions receive the same later events
//
// The validators are independent of the engine. They have a separate parser for
// selectors, and compute the expected events from the [Log] alone.
package check
