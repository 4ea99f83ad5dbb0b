// Package kubewatch lists and watches one collection of a Kubernetes API. It follows the
// rules of client-go's reflector, and does no I/O. The engine in direct mode and
// host/source/kube use this package.
//
// # Driving a client
//
// A [Client] has no clock, connections or goroutines. Its driver passes the time to Tick
// before every other call. [Config.Fetch] starts each [Request], a GET whose limits the
// driver enforces. For the response to a request, the driver calls Responded once, then
// Data for pieces of any size, and then Closed or TimedOut. The client ignores responses
// to requests that it has already ended.
//
//	client := kubewatch.New(config)
//	client.Start(kubewatch.Start{From: rv})
//	for client.Running() {
//		client.Tick(now)
//		// Pass one event of one response to the client.
//	}
//
// The [Handler] receives each object with the JSON that the server sent. The object and
// its JSON are valid until the method of the handler returns. The client is not safe for
// concurrent use.
//
// # Phases
//
//	identifying ─ discovering ─┬─ raisingMinimum ─┐          roaming clients
//	                           │                  ├─ requestingList ─ receivingList ─ confirmingList
//	checkingResume ─ watching  └──────────────────┘                                       │
//	                    └─ watching (again and again)  ◀─ confirmingWatch ◀───────────────┘
//
// Every failure ends the run with a status, and the caller decides when to start another
// run. After a 410, the caller lists immediately. After a 429, the caller waits for the
// requested pause. After a 401 or a 403, the caller retries slowly. After any other
// error, it backs off (rules R9, R10). The pause comes from the Retry-After header or
// from details.retryAfterSeconds of the response. An invalid response is reported as a
// 502, which the caller retries, because responses of aggregated APIs are often invalid
// only temporarily.
//
// # Lists
//
// The state is requested as a watch with initial events (rule R4: sendInitialEvents,
// NotOlderThan, bookmarks). If the server rejects this request as invalid, sends other
// events or omits the end mark, the client switches to paged lists (rule R2). If a
// continue token expires, the client requests the next list without pages (rule R3).
//
// After a 410, the client does not list at the expired version. It requests a consistent
// read (rule C36), because the handler treats the end of a list as progress. A list that
// is older than the last delivered version is rejected, so that the state never goes back
// in time.
//
// # Watches
//
// The client opens one watch after another. Each watch starts at the last delivered
// version (rules R5 to R8). The client skips a change whose version is not newer than its
// position, because that change is a repetition. It does not skip a change with the same
// version as the previous change, because several objects may share a version. A version
// is therefore complete, and can be resumed from, only after a later version, a bookmark,
// or the end of the watch. A watch that ends immediately without an event is a failure.
//
// The client requires a new list after half a minute of internal server errors, or if the
// server cannot decode its stored data.
//
// # Progress
//
// Watches are short, because a server sends a bookmark before each watch ends.
// Concurrently with each watch, the client requests the newest version with a consistent
// read of one object. A server without access to its storage cannot answer this read. The
// position is current when the watch has reached the newest version. Changes or the end
// of a watch alone do not suffice, because several servers may share one address and the
// watched server may lag.
//
// # Resumption
//
// Before it resumes, the client requests the newest version. If the server has not
// reached the version to resume from, it lags or was restored from a backup, and the run
// ends.
//
// # Roaming clients
//
// In a browser, the address may lead to a different cluster or to a lagging server from
// one request to the next. Responses do not identify their cluster. A roaming client
// differs in these points:
//
//   - It requests the identity of the cluster first, and discovery for a resource that
//     is not in the catalog.
//   - It confirms the identity when the first watch starts, when a watch starts after a
//     pause, and when a list replaces an older state. Until then, it holds back the data.
//   - Before a list that replaces an older state, it requests the newest version with a
//     consistent read. It rejects a list that is older than that version.
//   - It resumes without a check. It ends the run if the newest version, which it
//     requests concurrently with each watch, is older than its position.
//   - The newest version may arrive before the response to a watch that needs a
//     confirmation. If the newest version is not newer than its position, the client
//     confirms the identity immediately and reports progress. It confirms the identity
//     again when the response begins. The reason is that Firefox reports a response with
//     the first bytes of its body, and a watch without changes sends no bytes until its
//     end.
//
// # Bodies
//
// A body may arrive in pieces of any size (rule P2). A watch is split at line feeds,
// where Kubernetes ends each event. If a line is not a whole event, or if
// [Config.Validate] is set, the client counts brackets and quotes instead. A list is
// parsed item by item, and its members may be in any order. The limits are 16 MiB for one
// object (rule P5), and 4 MiB for a response that is read as a whole.
package kubewatch
