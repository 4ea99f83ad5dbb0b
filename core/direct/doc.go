// Package direct reads a collection from a Kubernetes API, where there is no
// connector: list and watch by the rules of the client loop, without I/O.
//
// A [Feed] stands where a connector would. The reflector of the collection
// subscribes; the feed answers with the state, or goes on from the version that
// is here, and says how far it has got. It asks for requests by path, and is told
// of each its head, its body in pieces of any size, and its end. The objects are
// scanned where they lie in those pieces, and kept as the JSON that came, less
// what package envelope leaves out.
//
// # How a subscription goes
//
// First the cluster is asked who it is, and of a resource that is in no catalog
// what it looks like. The state comes as a watch that begins with it (rule R4); a
// server that refuses that, sends something else than initial events, ends them or never
// marks their end, is asked for a classic list instead, now and from then on, and
// when a continue token expires under way, for one without pages (rule R3). The
// first state is a consistent read; a later one must not be older than what was
// seen, so that nothing goes back in time, nor than what a consistent read says just
// before is the newest version, since the end of a list says that nothing is missing.
// Between two requests another cluster may come to the address, and nothing in an
// answer says whose it is: when the first watch has begun, or one after a pause, and
// when a list is to follow an older state, the cluster is asked once more who it is,
// and what came is held until it has said so.
//
// Changes come from watches that follow one another, each from the last version
// seen (rules R5 to R8). They are short: before its end a server sends a bookmark.
// Beside each, one consistent read asks for the newest version that there is, which
// a server that has lost its storage cannot answer. Progress is reported when the
// watch has got that far, and not because it brings changes or has ended: behind one
// address there may be several servers, and the one that answered the read not be
// the one that was watched, which may lag behind.
//
// A version may be of several objects, so it counts as whole, and can be gone on
// from, only when a later one has come, a bookmark, or the end of the watch.
//
// Everything that goes wrong ends the subscription with a status. The reflector
// knows what to do: 410 lists anew, 429 waits as long as asked, missing rights
// are asked for again now and then, the rest backs off (rules R9, R10). A server
// whose watch has failed inside for half a minute is listed anew. While nothing
// works, the collection says that it is reconnecting, and then stale.
package direct
