package dispatch_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/watchglass/watchglass/core/dispatch"
)

func TestC27_Budget(t *testing.T) {
	var b dispatch.Budget
	assert.Zero(t, b.Take(0), "starts empty")
	assert.Zero(t, b.Take(999))
	assert.EqualValues(t, 50, b.Take(1000))
	assert.Zero(t, b.Take(1999), "Take takes everything, and refills are in whole seconds")
	assert.EqualValues(t, 100, b.Take(60_000), "capped")
	b.GiveBack(30)
	b.GiveBack(-80)
	assert.EqualValues(t, 30, b.Take(60_000))
	b.GiveBack(1000)
	assert.EqualValues(t, 100, b.Take(60_000), "capped when returned")
}
