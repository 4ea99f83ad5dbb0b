package reflector

import "github.com/watchglass/watchglass/core/internal/lite"

const (
	minDelayMillis   = 800
	maxDelayMillis   = 30_000
	quietResetMillis = 120_000
)

// Backoff computes the times of retries. The delays start at 0.8 s and double up to 30 s,
// and random jitter extends each delay by up to 100 %. The delays start over after two
// minutes without a failure (rule R10).
type Backoff struct {
	rand  *lite.Rand
	delay int64
	last  int64
}

// NewBackoff returns a Backoff that takes its jitter from rand.
func NewBackoff(rand *lite.Rand) Backoff { return Backoff{rand: rand} }

// Next returns the time of the retry after a failure at the time "now". Both times are in
// milliseconds.
func (b *Backoff) Next(now int64) int64 {
	if b.delay == 0 || now-b.last > quietResetMillis {
		b.delay = minDelayMillis
	}
	at := now + b.delay + b.rand.Int63n(b.delay)
	b.delay = min(2*b.delay, maxDelayMillis)
	b.last = at
	return at
}
