package client

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// Position identifies the stored state of a collection. The zero value means that no
// state is stored.
type Position struct {
	ResourceVersion api.ResourceVersion
	// ClusterID identifies the history that the version belongs to, such as an etcd
	// cluster.
	ClusterID string
}

// SnapshotOptions are the options of [Collection.Snapshot].
type SnapshotOptions struct {
	// Since is the position of the stored state. The snapshot then contains the
	// changes since that position, if they are available.
	Since Position
	// ChunkBytes is the approximate size of a chunk, at most 1 MiB; default 256 KiB.
	// An object, or an atomic change, is never split.
	ChunkBytes uint32
}

// Chunk is a part of a snapshot.
type Chunk struct {
	// Data is the chunk to store and to pass in [CollectionOptions.Restore]. It
	// contains a checksum and identifies the snapshot and the preceding chunk.
	Data []byte
	// Whole means that the snapshot is a complete state and replaces all stored chunks.
	// Otherwise the snapshot contains the changes since the last one, and its chunks are
	// appended to the stored chunks.
	Whole bool
	// Last marks the last chunk. Without the last chunk, the snapshot is incomplete and
	// unusable.
	Last bool
	// Position identifies the state that the snapshot completes, for use as Since of the
	// next snapshot. It is set only in the last chunk.
	Position Position
}

// Snapshot reads the state of the collection in chunks, for persistence: the complete
// state, or the changes since opts.Since. The collection may change meanwhile. Together,
// the chunks contain the state at the position of the last one. Each chunk is read only
// when the consumer requests it.
//
// An error ends the snapshot and invalidates its chunks. The error is a 503 *api.Status
// if the collection has no state yet, or lacks bodies. It is a 410 if the collection was
// relisted meanwhile or changes faster than the chunks are read; take a new snapshot then.
func (c *Collection) Snapshot(ctx context.Context, opts SnapshotOptions) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		var chunk Chunk
		p := pending{take: func(reply any) { chunk = newChunk(reply.(*wire.SnapshotChunk)) }}
		command := func(id uint32) []byte {
			return (&wire.TakeSnapshot{
				Request: id, Collection: c.id, ChunkBytes: opts.ChunkBytes,
				ResourceVersion: opts.Since.ResourceVersion, ClusterID: opts.Since.ClusterID,
			}).Append(nil)
		}
		for {
			p.done = make(chan error, 1)
			err := ctx.Err()
			if err == nil {
				err = c.client.send(ctx, &p, command)
			}
			if err != nil {
				if p.id != 0 && ctx.Err() != nil {
					c.stopSnapshot(p.id)
				}
				yield(Chunk{}, err)
				return
			}
			if !yield(chunk, nil) {
				if !chunk.Last {
					c.stopSnapshot(p.id)
				}
				return
			}
			if chunk.Last {
				return
			}
			command = func(id uint32) []byte { return (&wire.NextChunk{Request: id}).Append(nil) }
		}
	}
}

// stopSnapshot makes the engine free the snapshot. It ignores errors.
func (c *Collection) stopSnapshot(id uint32) {
	_ = c.client.call(context.Background(), func(l *loop) error {
		return l.step((&wire.NextChunk{Request: id, Stop: true}).Append(nil))
	})
}

func newChunk(f *wire.SnapshotChunk) Chunk {
	return Chunk{
		Data: slices.Clone(f.Data), Whole: f.Whole, Last: f.Last,
		Position: Position{ResourceVersion: f.ResourceVersion, ClusterID: strings.Clone(f.ClusterID)},
	}
}

// RestoreError returns why the state given in [CollectionOptions.Restore] was not
// restored. A state that is corrupt, incomplete, or of another scope or release is not
// restored, and the collection discards it. RestoreError returns nil if the restore
// succeeded or no state was given.
func (c *Collection) RestoreError() error { return c.restoreErr }

// restore passes the stored chunks to the engine. It returns an error only if the
// collection is unusable. If only the state is unusable, it sets restoreErr.
func (c *Collection) restore(ctx context.Context, chunks iter.Seq[[]byte]) error {
	for chunk := range chunks {
		if err := c.hand(ctx, &wire.RestoreChunk{Collection: c.id, Data: chunk}); err != nil || c.restoreErr != nil {
			return err
		}
	}
	return c.hand(ctx, &wire.RestoreChunk{Collection: c.id, End: true})
}

func (c *Collection) hand(ctx context.Context, f *wire.RestoreChunk) error {
	return c.client.call(ctx, func(l *loop) error {
		if l.instance == nil || l.instance != c.restoring {
			c.restoreErr = restarting()
			return nil
		}
		err := l.step(f.Append(nil))
		if f.End {
			c.restoring = nil
		}
		var refusal *api.Status
		if errors.As(err, &refusal) { // the chunk is larger than any valid one
			c.restoreErr = err
			return l.step((&wire.RestoreChunk{Collection: c.id, End: true}).Append(nil))
		}
		return err
	})
}
