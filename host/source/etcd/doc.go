// Package etcd reads an etcd v3 cluster. It lists a resource in pages at one revision,
// and then watches the later changes. Values are passed on unchanged, so kube-apiserver
// must store JSON (--storage-media-type=application/json).
//
// # Guarantees
//
//   - No gap: the watch continues where the list ended (rules E8, E9).
//   - Complete revisions: etcd splits a revision over several responses only if a watch
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
// The watch uses the gRPC stream of etcd's API and not clientv3.Watch. clientv3.Watch
// reconnects without notifying its caller, so a dead cluster looks like a quiet one. It
// also buffers without a limit for a slow caller. Each watch has its own stream and thus
// its own progress notifications. clientv3.Watch requires distinct context metadata for
// that (rule E27).
//
// Previous values are not requested. They would double the traffic, and a sink already
// has the previous state. A change whose previous value is compacted (rule E13) is
// therefore an ordinary change.
//
// A resume first requests etcd's latest revision. If the resume version is greater,
// the cluster never issued it and was restored from a backup. A watch from such a
// version would be silent until the cluster reaches it, so the stream ends with 410.
//
// # Restores from a backup
//
// The ID of a cluster is derived from its initial cluster token and the URLs of its
// members. By default, a restore keeps both, so the cluster reverts to an older revision
// with the same ID:
//
//   - If its revision is below the last delivered version, the resource is listed again.
//     The connector appends "restored at" and a version to the cluster ID, so the
//     following versions belong to another history, and every reader starts over.
//   - If its revision has reached that version, because of writes in the meantime, the
//     restored cluster cannot be distinguished from the old one. Readers continue.
//     Objects that only the lost history contained remain until they change or are listed
//     again.
//
// Restore with --bump-revision and --mark-compacted, as etcd recommends. Older
// versions are then compacted, and every resume gets 410. Alternatively, give the
// restored cluster a new token (--initial-cluster-token).
package etcd
