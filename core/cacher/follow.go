package cacher

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/watcher"
)

// Follower reads the window at its own pace. A follower that has read everything
// is idle and has no cost. The first change that matches its filter wakes it.
type Follower struct {
	// Fields that every event reads come first.
	entry          watcher.Entry[*Follower]
	cursor         history.Cursor
	notify         bool // registered in cacher.notifyNext
	awaitsProgress bool // waits for progress
	closed         bool
	filter         *watcher.Filter
	wake           func()
	cacher         *Cacher
	slot           int // index in cacher.followers
	rested         api.ResourceVersion
}

// Follow adds a follower that has read everything. The cacher calls wake when the
// follower should read again; wake must not call the cacher itself. The caller
// closes the follower.
func (c *Cacher) Follow(f *watcher.Filter, wake func()) *Follower {
	r := &Follower{cacher: c, filter: f, wake: wake, slot: len(c.followers), cursor: history.NewCursor(c.window)}
	r.entry.Value = r
	c.followers = append(c.followers, r)
	c.followed.Add(f, &r.entry)
	return r
}

// Close removes the follower.
func (r *Follower) Close() {
	c := r.cacher
	if r.closed {
		return
	}
	r.closed = true
	c.followed.Remove(&r.entry)
	last := len(c.followers) - 1
	c.followers[r.slot] = c.followers[last]
	c.followers[r.slot].slot = r.slot
	c.followers[last] = nil
	c.followers = c.followers[:last]
}

// Position returns the position of the first unread event that may match, or the
// end of the window if the follower is idle.
func (r *Follower) Position() int { return r.cursor.Position() }

// MoveTo records that everything before a position of the window was read.
func (r *Follower) MoveTo(position int) { r.cursor.MoveTo(position) }

// Rested returns the version at which the follower rested when a list last
// replaced the state, or zero.
func (r *Follower) Rested() api.ResourceVersion { return r.rested }

// NotifyNext wakes the follower at the next update of the resource version, even
// if no change matches its filter.
func (r *Follower) NotifyNext() {
	if !r.notify {
		r.notify = true
		r.cacher.notifyNext = append(r.cacher.notifyNext, r)
	}
}

// NotifyOnProgress wakes the follower at the next progress report. Changes alone do
// not wake it.
func (r *Follower) NotifyOnProgress() { r.awaitsProgress = true }

// wakeFollowers wakes the resting followers that the event at a position matches. A
// follower whose filter has exhausted its meter is not evaluated: it is woken, and
// reads the event when it is granted more.
func (c *Cacher) wakeFollowers(e *history.Event, position int) {
	for _, found := range c.followed.Find(e) {
		r := found.Value
		if r.cursor.Behind() {
			continue
		}
		concerned := r.filter.Exhausted()
		if !concerned {
			_, _, concerned = r.filter.Convert(e)
		}
		if concerned && r.cursor.Wake(position) {
			r.wake()
		}
	}
}

// wakeNotified wakes followers that called NotifyNext.
func (c *Cacher) wakeNotified() {
	awaiting := c.notifyNext
	c.notifyNext = nil
	for _, r := range awaiting {
		if r.notify = false; !r.closed {
			r.wake()
		}
	}
}

// wakeOnProgress wakes followers that called NotifyOnProgress. Progress is rare, and
// usually either many followers wait for it or none.
func (c *Cacher) wakeOnProgress() {
	for _, r := range c.followers {
		if r.awaitsProgress {
			r.awaitsProgress = false
			r.wake()
		}
	}
}

// wakeEveryone wakes all followers.
func (c *Cacher) wakeEveryone() {
	for _, r := range c.followers {
		r.wake()
	}
}

// endRests fixes resting followers at the end of the window before a list
// replaces the state and invalidates positions.
func (c *Cacher) endRests() {
	for _, r := range c.followers {
		if !r.cursor.Behind() {
			r.rested = c.rv
			r.cursor.Anchor()
		}
	}
}
