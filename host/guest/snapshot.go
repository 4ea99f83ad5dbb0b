package guest

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// Position is how far the state leads that a program keeps of a collection. The
// zero value is that of a program that keeps nothing.
type Position struct {
	ResourceVersion api.ResourceVersion
	// Source names the history that the version belongs to, such as an etcd
	// cluster.
	Source string
}

// SnapshotOptions of [Collection.Snapshot].
type SnapshotOptions struct {
	// Since is how far the state leads that was kept before. The snapshot then
	// has the changes after it, if it can.
	Since Position
	// ChunkBytes is about how large a chunk is, at most 1 MiB; default 256 KiB.
	// A single object, or what changed at once, is never split.
	ChunkBytes uint32
}

// Chunk is a piece of a snapshot.
type Chunk struct {
	// Data is what to keep and to hand back in [CollectionOptions.Restore]. It
	// has a checksum, and knows what it is of and which chunk comes before it.
	Data []byte
	// Whole: the snapshot is of the whole state and takes the place of all that
	// was kept before; otherwise it has the changes since, and goes behind it.
	Whole bool
	// Last: the snapshot is complete. Before that it is of no use.
	Last bool
	// Position is how far it leads, in the last chunk.
	Position Position
}

// Snapshot reads the state of the collection in chunks, for keeping it: all of
// it, or what changed since it was kept last. The collection goes on changing
// meanwhile; the chunks together are its state as of the position of the last
// one. They are read as the consumer takes them, and it may take its time.
//
// An error ends it, and the chunks before it are of no use. It is a 503
// *api.Status when the collection has no state yet, and a 410 when it was listed
// anew meanwhile or changes faster than it is read: take it again.
func (c *Collection) Snapshot(ctx context.Context, opts SnapshotOptions) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		var chunk Chunk
		p := pending{take: func(reply any) { chunk = newChunk(reply.(*wire.SnapshotChunk)) }}
		command := func(id uint32) []byte {
			return (&wire.TakeSnapshot{
				Request: id, Collection: c.id, ChunkBytes: opts.ChunkBytes,
				ResourceVersion: opts.Since.ResourceVersion, Source: opts.Since.Source,
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

// stopSnapshot tells the engine that nobody asks for more. Nothing is lost if it
// cannot be told.
func (c *Collection) stopSnapshot(id uint32) {
	_ = c.client.call(context.Background(), func(l *loop) error {
		return l.step((&wire.NextChunk{Request: id, Stop: true}).Append(nil))
	})
}

func newChunk(f *wire.SnapshotChunk) Chunk {
	return Chunk{
		Data: slices.Clone(f.Data), Whole: f.Whole, Last: f.Last,
		Position: Position{ResourceVersion: f.ResourceVersion, Source: strings.Clone(f.Source)},
	}
}

// RestoreError is why the state given in [CollectionOptions.Restore] was not
// restored: it was damaged, incomplete, of another scope or of another release.
// Nothing of it is there then. It is nil when all of it was, or none was given.
func (c *Collection) RestoreError() error { return c.restoreErr }

// restore hands the engine what was kept. It fails only when the collection is
// of no use.
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
		if errors.As(err, &refusal) { // larger than any chunk is
			c.restoreErr = err
			return l.step((&wire.RestoreChunk{Collection: c.id, End: true}).Append(nil))
		}
		return err
	})
}
