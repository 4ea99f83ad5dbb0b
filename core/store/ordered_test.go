package store

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The tests of Ordered use bare numbers as versions: it never looks into them.
func newNumbers() *Ordered {
	return NewOrdered(func(a, b Ref) int { return cmp.Compare(a, b) })
}

func from(o *Ordered, at int) []Ref {
	list := []Ref{}
	o.From(at, func(r Ref) bool {
		list = append(list, r)
		return true
	})
	return list
}

func checkChunks(t *testing.T, o *Ordered) {
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
	assert.Zero(t, o.Rank(5))
	assert.False(t, o.Remove(5))
	assert.Empty(t, from(o, 0))
}

func TestOrderedPositions(t *testing.T) {
	o := newNumbers()
	for _, r := range []Ref{30, 10, 20} {
		o.Set(r)
	}
	assert.Equal(t, []Ref{10, 20, 30}, from(o, 0))
	assert.Equal(t, []Ref{10, 20, 30}, from(o, -1))
	assert.Equal(t, []Ref{30}, from(o, 2))
	assert.Empty(t, from(o, 3))
	assert.Equal(t, 1, o.Rank(20))
	assert.Equal(t, 1, o.Rank(15), "of what is not in: where it would be")
	assert.Equal(t, 3, o.Rank(99))
	var first Ref
	o.From(0, func(r Ref) bool { first = r; return false })
	assert.EqualValues(t, 10, first, "stops when told to")
}

func TestOrderedReplacesWhatComparesEqual(t *testing.T) {
	o := NewOrdered(func(a, b Ref) int { return cmp.Compare(a%100, b%100) })
	o.Set(1)
	o.Set(2)
	o.Set(101)
	assert.Equal(t, []Ref{101, 2}, from(o, 0))
	assert.True(t, o.Remove(201))
	assert.Equal(t, []Ref{2}, from(o, 0))
}

func TestOrderedAscendingLoadFillsChunks(t *testing.T) {
	o := newNumbers()
	const n = 100_000
	for r := range Ref(n) {
		o.Set(r + 1)
	}
	checkChunks(t, o)
	assert.Len(t, o.chunks, (n+chunkSize-1)/chunkSize)
	assert.Equal(t, 77_776, o.Rank(77_777))
	assert.Equal(t, []Ref{99_999, 100_000}, from(o, n-2))
}

func TestOrderedDescendingLoad(t *testing.T) {
	o := newNumbers()
	for r := Ref(10_000); r > 0; r-- {
		o.Set(r)
	}
	checkChunks(t, o)
	assert.Equal(t, 4_999, o.Rank(5_000))
}

func TestOrderedAgainstSortedSlice(t *testing.T) {
	for _, span := range []int{50, 2_000, 100_000} {
		o, random := newNumbers(), randomOf(int64(span))
		var model []Ref
		for step := range 30_000 {
			r := Ref(1 + random.Intn(span))
			at, in := slices.BinarySearch(model, r)
			require.Equal(t, at, o.Rank(r))
			// Waves of growth and decay.
			if grow := step/5_000%2 == 0; grow == (random.Intn(4) > 0) {
				o.Set(r)
				if !in {
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
				require.Equal(t, append([]Ref{}, model[at:]...), from(o, at))
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
