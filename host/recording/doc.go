// Package recording keeps what watches delivered, and what happened at their
// source, in files that the validators of core/sim/check can judge afterwards:
// a history of real processes gets the same scrutiny as a simulated one.
//
// A recording is a file of JSON documents, one a line, each with a kind and the
// time at which it was written (see [Line] for the fields of each kind):
//
//	history    the first line: the version of the format, and the resource
//	source     the name of the history that resource versions belong to
//
//	state      what there was at the source when its recording began
//	change     one change of one object; changes of one transaction share a version
//	progress   everything up to a version has been recorded
//
//	subscribe  a reader asked its connector for what came after notOlderThan
//	snapshot   and got the state as of a version instead
//	list       a program listed a collection
//	watch      a program opened a watch: what it asked for
//	events     a delivery of that watch
//	closed     the end of that watch
//
//	end        the last line, with how many there are: without it the recording
//	           was cut short
//
// What happened at the source should be recorded by somebody else than the
// reader that is to be judged, and from before it starts until after it ends.
// The two may be in one file or in several. Without the source, [Verify] judges
// what a watch alone can tell: filter, order, repetitions, bookmarks and
// deliveries. With it, everything.
//
// The snapshots tell which versions a reader had to skip: after a relist a watch
// is sent the difference between two states, and not what lay between.
package recording
