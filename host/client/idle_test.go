package client

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The loop sleeps until the deadline of the engine, even if it is later than maxIdle.
// The engine would not repeat a request that an earlier tick replaced.
func TestLoopSleepsUntilADeadlineThatIsFarAway(t *testing.T) {
	l := newLoop(Config{}, nil)
	defer l.cancel(nil)
	now := l.now()
	l.instance = &Instance{}
	require.Equal(t, maxIdle, l.idle(now), "without a deadline")
	l.wake = now.Add(5 * time.Minute)
	require.Equal(t, 5*time.Minute, l.idle(now))
	require.Zero(t, l.idle(now.Add(time.Hour)), "after the deadline")
}
