// Package watcher implements one Kubernetes watch: its initial events, the
// filtering and conversion of changes, its bookmarks and its end.
//
// A [Watcher] has the two bounded queues of a watch in kube-apiserver's watch cache. The
// dispatcher admits events to the input queue, and the consumer takes them from the
// output queue. A Watcher has no goroutines. [Watcher.Run] delivers all events that can
// be delivered now, and never blocks. Comments cite the rules W1 to W42 of
// core/SEMANTICS.md.
//
// A [Filter] decides whether a version matches a watch. [Filter.Convert] turns a change
// of the collection into the event that a filtered client receives. Views and sessions
// use the same filter and conversion, so selectors have the same meaning for every
// client.
package watcher
