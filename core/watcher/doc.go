// Package watcher is one Kubernetes watch: which events it sees and as what,
// what it gets first, when it is sent bookmarks, and how it ends.
//
// A [Watcher] has a bounded input queue that the dispatcher admits events to
// and a bounded output queue that the consumer takes from, as the watch cache
// of kube-apiserver has. What are goroutines there are calls here: [Watcher.Run]
// does what the delivery loop would do now, and nothing ever waits. Rules W1 to
// W42 of the semantics are cited beside the code that keeps them.
//
// An [Index] finds the filters that a change may concern without asking the
// others.
//
// A [Filter] decides whether a version matches a watch, and [Filter.Convert] turns a
// change of the collection into the change that a filtered reader sees. Views
// and sessions use both, so that every reader agrees on what a selector means.
package watcher
