package session

import (
	"math"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/wire"
)

// Copy reads a collection for someone who keeps it: the frames are those for a
// reader that subscribes to all of it and leaves when it has caught up. Like a
// subscription it copies no state, and the collection may change meanwhile: what
// was read of it is exact once Next says that it is done.
type Copy struct {
	sub *subscription
}

// copySubscription is the number that the frames of a copy carry.
const copySubscription = 1

// NewCopy begins a copy of a collection that is ready: of what changed since the
// version from of a source, or of everything if from is zero, of another source,
// or too old. Close must be called in the end.
func NewCopy(c *cacher.Cacher, from api.ResourceVersion, source string) (*Copy, *api.Status) {
	if _, status := c.Window().After(from); status != nil || source != c.Source() || from > c.ResourceVersion() {
		from = 0
	}
	f := wire.Subscribe{
		Subscription: copySubscription, ResourceVersion: from, Source: c.Source(), Credit: math.MaxUint64,
	}
	sub, status := newSubscription(new(Session), &f, c.Schema().Resource, c, func() {})
	if status != nil {
		return nil, status
	}
	return &Copy{sub: sub}, nil
}

// From is the version that the changes lead on from; zero for a copy of
// everything.
func (c *Copy) From() api.ResourceVersion { return c.sub.from }

// ResourceVersion is how far the copy leads, once it is done.
func (c *Copy) ResourceVersion() api.ResourceVersion { return c.sub.rv }

// AppendNext appends the next frames to a buffer of length zero that the caller
// has, about limit bytes, and says whether they are the last. A status ends the
// copy: the collection was listed anew meanwhile, or it changes faster than it is
// read.
func (c *Copy) AppendNext(frames []byte, limit int) (_ []byte, done bool, status *api.Status) {
	frames, status = c.sub.fillData(frames, limit)
	if status != nil || !c.sub.caughtUp() {
		return frames, false, status
	}
	if rv := c.sub.cacher.ResourceVersion(); rv > c.sub.rv {
		c.sub.rv = rv
		frames = (&wire.Progress{Subscription: copySubscription, ResourceVersion: rv}).Append(frames)
	}
	return frames, true, nil
}

// Close lets go of the collection.
func (c *Copy) Close() { c.sub.close() }
