// Package backoff computes and waits for the pauses between retries.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// These constants determine the pauses between attempts (rule R10).
const (
	firstPause = 800 * time.Millisecond
	maxPause   = 30 * time.Second
	pauseReset = 2 * time.Minute
)

// Pauses computes the pauses between attempts. The pause doubles after each failure, up
// to 30 seconds. A random jitter of at most the same duration is added. Two minutes
// without a failure reset the pause. The zero value is ready for use.
type Pauses struct {
	current time.Duration
	last    time.Time
}

// Next records a failure at the time now, and returns the pause before the next attempt.
func (p *Pauses) Next(now time.Time) time.Duration {
	if p.current == 0 || now.Sub(p.last) > pauseReset {
		p.current = firstPause
	}
	wait := p.current + rand.N(p.current)
	p.current = min(2*p.current, maxPause)
	p.last = now.Add(wait)
	return wait
}

// Sleep waits for a duration, or until ctx is done.
func Sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
