package cacher

import "github.com/watchglass/watchglass/core/api"

// freshnessMillis is how long a read waits for a version from the future
// (rule C34).
const freshnessMillis = 3000

// wait is a read that needs the collection to be ready and at least at rv.
type wait struct {
	rv       api.ResourceVersion
	deadline int64 // zero until the collection is ready
	done     func(*api.Status)
}

// WhenFresh calls done once the collection is ready and at rv or beyond: now,
// if it is, or later, with nil; or with a 504 when rv does not come within
// three seconds of readiness.
func (c *Cacher) WhenFresh(rv api.ResourceVersion, done func(*api.Status)) {
	if c.Fresh(rv) {
		done(nil)
		return
	}
	w := wait{rv: rv, done: done}
	if c.ready {
		w.deadline = c.now + freshnessMillis
	}
	c.waits = append(c.waits, w)
}

// Hold puts off the end of waits until the next Release, Progress, EndList or Tick. It is
// for feeding in changes that share a resource version: between two of them the
// collection is at that version and yet not all there.
func (c *Cacher) Hold() { c.held = true }

// Fresh reports whether the collection is ready and at rv or beyond.
func (c *Cacher) Fresh(rv api.ResourceVersion) bool { return c.ready && rv <= c.rv }

// Prompt says that somebody who follows this cacher waits for a version that has
// not come.
func (c *Cacher) Prompt() { c.prompted = true }

// Awaiting reports whether a read waits for a version that has not come, here or
// at somebody who said so since the last news (rule C35).
func (c *Cacher) Awaiting() bool {
	return c.ready && (c.prompted || len(c.waits) > 0 || c.suspectsLost(c.now))
}

func (c *Cacher) wakeFresh() {
	if !c.ready || c.held {
		return
	}
	if c.prompted = false; len(c.waits) == 0 {
		return
	}
	c.settle(func(w *wait) (bool, *api.Status) {
		if w.deadline == 0 {
			w.deadline = c.now + freshnessMillis
		}
		return c.Fresh(w.rv), nil
	})
}

func (c *Cacher) expireWaits() {
	c.settle(func(w *wait) (bool, *api.Status) {
		if w.deadline == 0 || c.now < w.deadline {
			return false, nil
		}
		return true, api.TooLargeResourceVersion(w.rv, c.rv)
	})
}

// FailWaits ends every wait: the collection will not become fresh.
func (c *Cacher) FailWaits(status *api.Status) {
	c.settle(func(*wait) (bool, *api.Status) { return true, status })
}

// settle ends the waits that verdict says are over. The callbacks run last:
// they may start new waits.
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
