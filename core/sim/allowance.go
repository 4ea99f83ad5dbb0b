package sim

import (
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/watcher"
)

// allowance limits how many selector evaluations the sessions of a link may make.
type allowance struct {
	meter watcher.Meter
	chunk int   // evaluations per grant; zero for no limit
	pause int64 // shortest time between two grants
	next  int64 // earliest time of the next grant
}

// allowanceOf returns the allowance of the i-th engine in the world of a seed. One in
// four allowances has a limit. A separate random generator chooses the limits, so that
// they do not change the rest of the run.
func allowanceOf(seed uint64, i int) allowance {
	r := lite.NewRand(seed ^ 0xe7a1 + uint64(i)<<32)
	if r.Int63n(4) != 0 {
		return allowance{}
	}
	a := allowance{chunk: pick(r, 1, 3, 10, 50), pause: pick(r, int64(20), 100, 500, 1500)}
	a.meter.Grant(1) // sessions without selectors never need more
	return a
}

// limit returns the meter for a new session, or nil for no limit.
func (a *allowance) limit() *watcher.Meter {
	if a.chunk == 0 {
		return nil
	}
	return &a.meter
}

// spent reports whether the session has no evaluations left until the next grant.
func (a *allowance) spent() bool { return a.chunk != 0 && a.meter.Exhausted() }

// grant grants the evaluations that are due, and reports whether the session may
// continue.
func (a *allowance) grant(now int64) bool {
	for a.spent() {
		if now < a.next {
			return false
		}
		a.next = now + a.pause
		a.meter.Grant(a.chunk)
	}
	return true
}
