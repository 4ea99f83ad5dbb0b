package history_test

import (
	"math/rand"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/store"
)

// The window returns the same events as a model that keeps all events, for every
// version that the window serves.
func TestWindowAgainstModel(t *testing.T) {
	for seed := range int64(20) {
		random := rand.New(rand.NewSource(seed))
		arena := store.NewArena()
		w := history.New(arena, history.Limits{MinCapacity: 4, MaxCapacity: 64, WindowMillis: window})
		var all []api.ResourceVersion // by position
		listedAt := 0                 // position at the last relist
		rv, now, pace := api.ResourceVersion(1), int64(0), int64(1)
		w.Relist(rv)
		for range 3000 {
			switch random.Intn(300) {
			case 0:
				rv++
				w.Relist(rv)
				listedAt = len(all)
			case 1, 2, 3:
				pace = 1 + random.Int63n(20_000)
			}
			w.Prefetch(random.Intn(100)) // including more events than exist
			rv += api.ResourceVersion(random.Intn(3))
			now += random.Int63n(pace)
			w.Append(deleted(arena, rv, now))
			all = append(all, rv)
			require.Equal(t, len(all), w.End())
			require.Equal(t, w.End()-w.Start(), arena.Versions())
			require.LessOrEqual(t, w.End()-w.Start(), w.Capacity())

			asked := rv + 2 - min(api.ResourceVersion(random.Intn(100)), rv)
			oldest, ok := w.Oldest()
			require.True(t, ok)
			position, status := w.After(asked)
			if asked < oldest {
				require.NotNil(t, status)
				continue
			}
			require.Nil(t, status)
			if position > listedAt {
				require.LessOrEqual(t, all[position-1], asked, "an event was skipped")
			}
			for p := position; p < w.End(); p++ {
				require.Equal(t, all[p], w.At(p).ResourceVersion)
				require.Greater(t, all[p], asked)
			}
		}
		w.Relist(rv)
		assert.Zero(t, arena.Versions())
	}
}
