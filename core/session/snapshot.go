package session

import (
	"math"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/wire"
)

// SnapshotReader reads a collection for persistence. It produces the frames that a reader
// without selectors would receive until that reader has caught up. Like a subscription,
// it does not copy the state, and the collection may change meanwhile. The result is
// exact once Next has returned the last chunk.
type SnapshotReader struct {
	sub *subscription
}

// snapshotSubscription is the subscription number in the frames of a snapshot.
const snapshotSubscription = 1

// NewSnapshotReader starts a snapshot of a collection that is ready. The snapshot contains
// the changes since the version "from" of the given cluster. It contains the whole state if
// that version is zero, outside the window, or of a different cluster. The caller must call
// Close.
func NewSnapshotReader(collection *Collection, from api.ResourceVersion, clusterID string) (*SnapshotReader, *api.Status) {
	c := collection.cacher
	if _, status := c.Window().After(from); status != nil || clusterID != c.Upstream().ClusterID() || from > c.ResourceVersion() {
		from = 0
	}
	f := wire.Subscribe{
		Subscription: snapshotSubscription, ResourceVersion: from, ClusterID: c.Upstream().ClusterID(), Credit: math.MaxUint64,
	}
	sub, status := newSubscription(New(Config{}, nil), &Request{Frame: &f, Resource: c.Schema().Resource}, collection, func() {})
	if status != nil {
		return nil, status
	}
	sub.stores = true
	return &SnapshotReader{sub: sub}, nil
}

// From returns the version that the changes start from, or zero for a complete
// snapshot.
func (c *SnapshotReader) From() api.ResourceVersion { return c.sub.from }

// ResourceVersion returns the version of the snapshot once it is complete.
func (c *SnapshotReader) ResourceVersion() api.ResourceVersion { return c.sub.rv }

// SnapshotChunk is a part of a snapshot that Next has read.
type SnapshotChunk struct {
	Frames []byte
	Body   []byte // objects that belong at the position Info.At of Frames; see wire.Chunk
	Info   wire.ChunkBody
	Last   bool
}

// Next reads the next chunk of about limit bytes. It overwrites the buffers of p. If Next
// returns a status, the snapshot has ended because the collection was relisted, became
// corrupt, or changed faster than the snapshot was read.
func (c *SnapshotReader) Next(p *SnapshotChunk, limit int) (status *api.Status) {
	p.Frames, p.Body, p.Info, p.Last = p.Frames[:0], p.Body[:0], wire.ChunkBody{}, false
	// With a limit of zero, fillData appends only the schema and the faults.
	if p.Frames, status = c.sub.fillData(p.Frames, 0); status != nil {
		return status
	}
	if c.sub.phase == listing {
		c.appendBody(p, limit)
	}
	for before := -1; c.sub.phase != listing && len(p.Frames)+len(p.Body) < limit && len(p.Frames) > before; {
		before = len(p.Frames)
		p.Frames = c.sub.advance(p.Frames, limit-len(p.Body))
	}
	if p.Last = c.sub.caughtUp(); p.Last {
		if rv := c.sub.cacher.ResourceVersion(); rv > c.sub.rv {
			c.sub.rv = rv
			p.Frames = (&wire.Progress{Subscription: snapshotSubscription, ResourceVersion: rv}).Append(p.Frames)
		}
	}
	return c.sub.cacher.Restored().Corrupt()
}

// appendBody reads objects of the snapshot that take about limit bytes of memory when
// they are loaded. The limit applies to memory because the time to load a body is
// proportional to its memory.
func (c *SnapshotReader) appendBody(p *SnapshotChunk, limit int) {
	c.sub.resendSchema()
	for c.sub.phase == listing && len(p.Frames)+int(p.Info.Memory) < limit {
		before := len(p.Body)
		var added stored
		p.Body, added = c.sub.appendStored(p.Body, limit-len(p.Frames)-int(p.Info.Memory))
		p.moveDictionaries(before)
		p.Info.Memory += uint32(added.memory)
		if p.Info.Objects == 0 && added.objects > 0 {
			p.Info.First = api.Key(lite.Clone(string(added.first)))
		}
		p.Info.Objects += uint32(added.objects)
	}
	c.sub.resendSchema()
	if p.Info.Objects == 0 {
		p.Body = p.Body[:0]
	}
	p.Info.At, p.Info.Bytes, p.Info.Sum = uint32(len(p.Frames)), uint32(len(p.Body)), wire.BodySum(p.Body)
}

// moveDictionaries moves Dictionary frames from p.Body[from:] to the end of
// p.Frames. A dictionary is sent only once, but the bodies of later chunks may use it too.
func (p *SnapshotChunk) moveDictionaries(from int) {
	frames := p.Body[from:]
	p.Body = p.Body[:from]
	for len(frames) > 0 {
		t, _, rest, err := wire.Next(frames)
		if err != nil {
			return // unreachable: this package wrote the frames
		}
		frame := frames[:len(frames)-len(rest)]
		if t == wire.TypeDictionary {
			p.Frames = append(p.Frames, frame...)
		} else {
			p.Body = append(p.Body, frame...)
		}
		frames = rest
	}
}

// Close releases the collection.
func (c *SnapshotReader) Close() { c.sub.close() }
