// Package recording records the events that watches deliver, and the changes at their source, in
// files. The validators of core/sim/check validate this history of real processes in the same
// way as a simulated history.
//
// A recording is a file of JSON documents, one per line. Each document has a kind and the
// time at which it was written; [Line] describes the fields of each kind:
//
//	history    the first line: the version of the format, and the resource
//	cluster    the ID of the history that resource versions belong to
//
//	state      the state of the source when its recording began
//	change     one change of one object; changes of one transaction share a version
//	progress   everything up to a version has been recorded
//
//	subscribe  a reader requested the changes after notOlderThan
//	snapshot   the reader received the state as of a version instead
//	list       a program listed a collection
//	watch      a program opened a watch, with its options
//	events     a delivery of that watch
//	closed     the end of that watch
//
//	end        the last line, with the number of lines; without it, the
//	           recording is truncated
//
// Record the source with a program other than the reader under test. Start recording the source
// before the reader starts, and stop after the reader has ended. The two recordings may be in one
// file or in several. Without a recording of the source, [History.Verify] checks only the
// properties of a single watch: filter, order, repetitions, bookmarks and deliveries. With one,
// it checks all properties.
//
// Lines of kind snapshot show which versions a reader skipped. After a relist, a watch
// receives the differences between two states, and not the versions between them.
package recording
