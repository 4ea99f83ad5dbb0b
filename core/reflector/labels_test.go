package reflector

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// Label sets are found by their IDs, even if the IDs have the same low bits. A reused
// ID denotes the new set.
func TestLabelSetsAreFoundByTheirID(t *testing.T) {
	var sets labelSets
	assert.Nil(t, sets.find(0))
	define := func(id uint32, value string) {
		sets.define(&wire.LabelSet{ID: id, Labels: api.Labels{{Key: "app", Value: value}}})
	}
	find := func(id uint32) string {
		t.Helper()
		set := sets.find(id)
		require.NotNil(t, set)
		return set.labels[0].Value
	}
	define(0, "a")
	define(256, "b")
	define(1<<31, "c")
	for range 2 {
		assert.Equal(t, "a", find(0))
		assert.Equal(t, "b", find(256))
		assert.Equal(t, "c", find(1<<31))
		assert.Nil(t, sets.find(512))
	}
	held := sets.bytes
	define(256, "d")
	assert.Equal(t, "d", find(256))
	assert.Equal(t, "a", find(0))
	assert.Equal(t, held, sets.bytes, "the previous set of a number is released")
	define(256, "d")
	assert.Equal(t, "d", find(256))
	assert.Equal(t, held, sets.bytes, "a repeated definition has no effect")
}
