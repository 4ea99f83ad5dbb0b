package reflector

import "github.com/watchglass/watchglass/core/api"

const (
	minDelayMillis   = 800
	maxDelayMillis   = 30_000
	quietResetMillis = 120_000
)

// Backoff spaces retries: 0.8 s doubling to 30 s, each with up to as much again
// in jitter, and from the start after two quiet minutes (rule R10).
type Backoff struct {
	rand  *api.Rand
	delay int64
	last  int64
}

// NewBackoff takes its jitter from rand.
func NewBackoff(rand *api.Rand) Backoff { return Backoff{rand: rand} }

// Next is when to retry after a failure now.
func (b *Backoff) Next(now int64) int64 {
	if b.delay == 0 || now-b.last > quietResetMillis {
		b.delay = minDelayMillis
	}
	at := now + b.delay + b.rand.Int63n(b.delay)
	b.delay = min(2*b.delay, maxDelayMillis)
	b.last = at
	return at
}
