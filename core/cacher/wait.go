package cacher

import "github.com/watchglass/watchglass/core/api"

// freshnessMillis is how long a read waits for a future version (rule C34).
const freshnessMillis = 3000

// MaxWaits is the maximum number of reads of one kind that wait, for example for the first state
// of a collection. A program that abandons a read does not end it, so retries could otherwise add
// reads without a limit while the source is unreachable.
const MaxWaits = 10_000

// LimitWaits is the Cause of the error for a read beyond MaxWaits.
const LimitWaits = "max-waiting-reads"

// TooManyWaits returns the error for a read beyond MaxWaits.
func TooManyWaits() *api.Status {
	return api.LimitReached(api.CodeServiceUnavailable, LimitWaits, "too many reads wait for this collection; read again later")
}

// wait is a read that requires the collection to be ready and at rv or later.
type wait struct {
	rv       api.ResourceVersion
	deadline int64 // zero until the collection is ready
	done     func(*api.Status)
}

// Waits are the reads that wait for a version of the collection.
type Waits struct {
	cacher            *Cacher
	list              []wait
	held              bool // a revision is incomplete, so waits must not end
	progressRequested bool // a follower waits for a newer version
}

// WhenFresh calls done with nil when the collection is ready and at rv or later,
// which may be immediately. If the collection does not reach rv within three seconds,
// WhenFresh calls done with a 504. The three seconds start with the call, but not before
// the collection is ready. If MaxWaits reads wait already, WhenFresh calls done with a 503.
//
//go:noinline
func (s *Waits) WhenFresh(rv api.ResourceVersion, done func(*api.Status)) {
	if s.Fresh(rv) {
		done(nil)
		return
	}
	if len(s.list) == MaxWaits {
		done(TooManyWaits())
		return
	}
	w := wait{rv: rv, done: done}
	if s.cacher.ready {
		w.deadline = s.cacher.at.Now + freshnessMillis
	}
	s.list = append(s.list, w)
}

// BeginRevision keeps waits pending until the next EndRevision, Progress, end of a list
// or Tick. Call it before applying several changes with the same resource version. The
// collection is incomplete at that version until the last change.
func (s *Waits) BeginRevision() { s.held = true }

// Fresh reports whether the collection is ready and at rv or later.
func (s *Waits) Fresh(rv api.ResourceVersion) bool {
	return s.cacher.ready && rv <= s.cacher.at.Version
}

// RequestProgress records that a follower waits for a newer version.
func (s *Waits) RequestProgress() { s.progressRequested = true }

// Any reports whether the cacher needs progress from its source (rule C35). A local read
// that waits for a newer version needs progress. A follower needs it if the follower has
// called RequestProgress since the last update. A watch whose version may belong to a
// lost history needs it too, because progress would end that watch.
func (s *Waits) Any() bool {
	return s.cacher.ready && (s.progressRequested || len(s.list) > 0 || s.cacher.watches.SuspectsLost())
}

func (s *Waits) wakeFresh() {
	if !s.cacher.ready || s.held {
		return
	}
	if s.progressRequested = false; len(s.list) == 0 {
		return
	}
	s.settle(func(w *wait) (bool, *api.Status) {
		if w.deadline == 0 {
			w.deadline = s.cacher.at.Now + freshnessMillis
		}
		return s.Fresh(w.rv), nil
	})
}

func (s *Waits) expireWaits() {
	s.settle(func(w *wait) (bool, *api.Status) {
		if w.deadline == 0 || s.cacher.at.Now < w.deadline {
			return false, nil
		}
		return true, api.TooLargeResourceVersion(w.rv, s.cacher.at.Version)
	})
}

// Fail ends every wait with the given error.
//
//go:noinline
func (s *Waits) Fail(status *api.Status) {
	s.settle(func(*wait) (bool, *api.Status) { return true, status })
}

// settle ends the waits for which verdict returns true. It calls the callbacks
// last, because they may add waits.
func (s *Waits) settle(verdict func(*wait) (over bool, status *api.Status)) {
	var done []func()
	kept := s.list[:0:0]
	for i := range s.list {
		w := s.list[i]
		if over, status := verdict(&w); over {
			done = append(done, func() { w.done(status) })
		} else {
			kept = append(kept, w)
		}
	}
	s.list = kept
	for _, f := range done {
		f()
	}
}
