package dispatch

import (
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"
)

// Alarms that are set, moved and unset in any order fire in the order of their times.
func TestAlarmsFireInOrder(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	var s alarms
	all := make([]*registration, 50)
	for i := range all {
		r := &registration{}
		r.bookmark.of, r.entry.order = r, uint64(i)
		all[i] = r
	}
	for range 10_000 {
		s.set(&all[random.Intn(len(all))].bookmark, int64(random.Intn(30)))
		var want *registration
		for _, r := range all {
			if r.bookmark.millis != 0 && (want == nil || r.bookmark.before(&want.bookmark)) {
				want = r
			}
		}
		if want == nil {
			require.Zero(t, s.first())
			continue
		}
		require.Equal(t, want.bookmark.millis, s.first())
		require.Nil(t, s.take(want.bookmark.millis))
		if random.Intn(3) == 0 {
			require.Same(t, want, s.take(want.bookmark.millis+1))
			want.bookmark.millis = 0
		}
	}
}
