package selector_test

import (
	"math/rand"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/selector"
)

func TestMemo_EvaluatesOncePerID(t *testing.T) {
	yes, no := labelSet("a", "1"), labelSet("a", "2")
	for _, id := range []uint32{0, 1, 31, 32, 63, 64, 1000} {
		m := selector.NewMemo(parseLabels(t, "a=1"))
		assert.True(t, m.Matches(id, yes))
		assert.True(t, m.Matches(id, no), "the set is not evaluated again")
		assert.False(t, m.Matches(id+1, no), "each id has its own verdict")
		assert.False(t, m.Matches(id+1, yes))
		m.Forget(id)
		assert.False(t, m.Matches(id, no), "the ID now names another set")
		assert.False(t, m.Matches(id+1, yes), "the next entry remains")
	}
}

func TestMemo_InvalidateUnknownID(t *testing.T) {
	m := selector.NewMemo(parseLabels(t, "a"))
	m.Forget(7)
	m.Forget(1 << 31)
	assert.False(t, m.Matches(7, nil))
}

func TestMemo_EverythingAndNothing(t *testing.T) {
	everything, nothing := selector.NewMemo(selector.Everything()), selector.NewMemo(selector.Nothing())
	for _, set := range []api.Labels{nil, labelSet("a", "1")} {
		assert.True(t, everything.Matches(3, set))
		assert.False(t, nothing.Matches(3, set))
	}
}

// A store reuses the IDs of unused label sets. The memo must still agree with the
// selector.
func TestMemo_AgreesWithSelectorUnderReuse(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	l := parseLabels(t, "a in (1,2),!b")
	m := selector.NewMemo(l)
	sets := make([]api.Labels, 200)
	id, matched, refused := 0, 0, 0
	for range 20_000 {
		if random.Intn(2) == 0 { // otherwise the same set again
			id = random.Intn(len(sets))
		}
		switch random.Intn(8) {
		case 0, 1:
			sets[id] = labelSet("a", strconv.Itoa(random.Intn(4)))
			m.Forget(uint32(id))
		case 2:
			sets[id] = nil
			m.Forget(uint32(id))
		case 3:
			sets[id] = labelSet("a", "1")
			m.Clear()
		}
		want := l.Matches(sets[id])
		assert.Equal(t, want, m.Matches(uint32(id), sets[id]))
		if want {
			matched++
		} else {
			refused++
		}
	}
	assert.Greater(t, matched, 1000)
	assert.Greater(t, refused, 1000)
}

// A Memo has a bounded size, even for large IDs.
func TestMemoIsBounded(t *testing.T) {
	l := parseLabels(t, "app=web")
	web, db := labelSet("app", "web"), labelSet("app", "db")
	memo := selector.NewMemo(l)
	memo.Matches(1<<15-1, web)
	assert.Zero(t, testing.AllocsPerRun(10, func() {
		for id := uint32(1 << 15); id < 1<<16; id += 1 << 10 {
			if !memo.Matches(id, web) || memo.Matches(id+1, db) {
				panic("a verdict is wrong")
			}
			memo.Forget(id + 1)
			if !memo.Matches(id+1, web) {
				panic("a verdict was not forgotten")
			}
		}
	}))
}
