// Package persist stores the state of a collection as chunks, and restores it from them.
// A restarted program then has its objects immediately, and resumes from their resource
// version without a list.
//
// A chunk is the frame [wire.Chunk] and the body that follows it. Both contain frames
// that a connector sends, in the order in which a reader without selectors receives them.
// A [Writer] produces chunks from a [session.SnapshotReader]. A [Reader] replays chunks
// on a reflector that was never connected. Each chunk contains the checksum of its
// predecessor, so the Reader detects a missing or foreign chunk. A later Writer can
// continue from the version of an earlier Writer, with chunks that contain only changes.
//
// This package does no I/O: the program stores chunks and their bodies. Bodies may stay
// in the program's storage until an object in them is read:
//
//   - core/reflector/lazy.go implements an unloaded body,
//   - core/store/segment.go finds the body of a key,
//   - core/cacher/restored.go fails all reads once a body is missing or corrupt.
//
// The programs that store chunks are a Durable Object (js/src/edge/storage.ts), a browser
// page (js/src/persistence) and the Go client. They use the frames TakeSnapshot,
// NextChunk, SnapshotChunk and RestoreChunk.
package persist
