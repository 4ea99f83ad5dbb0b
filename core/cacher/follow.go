package cacher

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/watcher"
)

// Follower reads the window at its own pace. One that has read everything rests:
// it is woken by the first change that its filter lets through, and costs
// nothing until then, whatever else happens and falls out of the window.
type Follower struct {
	// What every event looks at comes first.
	entry  watcher.Entry[*Follower]
	cursor history.Cursor
	awaits bool // news
	unsure bool // awaits progress
	closed bool
	filter *watcher.Filter
	wake   func()
	cacher *Cacher
	slot   int // in cacher.followers
	rested api.ResourceVersion
}

// Follow adds a follower that has read everything. wake is called when it should
// look at the cacher again, which it must not do there and then. The caller
// closes the follower.
func (c *Cacher) Follow(f *watcher.Filter, wake func()) *Follower {
	r := &Follower{cacher: c, filter: f, wake: wake, slot: len(c.followers), cursor: history.NewCursor(c.window)}
	r.entry.Value = r
	c.followers = append(c.followers, r)
	c.followed.Add(f, &r.entry)
	return r
}

// Close takes the follower out.
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

// Position is that of the first event that was not read and may concern the
// follower: End of the window when it rests.
func (r *Follower) Position() int { return r.cursor.Position() }

// MoveTo says that everything before a position of the window was read.
func (r *Follower) MoveTo(position int) { r.cursor.MoveTo(position) }

// Rested is the version at which the follower rested when a list replaced the
// state, or zero.
func (r *Follower) Rested() api.ResourceVersion { return r.rested }

// AwaitNews has the follower woken by the next sign of life from upstream,
// whether it concerns its objects or not.
func (r *Follower) AwaitNews() {
	if !r.awaits {
		r.awaits = true
		r.cacher.awaiting = append(r.cacher.awaiting, r)
	}
}

// AwaitProgress has the follower woken when upstream says next that nothing is
// missing. Changes do not wake it.
func (r *Follower) AwaitProgress() { r.unsure = true }

// wakeFollowers wakes those whose rest the event at a position ends.
func (c *Cacher) wakeFollowers(e *history.Event, position int) {
	for _, found := range c.followed.Find(e) {
		r := found.Value
		if r.cursor.Behind() {
			continue
		}
		if _, _, ok := r.filter.Convert(e); ok && r.cursor.Wake(position) {
			r.wake()
		}
	}
}

// wakeAwaiting wakes those who await news.
func (c *Cacher) wakeAwaiting() {
	awaiting := c.awaiting
	c.awaiting = nil
	for _, r := range awaiting {
		if r.awaits = false; !r.closed {
			r.wake()
		}
	}
}

// wakeUnsure wakes those who await progress. It comes seldom, and is awaited by many
// at once or by nobody.
func (c *Cacher) wakeUnsure() {
	for _, r := range c.followers {
		if r.unsure {
			r.unsure = false
			r.wake()
		}
	}
}

// wakeEveryone is for what concerns all followers.
func (c *Cacher) wakeEveryone() {
	for _, r := range c.followers {
		r.wake()
	}
}

// endRests is called before a list replaces the state, after which positions
// mean nothing.
func (c *Cacher) endRests() {
	for _, r := range c.followers {
		if !r.cursor.Behind() {
			r.rested = c.rv
			r.cursor.Anchor()
		}
	}
}
