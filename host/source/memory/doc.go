// Package memory is a source for tests. Objects are in a map, every change is
// retained until Compact, and tests inject faults. It passes the same contract suite
// as the real sources.
//
// Its visible behavior is that of etcd: one revision counter for all resources,
// transactions that share a revision, compaction that makes older revisions
// unreachable (rule E19), and progress only on request.
package memory
