// Package memory is a source for tests. Objects are in a map, every change is
// retained until Compact, and tests inject faults. It passes the same contract suite
// as the real sources.
//
// It behaves like etcd. All resources share one revision
// counter, and the changes of a transaction share a revision. Compaction makes
// older revisions unreachable (rule E19), and progress is reported only on
// request.
package memory
