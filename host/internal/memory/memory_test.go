package memory

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/limit"
)

// crowd is a fake Crowd that only counts its readers. Each call to Shed disconnects one reader.
type crowd struct{ readers int }

func (c *crowd) Count() int { return c.readers }

func (c *crowd) Shed(keep int) {
	if c.readers > keep {
		c.readers--
	}
}

func TestWorkIsRefusedAboveTheLimitWithHysteresis(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := limit.NewSet().With(limit.MaxMemory, 1000)
		var log bytes.Buffer
		used := int64(900)
		g := &Guard{Limits: limits, Crowds: []Crowd{&crowd{9}}, Log: slog.New(slog.NewTextHandler(&log, nil)), Used: func() int64 { return used }}
		ctx, cancel := context.WithCancel(t.Context())
		go g.Run(ctx)
		refuses := func(now int64) bool {
			used = now
			time.Sleep(Interval)
			synctest.Wait()
			status := limits.RefuseReached(limit.MaxMemory, "no more")
			if status == nil {
				return false
			}
			assert.Equal(t, 503, status.Code)
			assert.Equal(t, "max-memory", status.Cause)
			assert.Positive(t, status.RetryAfterSeconds)
			return true
		}
		assert.False(t, refuses(1000))
		assert.True(t, refuses(1001))
		assert.True(t, refuses(950), "not far enough below the limit")
		assert.True(t, refuses(1001))
		assert.False(t, refuses(949))
		assert.False(t, refuses(1000))
		assert.EqualValues(t, 3, limits.Refusals(limit.MaxMemory))
		assert.Equal(t, 1, strings.Count(log.String(), "level=WARN"), log.String())
		assert.Equal(t, 1, strings.Count(log.String(), "served again"), log.String())
		cancel()
		synctest.Wait()
	})
}

func TestReadersAreShedOnlyWhileMemoryStaysAboveTheLimit(t *testing.T) {
	limits := limit.NewSet().With(limit.MaxMemory, 1000)
	readers := &crowd{9}
	used := int64(2000)
	g := &Guard{Limits: limits, Crowds: []Crowd{readers, &crowd{}}, Log: slog.New(slog.DiscardHandler), Used: func() int64 { return used }}
	measure := func(times int) int {
		for range times {
			g.measure()
		}
		return readers.readers
	}
	assert.Equal(t, 9, measure(shedAfter-1))
	used = 990
	assert.Equal(t, 9, measure(1), "briefly below the limit")
	used = 2000
	assert.Equal(t, 9, measure(shedAfter-1))
	assert.Equal(t, 8, measure(1))
	assert.Equal(t, 7, measure(shedAfter))
	assert.Equal(t, 5, measure(100*shedAfter), "half of them remain")
	used = 0
	measure(1)
	used = 2000
	assert.Equal(t, 3, measure(100*shedAfter))
}

func TestCeilingIsAShareOfAvailableMemory(t *testing.T) {
	bytes, ok := ceiling(1<<30, nil)
	assert.True(t, ok)
	assert.EqualValues(t, 1<<30/100*90, bytes)
	for _, unknown := range []uint64{0, math.MaxUint64} {
		_, ok = ceiling(unknown, nil)
		assert.False(t, ok, unknown)
	}
	_, ok = ceiling(1<<30, errors.New("no /proc"))
	assert.False(t, ok)

	bytes, ok = Ceiling()
	require.True(t, ok, "this machine has memory")
	assert.Greater(t, bytes, Used())
}

func TestUsedIsTheCurrentMemory(t *testing.T) {
	const size = 64 << 20
	kept := make([]byte, size)
	for i := range kept {
		kept[i] = 1
	}
	held := Used()
	assert.GreaterOrEqual(t, held, int64(size))
	runtime.KeepAlive(kept)
	debug.FreeOSMemory()
	assert.Less(t, Used(), held-size/2, "released memory does not count")
}

func TestTheCollectorRunsLessOftenOnlyWithALimit(t *testing.T) {
	percent, most := debug.SetGCPercent(100), debug.SetMemoryLimit(math.MaxInt64)
	t.Cleanup(func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(most)
	})
	t.Setenv("GOMEMLIMIT", "")
	t.Setenv("GOGC", "")
	collects := func(most int64) (percent int) {
		Collect(limit.NewSet().With(limit.MaxMemory, most))
		CollectLess()
		return debug.SetGCPercent(100)
	}
	assert.Equal(t, 100, collects(limit.Unlimited))
	assert.EqualValues(t, math.MaxInt64, debug.SetMemoryLimit(-1))

	assert.Equal(t, growthPercent, collects(8<<30))
	assert.EqualValues(t, 8<<30/100*targetPercent, debug.SetMemoryLimit(-1))

	t.Setenv("GOGC", "50")
	assert.Equal(t, 100, collects(8<<30), "the runtime has applied the variable")
}
