// Package etcd is the source that reads an etcd v3 cluster: a paged list
// pinned to one revision, then a watch from the next one. Values are taken as
// they are; a Kubernetes API server must therefore be told to store JSON
// (--storage-media-type=application/json).
//
// # What it guarantees, and how
//
//   - No gap: the watch goes on where the list ended (rules E8, E9).
//   - Whole revisions: etcd splits a response inside a revision only when a
//     watch allows fragments, so ours does not (rule E25).
//   - Never silently stale: it asks etcd for progress every few seconds, and at
//     once when somebody waits for it (rule C35). A stream on which etcd stays
//     silent for four intervals ends with an error. A member that lost its leader
//     ends it too (rule E10), and so does having no connection for some seconds.
//   - No unbounded buffer: a sink that blocks holds etcd back through gRPC's
//     flow control.
//
// # Rationale
//
// The watch uses the gRPC stream of etcd's API and not clientv3.Watch, which
// reconnects behind its caller's back (a dead cluster looks like a quiet one)
// and buffers without limit for a slow caller. A stream of its own also makes
// progress answers its own, without marker metadata (rule E27).
//
// Previous values are not asked for: a sink keeps the state it was given, so
// they would double the traffic for nothing. The half-compacted case of rule
// E13, a change without its previous value, is then an ordinary change.
//
// A resume asks etcd for its newest revision first. A version beyond it was
// never given out by this cluster (it was restored from a backup), and a watch
// from there would keep silent until the cluster happened to get that far; the
// answer is 410.
//
// # Restores from a backup
//
// The id of a cluster, by which it identifies itself, is made of its initial
// cluster token and the URLs of its members. A restore with the same of both, which
// are the defaults, keeps it. The cluster then goes back in time under its old name:
//
//   - Found below the version that was seen, it is listed anew, and what follows is
//     another history, "restored at" a version: every reader starts over.
//   - Found at or beyond that version, because it was written to before anybody
//     looked, it cannot be told from the cluster that it was. Readers go on, and
//     keep what only the lost history had until it changes or they list anew.
//
// Restore with --bump-revision and --mark-compacted, as etcd advises for watchers
// of every kind: older versions then are gone, and the answer to all is 410. Or
// give the restored cluster a token of its own (--initial-cluster-token).
package etcd
