package cacher

import (
	"slices"
	"strings"
	"time"

	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/store"
)

// slow is a watch that the test does not read for a while, so that its queues fill and it
// may end. Only one exists at a time, because the library's metric of ended watches does
// not identify them.
//
// The library's watch holds one more event between its two queues, and its first queue
// also contains events that do not match. The library may therefore end the watch a
// little earlier or later than core/cacher, but delivers the same events. The test
// resumes reading before enough time passes for a bookmark.
type slow struct {
	*pair
	initial    bool // the watch is blocked in the initial events
	filled     int  // required length of the library's second queue
	paused     bool // the consumer of the library's events is paused
	ending     bool
	ended      [2]int // number of watches that core/cacher and the library had ended before
	unregister func()
}

// bestBudget is the maximum time for which dispatch waits for slow watches.
const bestBudget = 100 * time.Millisecond

// slowDown pauses a watch, or starts one without reading it. If a slow watch exists,
// slowDown resumes it instead.
func (w *world) slowDown() {
	w.t.Helper()
	if w.slow != nil {
		w.readSlow()
		return
	}
	s := &slow{ended: w.ended()}
	if len(w.pairs) > 0 && w.oneIn(2) {
		i := w.random.Intn(len(w.pairs))
		s.pair = w.pairs[i]
		if s.our == nil || !s.deadline.IsZero() {
			return
		}
		s.pause <- struct{}{}
		s.paused = true
		w.pairs = append(w.pairs[:i:i], w.pairs[i+1:]...)
	} else if s.pair = w.unread(w.broadRequest()); s.our == nil {
		s.follows(w)
		s.stop(w)
		return
	}
	s.begin(w)
}

// begin makes s the slow watch of the world.
func (s *slow) begin(w *world) {
	s.initial, s.filled = !s.live(), len(s.their.ResultChan())
	w.ours.Observe(s)
	s.unregister = func() { w.ours.Unobserve(s) }
	w.slow = s
}

// Changed counts the matching events that the watch must deliver. It ignores events up to
// the version from which the watch starts (W34).
func (s *slow) Changed(_ store.ID, e *history.Event) {
	if _, _, wanted := s.our.Filter().Convert(e); wanted && e.ResourceVersion > s.our.Watermark() {
		s.filled++
	}
}

// Replaced is never called, because readSlow ends the slow watch before a relist.
func (s *slow) Replaced() {}

// broadRequest returns a request without selectors. With selectors, the first queues of
// the two sides would contain different events.
func (w *world) broadRequest() *request {
	r := request{bookmarks: w.oneIn(2), rv: w.pick("", "0", w.version(0))}
	if w.namespaced && w.oneIn(3) {
		r.namespace = w.pick(namespaces...)
	}
	return &r
}

// unread starts a watch without reading it, and waits until its initial events are
// delivered or fill the queue.
func (w *world) unread(r *request) *pair {
	w.t.Helper()
	p := w.ourWatch(r)
	w.theirWatch(p, false, nil)
	w.theirs.waitFor("a full queue", func() bool {
		events := p.their.ResultChan()
		return p.live() || len(events) == cap(events)
	})
	return p
}

func (w *world) ended() [2]int {
	return [2]int{w.ours.Watches().Counts().Terminated, w.theirs.terminated()}
}

// settle waits after a change until the library's watch has a full queue, has all events,
// or has ended. It then advances the clock if core/cacher waits for the watch.
func (s *slow) settle(w *world) {
	w.t.Helper()
	events := s.their.ResultChan()
	w.theirs.waitFor("a full queue", func() bool {
		return len(events) >= min(s.filled, cap(events)) || w.ended()[1] > s.ended[1]
	})
	if next := w.ours.NextTick(); next != 0 && next <= w.now.Add(bestBudget).UnixMilli() {
		w.pass(bestBudget)
	}
}

// readSlow makes changes until both sides have ended the slow watch, or neither has, and
// then resumes reading it.
func (w *world) readSlow() {
	w.t.Helper()
	s := w.slow
	if s == nil {
		return
	}
	s.ending = true
	s.settle(w)
	same := func() bool {
		now := w.ended()
		return now[0]-s.ended[0] == now[1]-s.ended[1]
	}
	for n := 0; !same(); n++ {
		if w.change(); n == 5000 {
			w.t.Fatalf("watch %s: the library and we ended %d watches, from %d", s.request, w.ended(), s.ended)
		}
	}
	s.unregister()
	w.slow = nil
	if events := len(s.ours.events); s.paused {
		s.pause <- struct{}{}
		s.compare(w)
		w.seen[s.outcome(events)]++
	} else {
		s.follows(w)
		w.seen[s.outcome(events)]++
	}
	w.pairs = append(w.pairs, s.pair)
}

// outcome describes what happened to the watch. The parameter events is the number of
// events that core/cacher delivered before reading resumed.
func (s *slow) outcome(events int) string {
	news := s.ours.events[events:]
	switch {
	case len(news) == 0 || news[len(news)-1] != "CLOSED":
		return "a slow watch that catches up"
	case s.initial && slices.ContainsFunc(news, func(e string) bool { return strings.HasSuffix(e, endOfInitial) }):
		return "a slow watch that is drained"
	}
	return "a slow watch that is ended"
}
