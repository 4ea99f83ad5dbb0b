package cacher

import (
	"slices"
	"strings"
	"time"

	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/store"
)

// slow is a watch that nobody reads for a while, so that it fills its queues and
// is ended. There is one at a time: the library tells how many it has ended, not
// which.
//
// The library's watch holds one event in its hands between its two queues, and
// has events in the first that it will find not to match. So it may be ended a
// little sooner or later than ours; what is told in the end is the same. Where a
// bookmark could fall into that difference the watch is read before.
type slow struct {
	*pair
	initial bool // it is stuck in the initial events
	filled  int  // how much of the library's second queue must fill
	paused  bool // it was read before
	ending  bool
	ended   [2]int // earlier ended watches of each side
	forget  func()
}

// bestBudget is the most time that slow watches are given.
const bestBudget = 100 * time.Millisecond

// slowDown stops reading a watch, or starts one without reading it.
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

// begin makes it the slow watch.
func (s *slow) begin(w *world) {
	s.initial, s.filled = !s.live(), len(s.their.ResultChan())
	s.forget = w.ours.Observe(s)
	w.slow = s
}

// Changed counts what the watch has to tell, which is nothing up to the version
// from which it was asked for (W34).
func (s *slow) Changed(_ store.ID, e *history.Event) {
	if _, _, wanted := s.our.Filter().Convert(e); wanted && e.ResourceVersion > s.our.Watermark() {
		s.filled++
	}
}

// Replaced is not called: a slow watch is read before a relist.
func (s *slow) Replaced() {}

// broadRequest has no selector, by which the sides would fill their first queue
// with different events.
func (w *world) broadRequest() *request {
	r := request{bookmarks: w.oneIn(2), rv: w.pick("", "0", w.version(0))}
	if w.namespaced && w.oneIn(3) {
		r.namespace = w.pick(namespaces...)
	}
	return &r
}

// unread starts a watch and does not read it.
func (w *world) unread(r *request) *pair {
	w.t.Helper()
	p := w.ourWatch(r)
	w.theirWatch(p, false, nil)
	w.theirs.waitFor("a full queue", func() bool {
		told := p.their.ResultChan()
		return p.live() || len(told) == cap(told)
	})
	return p
}

func (w *world) ended() [2]int { return [2]int{w.ours.Counts().Terminated, w.theirs.terminated()} }

// settle waits after a change until the library has told what it can, and until
// ours has lost its patience, which takes its time from the clock.
func (s *slow) settle(w *world) {
	w.t.Helper()
	told := s.their.ResultChan()
	w.theirs.waitFor("a full queue", func() bool {
		return len(told) >= min(s.filled, cap(told)) || w.ended()[1] > s.ended[1]
	})
	if next := w.ours.NextTick(); next != 0 && next <= w.now.Add(bestBudget).UnixMilli() {
		w.pass(bestBudget)
	}
}

// readSlow reads the slow watch again, once both sides have ended it or none.
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
	s.forget()
	w.slow = nil
	if told := len(s.ours.events); s.paused {
		s.pause <- struct{}{}
		s.compare(w)
		w.seen[s.outcome(told)]++
	} else {
		s.follows(w)
		w.seen[s.outcome(told)]++
	}
	w.pairs = append(w.pairs, s.pair)
}

// outcome says what became of the watch, which had told so much before.
func (s *slow) outcome(told int) string {
	news := s.ours.events[told:]
	switch {
	case len(news) == 0 || news[len(news)-1] != "CLOSED":
		return "a slow watch that catches up"
	case s.initial && slices.ContainsFunc(news, func(e string) bool { return strings.HasSuffix(e, endOfInitial) }):
		return "a slow watch that is drained"
	}
	return "a slow watch that is ended"
}
