// Package kubewatch reads a collection from a Kubernetes API without a connector. It
// lists and watches by the rules of the client loop, without I/O.
//
// A [Feed] takes the place of a connector. The reflector of the collection
// subscribes, and the feed sends the state, or changes after the given version,
// and progress. It requests HTTP paths, and receives for each response its status
// code, its body in pieces of any size, and its end. It scans the objects in
// place and keeps their JSON, except for the parts that package envelope removes.
//
// # The course of a subscription
//
// First the feed requests the identity of the cluster, and discovery for a
// resource that is not in the catalog. It then requests the state as a watch with
// initial events (rule R4). If the server rejects that, sends other events, or
// never marks the end of the initial events, the feed uses a classic list from
// then on. If a continue token expires, it lists without pages (rule R3).
//
// The first state is a consistent read. A later one must be at least as new as
// the last version seen, so that nothing goes back in time. It must also be at
// least as new as a consistent read directly before it, because the end of a list
// promises that nothing is missing.
//
// Between two requests, a different cluster may become reachable at the address,
// and responses do not identify their cluster. The feed therefore requests the
// identity again at the start of the first watch, of a watch after a pause, and
// when a list replaces an older state. It holds the data back until the identity
// is confirmed.
//
// Changes arrive from consecutive watches, each from the last version seen (rules
// R5 to R8). The watches are short, because a server sends a bookmark before the
// end. Beside each watch, the feed requests the newest version with a consistent
// read, which a server without access to its storage cannot answer. It reports
// progress when the watch has reached that version. Changes or the end of a watch
// alone are no progress: behind one address there may be several servers, and the
// watched one may lag.
//
// Several objects may share a version. A version therefore counts as complete,
// and as a version to resume from, only after a later version, a bookmark, or the
// end of the watch.
//
// Every failure ends the subscription with a status, and the reflector decides
// how to continue: it relists after a 410, waits as requested after a 429,
// retries slowly without authorization, and backs off otherwise (rules R9, R10).
// If the watch of a server fails internally for half a minute, the feed requests
// a relist. Meanwhile the collection reports that it is reconnecting, and later
// stale.
package kubewatch
