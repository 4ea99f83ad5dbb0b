// Package connector is the heart of the host: one upstream watch per resource,
// however many readers there are, and every object scanned, stripped and
// compressed once.
//
// An event's way: a source's goroutine calls the [source.Sink] in sink.go;
// decode.go makes an envelope and a compressed body of the raw value, outside
// any lock; the change is applied to the resource's cacher under the
// connector's one lock; the readers whose selectors let it through are woken.
// Each reader has a goroutine that writes: when it is free it pulls its session's
// next message under the lock and sends it outside. While it sleeps, that is done
// for it by one of a few goroutines (tell.go), if its connection takes a message
// without waiting ([TryConn]); what there was no room for is left to the reader's
// own. There is no queue between session and connection, so a slow reader costs
// neither memory nor anybody else's time; what it misses is taken from the cacher's
// history or state when it is ready for it.
//
// # Differences
//
// The body of a modified object is encoded as the difference from an earlier
// version of it, its base, as long as that takes at most three quarters of what
// the base takes; then the new version is a base itself. It is done once for all
// readers; package session decides who has to be brought the base as well. The
// objects of a list are whole.
//
// host/PERFORMANCE.md has the bytes for other shares (P9).
//
// # Confidentiality
//
// No byte derived from an object reaches a reader that may not read the object.
// What readers share is either public or shared by readers of everything:
//
//   - Bodies refer to a dictionary that depends on the resource alone (package
//     skeleton), and to earlier versions of the same object.
//   - A request's [api.Scope] is computed in one place (package selector). The
//     policy decides about it, and the session and the Kubernetes API answer
//     within it: objects, faults, totals and pages.
//   - Encoded changes are only shared by readers without a scope or selector.
//
// Readers do learn that the resource changes elsewhere: resource versions count
// the changes of all of it, and progress moves with them, as bookmarks do in
// Kubernetes.
//
// # Lock and goroutines
//
// [Connector] has one mutex. It guards every cacher, every session and all
// bookkeeping, for the core is single-threaded; it is never held during I/O,
// scanning or compression. Each reader has a second one, which is held by whoever
// writes to it and is not waited for by anybody but the reader's own goroutine. The
// goroutines are: one per upstream watch (run.go), two per reader, of which the
// caller of [Connector.Serve] is one (reader.go), and at most one per processor that
// tells readers of changes. [Connector.Close] waits for all of them.
//
// # Freshness
//
// While a read waits for a version that has not come, here or at a reader, the
// source is asked for progress every tenth of a second (rule C35): a resource in
// which nothing happens would otherwise learn only seconds later that it is up to
// date.
//
// # Faults
//
// A value that is no object, is too large or lies under another object's key
// is a fault of that key alone: its readers are told which and why, they keep
// the last good version, and the watch goes on. A source that fails is asked
// again with growing pauses (rule R10), from where it stopped; only when it
// says 410 is the resource listed anew, beside the state that readers see,
// which changes in one step at the end of the list.
//
// # Limits
//
// Every limit is a field of [Config]. What is bounded by them: the bytes of an
// object, the number of readers, how many messages a second one may send, the
// size of a message to a reader (a single object or transaction may exceed it),
// the time a message may take to leave.
package connector
