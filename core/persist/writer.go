package persist

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/reflector"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/wire"
)

const (
	defaultChunkBytes = 256 << 10
	maxChunkBytes     = 1 << 20
)

// Writer writes a snapshot of a collection in chunks. Between two chunks it stores only a
// position, so a slow program does not increase memory use. If the history window moves
// past the position, the program must start over.
type Writer struct {
	reader     *session.SnapshotReader
	scope      reflector.Scope
	clusterID  string
	chunkBytes int
	previous   uint64 // checksum of the last chunk
	// The buffers are reused for the next chunk. New buffers would become garbage
	// faster than the garbage is collected, and the module's memory never shrinks.
	content session.SnapshotChunk
	buffer  []byte
}

// NewWriter returns a writer of the state that reader reads. Each chunk has about
// chunkBytes bytes; zero means 256 KiB, and the limit is 1 MiB. Close also closes reader.
func NewWriter(reader *session.SnapshotReader, scope reflector.Scope, clusterID string, chunkBytes uint32) *Writer {
	size := int(min(chunkBytes, maxChunkBytes))
	if size == 0 {
		size = defaultChunkBytes
	}
	return &Writer{reader: reader, scope: scope, clusterID: clusterID, chunkBytes: size}
}

// Close ends the snapshot and closes the reader.
func (w *Writer) Close() { w.reader.Close() }

// Next returns the next chunk with its body. The caller sets the field Request of the
// chunk. The data is valid until the next call. Do not call Next after the last
// chunk. The argument progressMillis is the time of the last progress of the
// collection.
func (w *Writer) Next(progressMillis int64) (wire.SnapshotChunk, *api.Status) {
	if status := w.reader.Next(&w.content, w.chunkBytes); status != nil {
		return wire.SnapshotChunk{}, status
	}
	chunk := wire.Chunk{
		Resource: w.scope.Resource, Namespace: w.scope.Namespace, LabelSelector: w.scope.LabelSelector,
		FieldSelector: w.scope.FieldSelector, MetadataOnly: w.scope.MetadataOnly,
		ClusterID: w.clusterID, From: w.reader.From(), Previous: w.previous, Last: w.content.Last,
		Frames: w.content.Frames, Body: w.content.Info,
		LastProgressMillis: progressMillis,
	}
	w.buffer = chunk.Append(w.buffer[:0])
	w.previous = wire.ChunkSum(w.buffer)
	w.buffer = append(w.buffer, w.content.Body...)
	reply := wire.SnapshotChunk{Whole: chunk.From == 0, Last: chunk.Last, Data: w.buffer}
	if chunk.Last {
		reply.ResourceVersion, reply.ClusterID = w.reader.ResourceVersion(), chunk.ClusterID
	}
	return reply, nil
}
