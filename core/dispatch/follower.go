package dispatch

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/watcher"
)

// Follower reads the window at its own pace. A follower that has read everything is idle
// and costs no processing time. The first change that matches its filter wakes it.
type Follower struct {
	// The fields that are read for every event come first.
	entry          Entry[*Follower]
	cursor         history.Cursor
	notify         bool // registered in of.notifyNext
	awaitsProgress bool // wake is called at the next progress
	closed         bool
	filter         *watcher.Filter
	wake           func()
	of             *Followers
	slot           int // index in of.all
	rested         api.ResourceVersion
}

// Followers is the set of followers of one window. A follower is woken by changes that
// match its filter, and on request by the next version or progress.
type Followers struct {
	window     *history.Window
	at         *Moment
	all        []*Follower
	index      Index[*Follower]
	notifyNext []*Follower // followers to wake on the next update
}

// Init initializes an empty set.
func (s *Followers) Init(arena *store.Arena, window *history.Window, at *Moment) {
	s.window, s.at, s.index = window, at, NewIndex[*Follower](arena)
}

// Add adds a follower that has read everything. The set calls wake when the follower
// should read again; wake must not change the collection. The caller must close the
// follower.
func (s *Followers) Add(f *watcher.Filter, wake func()) *Follower {
	r := &Follower{of: s, filter: f, wake: wake, slot: len(s.all), cursor: history.NewCursor(s.window)}
	r.entry.Value = r
	s.all = append(s.all, r)
	s.index.Add(f, &r.entry)
	return r
}

// Close removes the follower.
func (r *Follower) Close() {
	s := r.of
	if r.closed {
		return
	}
	r.closed = true
	s.index.Remove(&r.entry)
	last := len(s.all) - 1
	s.all[r.slot] = s.all[last]
	s.all[r.slot].slot = r.slot
	s.all[last] = nil
	s.all = s.all[:last]
}

// Position returns the position of the first unread event that may match, or the
// end of the window if the follower is idle.
func (r *Follower) Position() int { return r.cursor.Position() }

// MoveTo records that everything before a position of the window was read.
func (r *Follower) MoveTo(position int) { r.cursor.MoveTo(position) }

// Rested returns the resource version up to which the follower had read everything when a
// list last replaced the state. It is zero if the follower was not idle at that time.
func (r *Follower) Rested() api.ResourceVersion { return r.rested }

// NotifyNext wakes the follower at the next update of the resource version, even
// if no change matches its filter.
func (r *Follower) NotifyNext() {
	if !r.notify {
		r.notify = true
		r.of.notifyNext = append(r.of.notifyNext, r)
	}
}

// NotifyOnProgress wakes the follower at the next progress report. Changes alone do
// not wake the follower.
func (r *Follower) NotifyOnProgress() { r.awaitsProgress = true }

// Wake wakes the idle followers whose filters match the event at a position. A follower
// whose filter has exhausted its meter is woken without evaluation. It evaluates the
// event once its meter is granted more evaluations.
func (s *Followers) Wake(e *history.Event, position int) {
	if len(s.all) == 0 {
		return
	}
	for _, found := range s.index.Find(e) {
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

// Updated wakes followers that called NotifyNext.
func (s *Followers) Updated() {
	if len(s.notifyNext) > 0 {
		s.wakeNotified()
	}
}

func (s *Followers) wakeNotified() {
	awaiting := s.notifyNext
	s.notifyNext = nil
	for _, r := range awaiting {
		if r.notify = false; !r.closed {
			r.wake()
		}
	}
}

// Progressed wakes followers that called NotifyOnProgress. It scans all followers, because
// progress is rare, and usually either many followers wait for it or none.
func (s *Followers) Progressed() {
	for _, r := range s.all {
		if r.awaitsProgress {
			r.awaitsProgress = false
			r.wake()
		}
	}
}

// WakeAll wakes all followers.
//
//go:noinline
func (s *Followers) WakeAll() {
	for _, r := range s.all {
		r.wake()
	}
}

// EndRests anchors idle followers at the end of the window. Call it before a list
// replaces the state and invalidates positions.
func (s *Followers) EndRests() {
	for _, r := range s.all {
		if !r.cursor.Behind() {
			r.rested = s.at.Version
			r.cursor.Anchor()
		}
	}
}
