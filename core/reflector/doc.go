// Package reflector keeps one collection up to date from a connector. It subscribes and
// feeds the connector's frames to the cacher. After a disconnect it resumes, or continues
// the list in progress. It relists after a 410, and tracks how current the collection is.
//
// A [Reflector] is driven by connection events (Connected, Disconnected), by frames
// ([Reflector.Receive]) and by the clock. Outgoing returns the frames to send. The
// reflector follows the rules of the Kubernetes client loop (R1 to R12) and three
// additional rules:
//
//   - The resume version advances by whole revisions only.
//   - A new list replaces the old state in one step, when it is complete.
//   - A change is not progress, because it may be old. A collection is stale after three
//     progress periods without progress, even if it is connected.
//
// Changes arrive as differences: a patch of the envelope, and a body delta that requires
// its base. Two numbers describe the bases that the reader has: the delta epoch of the
// connector, and the version since which the reader has the bases of that epoch. If the
// version that a difference applies to is missing, the subscription starts over.
//
// Without a connector, objects arrive one by one ([Direct]).
//
// Persisted state is replayed before the first connection, together with the time of its
// last progress ([Restored]). The objects of persisted state are loaded on demand
// (lazy.go).
package reflector
