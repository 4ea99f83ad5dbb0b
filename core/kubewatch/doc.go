// Package kubewatch lists and watches one collection of a Kubernetes API, by the
// rules of client-go's reflector and without I/O. It is the client of the engine's
// direct mode and of host/source/kube.
//
// # Driving a client
//
// A [Client] has no clock, connections or goroutines. Its driver passes the time to
// Tick before every other call. [Config.Fetch] starts each [Request], a GET whose
// limits the driver enforces. For the response to a request, the driver calls
// Responded once, then Data for pieces of any size, and then Closed or TimedOut. The
// client ignores responses to requests that an earlier call has ended.
//
//	client := kubewatch.New(config)
//	client.Start(kubewatch.Start{From: rv})
//	for client.Running() {
//		client.Tick(now)
//		// Pass one event of one response to the client.
//	}
//
// The [Handler] receives the objects, scanned in place, with the JSON that the server
// sent. The client is not safe for concurrent use.
//
// # Phases
//
//	identifying ─ discovering ─┬─ raisingMinimum ─┐          roaming clients
//	                           │                  ├─ requestingList ─ receivingList ─ confirmingList
//	checkingResume ─ watching  └──────────────────┘                                       │
//	                    └─ watching (again and again)  ◀─ confirmingWatch ◀───────────────┘
//
// Every failure ends the run with a status, and the caller decides when to start
// another one. After a 410 it starts immediately with a list, and after a 429 it
// waits for the requested pause. After a 401 or a 403 it retries slowly. Otherwise
// it backs off (rules R9, R10). A Retry-After header and details.retryAfterSeconds
// become the pause of the status. An invalid response is a 502 that is retried,
// because responses of aggregated APIs are often invalid only temporarily.
//
// # Lists
//
// The state is requested as a watch with initial events (rule R4: sendInitialEvents,
// NotOlderThan, bookmarks). If the server rejects this request as invalid, sends other
// events or omits the end mark, the client switches to paged lists (rule R2). A
// continue token that expires leads to one list without pages (rule R3).
//
// A list after a 410 is not requested at the expired version. It is a consistent read
// (rule C36), because the end of a list promises that nothing is missing. A list that
// is older than the last delivered version is rejected, so that nothing goes back in
// time.
//
// # Watches
//
// Changes arrive from consecutive watches, each from the last delivered version
// (rules R5 to R8). A change that is not newer is a repetition, except that several
// objects may share the version of the previous change. A version is therefore
// complete, and can be resumed from, only after a later version, a bookmark, or the
// end of the watch. A watch that ends immediately without an event is a failure.
//
// After half a minute of internal errors of the server, and after stored data that
// the server cannot decode, the client requires a new list.
//
// # Progress
//
// The watches are short, because a server sends a bookmark before the end. Beside each
// watch, the client requests the newest version with a consistent read of one object.
// A server without access to its storage cannot answer it. The position is current
// when the watch has reached that version. Changes or the end of a watch alone do not
// suffice, because several servers may share one address and the watched server may
// lag.
//
// # Resumption
//
// Before it resumes, the client requests the newest version. It rejects a version that
// the server has not reached, because the server lags or was restored from a backup.
//
// # Roaming clients
//
// Between two requests, the address in a browser may begin to lead to a different
// cluster or to a server that lags. Responses do not identify their cluster. A
// roaming client differs in these points:
//
//   - It requests the identity of the cluster first, and discovery for a resource that
//     is not in the catalog.
//   - It confirms the identity at the start of the first watch, of a watch after a
//     pause, and when a list replaces an older state. It holds the data back until
//     then.
//   - It replaces an older state with a list that is not older than a consistent read
//     directly before it.
//   - It resumes without a check, and ends if the newest version, which it requests
//     concurrently with each watch, is older than its own.
//   - If the newest version arrives before the response to a watch that needs a
//     confirmation, and is not newer than its own, it confirms the identity
//     immediately, and reports progress. It confirms the identity again when the response
//     begins. Firefox reports a response with the
//     first bytes of its body, and a watch without changes has none until its end.
//
// # Bodies
//
// The boundaries between the pieces of a body have no meaning (rule P2). A watch is
// split at line feeds, where Kubernetes ends each event. If a line is not a whole
// event, or if [Config.Validate] is set, the client counts brackets and quotes
// instead. A list is parsed item by item, with its members in any order. One object
// may have 16 MiB (rule P5). A response that is read as a whole may have 4 MiB.
package kubewatch
