package cacher

import "github.com/watchglass/watchglass/core/api"

// freshnessMillis is how long a read waits for a future version (rule C34).
const freshnessMillis = 3000

// wait is a read that requires the collection to be ready and at rv or later.
type wait struct {
	rv       api.ResourceVersion
	deadline int64 // zero until the collection is ready
	done     func(*api.Status)
}

// WhenFresh calls done with nil when the collection is ready and at rv or later,
// which may be immediately. If the collection does not reach rv within three
// seconds of being ready, it calls done with a 504.
func (c *Cacher) WhenFresh(rv api.ResourceVersion, done func(*api.Status)) {
	if c.Fresh(rv) {
		done(nil)
		return
	}
	w := wait{rv: rv, done: done}
	if c.ready {
		w.deadline = c.at.Now + freshnessMillis
	}
	c.waits = append(c.waits, w)
}

// BeginRevision defers the end of waits until the next EndRevision, Progress, EndList or Tick.
// Callers use it while they apply several changes with the same resource version,
// because until the last one the collection is incomplete at that version.
func (c *Cacher) BeginRevision() { c.held = true }

// Fresh reports whether the collection is ready and at rv or later.
func (c *Cacher) Fresh(rv api.ResourceVersion) bool { return c.ready && rv <= c.at.Version }

// RequestProgress records that a follower waits for a newer version.
func (c *Cacher) RequestProgress() { c.progressRequested = true }

// HasWaiters reports whether a local read, or a follower that called RequestProgress since
// the last update, waits for a newer version (rule C35).
func (c *Cacher) HasWaiters() bool {
	return c.ready && (c.progressRequested || len(c.waits) > 0 || c.watches.SuspectsLost())
}

func (c *Cacher) wakeFresh() {
	if !c.ready || c.held {
		return
	}
	if c.progressRequested = false; len(c.waits) == 0 {
		return
	}
	c.settle(func(w *wait) (bool, *api.Status) {
		if w.deadline == 0 {
			w.deadline = c.at.Now + freshnessMillis
		}
		return c.Fresh(w.rv), nil
	})
}

func (c *Cacher) expireWaits() {
	c.settle(func(w *wait) (bool, *api.Status) {
		if w.deadline == 0 || c.at.Now < w.deadline {
			return false, nil
		}
		return true, api.TooLargeResourceVersion(w.rv, c.at.Version)
	})
}

// FailWaits ends every wait with an error.
func (c *Cacher) FailWaits(status *api.Status) {
	c.settle(func(*wait) (bool, *api.Status) { return true, status })
}

// settle ends the waits for which verdict returns true. It calls the callbacks
// last, because they may add waits.
func (c *Cacher) settle(verdict func(*wait) (over bool, status *api.Status)) {
	var done []func()
	kept := c.waits[:0:0]
	for i := range c.waits {
		w := c.waits[i]
		if over, status := verdict(&w); over {
			done = append(done, func() { w.done(status) })
		} else {
			kept = append(kept, w)
		}
	}
	c.waits = kept
	for _, f := range done {
		f()
	}
}
