package client

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The loop sleeps until the engine's deadline, even if that is later than maxIdle. An
// earlier tick would discard the deadline, and the engine does not repeat its request.
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
