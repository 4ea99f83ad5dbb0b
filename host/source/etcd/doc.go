// Package etcd reads an etcd v3 cluster. It lists a resource in pages at one revision,
// and then watches the later changes. Values are passed on unchanged, so kube-apiserver
// must store JSON (--storage-media-type=application/json).
//
// # Guarantees
//
//   - No gap: the watch continues where the list ended (rules E8, E9).
//   - Complete revisions: etcd splits a response inside a revision only if a watch
//     allows fragments, and this one does not (rule E25).
//   - Never silently stale: the stream requests progress from etcd every few seconds, and
//     immediately when a reader waits (rule C35). It ends with an error if etcd is silent
//     for four intervals, a member loses its leader (rule E10), or no connection exists
//     for some seconds.
//   - No unbounded buffer: a sink that blocks slows etcd down through gRPC's flow
//     control.
//
// # Rationale
//
// The watch uses the gRPC stream of etcd's API and not clientv3.Watch. That client
// reconnects without notice, so a dead cluster looks like a quiet one. It also buffers
// without a limit for a slow caller. A separate stream also receives its own progress
// notifications, without marker metadata (rule E27).
//
// Previous values are not requested. A sink keeps the previous state, so they would
// double the traffic. In the half-compacted case of rule E13, a change without its
// previous value is then an ordinary change.
//
// A resume first requests etcd's latest revision. If the resume version is greater,
// the cluster never issued it and was restored from a backup. A watch from such a
// version would be silent until the cluster reaches it, so the stream ends with 410.
//
// # Restores from a backup
//
// The ID of a cluster is derived from its initial cluster token and the URLs of its
// members. By default, a restore keeps both, and the cluster goes back in time under
// its old name:
//
//   - If its revision is below the last delivered version, the resource is listed again.
//     The following versions belong to another history, "restored at" a version, and
//     every reader starts over.
//   - If its revision has reached that version, because of writes in the meantime, the
//     restored cluster cannot be distinguished from the old one. Readers continue, and
//     keep objects that only the lost history contained until these change or are listed
//     again.
//
// Restore with --bump-revision and --mark-compacted, as etcd recommends. Older
// versions are then compacted, and every resume gets 410. Alternatively, give the
// restored cluster a new token (--initial-cluster-token).
package etcd
