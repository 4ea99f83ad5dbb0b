package store

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// numbers sorts IDs by their own value, which Ordered never inspects.
type numbers struct{ Ordered }

func newNumbers() *numbers { return &numbers{} }

func less(id ID) func(ID) bool { return func(x ID) bool { return x < id } }

func (o *numbers) Insert(id ID)      { o.Ordered.Insert(id, less(id)) }
func (o *numbers) Remove(id ID) bool { return o.Ordered.Remove(id, less(id)) }

func from(o *numbers, at int) []ID {
	list := []ID{}
	o.From(at, func(r ID) bool {
		list = append(list, r)
		return true
	})
	return list
}

func checkChunks(t *testing.T, o *numbers) {
	t.Helper()
	count := 0
	for _, c := range o.chunks {
		require.NotEmpty(t, c)
		require.LessOrEqual(t, len(c), chunkSize)
		require.LessOrEqual(t, cap(c), chunkSize, "a chunk never outgrows its memory")
		count += len(c)
	}
	require.Equal(t, o.Len(), count)
}

func TestOrderedEmpty(t *testing.T) {
	o := newNumbers()
	assert.Zero(t, o.Len())
	assert.False(t, o.Remove(5))
	assert.Empty(t, from(o, 0))
}

func TestOrderedPositions(t *testing.T) {
	o := newNumbers()
	for _, r := range []ID{30, 10, 20} {
		o.Insert(r)
	}
	assert.Equal(t, []ID{10, 20, 30}, from(o, 0))
	assert.Equal(t, []ID{10, 20, 30}, from(o, -1))
	assert.Equal(t, []ID{30}, from(o, 2))
	assert.Empty(t, from(o, 3))
	var first ID
	o.From(0, func(r ID) bool { first = r; return false })
	assert.EqualValues(t, 10, first, "stops when the callback returns false")
}

func TestOrderedAscendingLoadFillsChunks(t *testing.T) {
	o := newNumbers()
	const n = 100_000
	for r := range ID(n) {
		o.Insert(r + 1)
	}
	checkChunks(t, o)
	assert.Len(t, o.chunks, (n+chunkSize-1)/chunkSize)
	assert.Equal(t, []ID{99_999, 100_000}, from(o, n-2))
}

func TestOrderedDescendingLoad(t *testing.T) {
	o := newNumbers()
	for r := ID(10_000); r > 0; r-- {
		o.Insert(r)
	}
	checkChunks(t, o)
	assert.Equal(t, []ID{9_999, 10_000}, from(o, 9_998))
}

func TestOrderedAgainstSortedSlice(t *testing.T) {
	for _, span := range []int{50, 2_000, 100_000} {
		o, random := newNumbers(), randomOf(int64(span))
		var model []ID
		for step := range 30_000 {
			r := ID(1 + random.Intn(span))
			at, in := slices.BinarySearch(model, r)
			// Alternate phases of growth and shrinking.
			if grow := step/5_000%2 == 0; grow == (random.Intn(4) > 0) {
				if !in {
					o.Insert(r)
					model = slices.Insert(model, at, r)
				}
			} else {
				require.Equal(t, in, o.Remove(r))
				if in {
					model = slices.Delete(model, at, at+1)
				}
			}
			require.Equal(t, len(model), o.Len())
			if step%1_000 == 0 {
				at := random.Intn(len(model) + 1)
				require.Equal(t, append([]ID{}, model[at:]...), from(o, at))
				checkChunks(t, o)
			}
		}
		for len(model) > 0 {
			require.True(t, o.Remove(model[0]))
			model = model[1:]
		}
		assert.Empty(t, o.chunks)
	}
}
