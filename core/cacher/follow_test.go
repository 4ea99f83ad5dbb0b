package cacher_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/dispatch"
	"github.com/watchglass/watchglass/core/history"
)

// follow adds a follower and counts its wake-ups.
func (w *world) follow(labels string) (*dispatch.Follower, *int) {
	filter, status := w.NewFilter("", objects.Select(labels, ""))
	require.Nil(w.t, status)
	woken := new(int)
	return w.Follow(filter, func() { *woken++ }), woken
}

func TestFollowerIsIdleUntilAnEventMatches(t *testing.T) {
	w := newWorld(t, history.Limits{MinCapacity: 10, MaxCapacity: 10})
	w.list(10, "ns/a rv=1 app=web")
	web, woken := w.follow("app=web")
	for rv := 11; rv < 100; rv++ {
		w.do("ns/b rv=" + strconv.Itoa(rv) + " app=db")
	}
	assert.Zero(t, *woken)
	assert.Equal(t, w.Window().End(), web.Position(), "the window still contains it")

	w.do("ns/a rv=100 app=db") // it stops matching the selector
	at := w.Window().End() - 1
	assert.Equal(t, 1, *woken)
	w.do("ns/b rv=101 app=web")
	assert.Equal(t, 1, *woken, "it has the event already")
	assert.Equal(t, at, web.Position())

	web.MoveTo(at + 1)
	assert.Equal(t, at+1, web.Position(), "one event remains")
	web.MoveTo(at + 2)
	w.do("-ns/b rv=102")
	assert.Equal(t, 2, *woken, "a deletion is looked up by its previous object")
	web.Close()
	web.Close()
	w.do("ns/b rv=103 app=web")
	assert.Equal(t, 2, *woken)
}

func TestNotifyNextWakesAtTheNextVersion(t *testing.T) {
	w := listed(t, 10)
	f, woken := w.follow("app=web")
	f.NotifyNext()
	f.NotifyNext()
	w.do("ns/b rv=11 app=db")
	assert.Equal(t, 1, *woken)
	w.do("ns/b rv=12 app=db")
	assert.Equal(t, 1, *woken, "once")
	f.NotifyNext()
	w.Progress(12, w.now)
	assert.Equal(t, 2, *woken)
	f.NotifyNext()
	f.Close()
	w.Progress(13, w.now)
	assert.Equal(t, 2, *woken)
}

func TestFailuresFaultsAndRelistsWakeAllFollowers(t *testing.T) {
	w := listed(t, 10)
	resting, woken := w.follow("app=web")
	behind, _ := w.follow("")
	gone, none := w.follow("")
	gone.Close()
	w.Upstream().Fail(api.Unavailable("no leader"))
	assert.Equal(t, 1, *woken)
	w.do("ns/b rv=11 app=db")
	assert.Equal(t, 1, *woken, "it may be old")
	w.Progress(11, w.now)
	assert.Equal(t, 2, *woken, "progress has resumed")
	w.Fault("ns/c", 12, api.Invalid("broken"), w.now)
	assert.Equal(t, 3, *woken)

	w.list(20)
	assert.Equal(t, 4, *woken)
	assert.EqualValues(t, 11, resting.Rested(), "its position when the state was replaced")
	assert.Zero(t, behind.Rested())
	assert.Zero(t, *none)
}

func TestC35_RequestProgressLastsUntilTheNextVersion(t *testing.T) {
	w := newWorld(t, history.Limits{})
	w.Waits().RequestProgress()
	assert.False(t, w.Waits().Any(), "before the first list no progress is requested")
	w.list(10)
	assert.False(t, w.Waits().Any(), "which counts as progress")
	for _, news := range []func(){
		func() { w.do("ns/a rv=11 app=web") },
		func() { w.Progress(12, w.now) },
		func() { w.list(20) },
	} {
		w.Waits().RequestProgress()
		assert.True(t, w.Waits().Any())
		news()
		assert.False(t, w.Waits().Any())
	}
}
