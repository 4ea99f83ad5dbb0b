// Package memory is a source for tests. It stores objects in a map, and retains every
// change until Compact is called. Tests can inject faults. The source passes the same
// contract suite as the real sources.
//
// The source behaves like etcd. All resources share one revision counter, and the changes
// of a transaction share a revision. Compaction makes older revisions unavailable (rule
// E19), and progress is reported only on request.
package memory
