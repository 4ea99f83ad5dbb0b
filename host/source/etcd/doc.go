// Package etcd reads an etcd v3 cluster. It lists a resource in pages at one revision,
// and then watches the later changes. The source passes values on unchanged, so
// kube-apiserver must store JSON (--storage-media-type=application/json).
//
// # Guarantees
//
//   - No gap: the watch continues where the list ended (rules E8, E9).
//   - Complete revisions: etcd splits a revision over several responses only if a watch
//     allows fragments, and the watches of this package do not (rule E25).
//   - Never silently stale: the stream requests progress from etcd every few seconds, and
//     immediately when a reader waits (rule C35). The stream ends with an error if etcd
//     is silent for four intervals, a member loses its leader (rule E10), or no
//     connection exists for a few seconds.
//   - No unbounded buffer: a sink that blocks slows etcd down through gRPC's flow
//     control.
//
// # Rationale
//
// The watch uses the gRPC stream of etcd's API and not clientv3.Watch. clientv3.Watch
// reconnects without notifying its caller, so a dead cluster looks like a quiet one.
// clientv3.Watch also buffers without a limit for a slow caller. Each watch has its own
// stream and thus its own progress notifications. clientv3.Watch opens separate streams
// only for contexts with distinct metadata (rule E27).
//
// The watch does not request previous values. They would double the traffic, and a sink
// already has the previous state. The source therefore handles a change whose previous
// value is compacted (rule E13) like any other change.
//
// A resume first requests etcd's latest revision. If the resume version is greater, the
// cluster never issued it and was restored from a backup. A watch from that version would
// be silent until the cluster reaches it, so the stream ends with 410.
//
// # Restores from a backup
//
// The ID of a cluster is derived from its initial cluster token and the URLs of its
// members. By default, a restore keeps the token and the URLs, so the cluster reverts to
// an older revision with the same ID:
//
//   - If the revision of the cluster is below the last delivered version, the connector
//     lists the resource again. The connector appends "restored at" and a version to the
//     cluster ID, so the following versions belong to another history, and every reader
//     starts over.
//   - If new writes have already raised the revision to that version, the restored
//     cluster cannot be distinguished from the old one. Readers continue. Objects that
//     only the lost history contained remain until they change or are listed again.
//
// Restore with --bump-revision and --mark-compacted, as etcd recommends. After such a
// restore, older versions are compacted, and every resume ends with 410. Alternatively,
// give the restored cluster a new token (--initial-cluster-token).
package etcd
