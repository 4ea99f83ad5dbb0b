// Package etcd reads an etcd v3 cluster: a paged list at one revision, then a watch
// from the next one. Values are passed on unchanged, so kube-apiserver must store JSON
// (--storage-media-type=application/json).
//
// # Guarantees
//
//   - No gap: the watch continues where the list ended (rules E8, E9).
//   - Whole revisions: etcd splits a response inside a revision only if a watch
//     allows fragments, and this one does not (rule E25).
//   - Never silently stale: the stream asks etcd for progress every few seconds, and
//     at once when a reader waits (rule C35). It ends with an error if etcd is silent
//     for four intervals, if a member loses its leader (rule E10), and if there is no
//     connection for some seconds.
//   - No unbounded buffer: a sink that blocks slows etcd down through gRPC's flow
//     control.
//
// # Rationale
//
// The watch uses the gRPC stream of etcd's API and not clientv3.Watch. That client
// reconnects behind its caller, so a dead cluster looks like a quiet one, and buffers
// without a limit for a slow caller. A separate stream also receives its own progress
// notifications, without marker metadata (rule E27).
//
// Previous values are not requested. A sink keeps the state that it was given, so they
// would double the traffic. In the half-compacted case of rule E13, a change without
// its previous value is then an ordinary change.
//
// A resume first asks etcd for its newest revision. This cluster never issued a
// version beyond it: it was restored from a backup. A watch from such a version would
// be silent until the cluster reaches it, so the answer is 410.
//
// # Restores from a backup
//
// The ID of a cluster is derived from its initial cluster token and the URLs of its
// members. By default, a restore keeps both, and the cluster goes back in time under
// its old name:
//
//   - If it is found below the last version seen, it is listed again. What follows is
//     another history, "restored at" a version: every reader starts over.
//   - If it is found at or beyond that version, because it was written to meanwhile,
//     it cannot be distinguished from the old cluster. Readers continue, and keep
//     objects that only the lost history had until these change or are listed again.
//
// Restore with --bump-revision and --mark-compacted, as etcd recommends: older
// versions are then gone, and every resume gets 410. Or give the restored cluster its
// own token (--initial-cluster-token).
package etcd
