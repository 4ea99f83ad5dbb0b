package lite

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSortAgreesWithPackageSlices(t *testing.T) {
	type pair struct{ key, place int }
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 200 {
		list := make([]pair, n)
		for i := range list {
			list[i] = pair{r.IntN(1 + n/2), i}
		}
		want := slices.Clone(list)
		slices.SortStableFunc(want, func(a, b pair) int { return cmp.Compare(a.key, b.key) })
		Sort(list, func(a, b *pair) bool { return a.key < b.key })
		require.Equal(t, want, list)
	}
}

func TestInsertAndRemove(t *testing.T) {
	list := []int{1, 3}
	list = Insert(list, 1, 2)
	list = Insert(list, 3, 4)
	list = Insert(list, 0, 0)
	require.Equal(t, []int{0, 1, 2, 3, 4}, list)
	list = RemoveAt(RemoveAt(list, 4), 0)
	require.Equal(t, []int{1, 2, 3}, list)
	a, b := new(int), new(int)
	pointers := []*int{a, b}
	require.Equal(t, 1, len(Remove(pointers, a)))
	require.Same(t, b, pointers[0])
	require.Nil(t, pointers[1], "what was taken out is let go")
	require.Len(t, Remove([]*int{a}, b), 1)
}
