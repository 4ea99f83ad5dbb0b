// Package memory is a source for tests: objects live in a map, every change is
// kept until Compact, and faults happen when the test asks for them. It passes
// the same contract suite as the real sources.
//
// It behaves like etcd where behaviour shows: one revision counter for all
// resources, transactions that share a revision, compaction that makes older
// revisions unreachable (rule E19), and no progress unless asked.
package memory
