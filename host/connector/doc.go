// Package connector watches each resource of a source once and serves any number of
// readers. It scans each version of an object, removes data such as managed fields, and
// compresses the rest, once for all readers.
//
// The path of an event:
//
//   - A source calls the [source.Sink] in sink.go from its goroutine.
//   - decode.go turns the raw value into an envelope and a compressed body, outside
//     of any lock.
//   - The change is applied to the cacher of its resource, under the connector's
//     lock. The cacher wakes the readers whose selectors match.
//   - Each reader has a writing goroutine. It pulls the next message from its session under
//     the lock, and writes it without the lock. While that goroutine sleeps, one of a few
//     shared goroutines (sendpool.go) writes in its place if the connection accepts a message
//     without blocking ([NonblockingConn]). The reader's own goroutine writes the rest.
//
// There is no queue between session and connection. A slow reader costs no memory and does
// not delay other readers. When it is ready, its session continues from the cacher's
// history or state.
//
// # Deltas
//
// The body of a modified object is encoded as a delta against an earlier version, its
// base. If the delta exceeds three quarters of the base, the new version becomes a base
// instead. All readers share the encoding. Package session decides which readers also need
// the base. Objects of a list are never encoded as deltas.
//
// host/PERFORMANCE.md compares other thresholds (P9).
//
// # Confidentiality
//
// No byte derived from an object reaches a reader that may not read the object. Readers
// share only public data and data that all of them may read completely:
//
//   - Bodies refer to a dictionary that depends on the resource alone (package
//     skeleton), and to earlier versions of the same object.
//   - The [api.Scope] of a request is computed in one place (package selector). The policy
//     permits or refuses it. The session and the Kubernetes API limit objects, faults,
//     totals and pages to this scope.
//   - Only subscriptions to all objects of a resource share encoded changes.
//
// Readers do learn that other objects of the resource change. Every change to the
// resource advances its resource versions, and progress reports them, as bookmarks do in
// Kubernetes.
//
// # Lock and goroutines
//
// [Connector] has one mutex. It guards every cacher, every session and all bookkeeping,
// because the core is single-threaded. The mutex is never held during I/O, scanning or
// compression of bodies. A block of a snapshot is compressed under the mutex, once for all
// readers. Each reader has a second mutex for writing to its connection; only the reader's
// own goroutine waits for the second mutex.
//
// There is one goroutine per upstream watch (run.go), and two per reader, one of them the
// caller of [Connector.Serve] (reader.go). At most one goroutine per processor writes for
// sleeping readers. [Connector.Close] waits for all of these goroutines.
//
// # Freshness
//
// While a local read or a reader waits for a newer version, the connector requests
// progress from the source every 100 ms (rule C35). Otherwise a read of an idle resource
// would wait for seconds.
//
// # Faults
//
// A value that does not parse, is too large or is stored under the key of another object
// causes a fault. A fault affects only the object with this key. Readers receive the key
// and the reason, keep the last good version, and continue. When a source fails, the
// connector resumes from its last position after increasing pauses (rule R10). It relists
// the resource only after a 410. Readers keep the old state until the list is complete,
// and then receive the differences in one step.
//
// # Limits
//
// Package limit lists the limits with their defaults. Config.Limits sets them.
// Config.MessageBytes sets the target size of a message to a reader, which a single object or
// transaction may exceed.
package connector
