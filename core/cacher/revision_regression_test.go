package cacher_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// If the deadline of a watch passes while another watch blocks dispatch inside a
// revision, the watch still ends after the whole revision (G8).
func TestG4_DeadlinesFallBetweenRevisions(t *testing.T) {
	w := listed(t, 10)
	slow := w.start(since("10"))
	options := since("10")
	options.TimeoutSeconds = 6
	timed := w.start(options)
	w.pass(5950)
	w.fill(slow)
	w.take(timed)
	w.do("ns/a rv=31", "ns/b rv=31")
	w.now += 70
	w.Tick(w.now)
	require.Greater(t, w.NextTick(), w.now, "the deadline waits")
	w.now += 100
	w.Tick(w.now)
	assert.True(t, slow.Stopped())
	assert.True(t, timed.Stopped())
	assert.Equal(t, []string{"ADDED ns/a@31", "ADDED ns/b@31"}, w.take(timed))
	w.assertNoLeak()
}
