package cacher_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/wire"
)

// A cached patch is only used for the same position, form and list.
func TestPatchCacheMatchesPositionAndForm(t *testing.T) {
	w := listed(t, 1, "ns/a rv=1 phase=Pending")
	for list := range 2 {
		rv := 1000 * list
		for i := range cacher.MaxPatches + 40 { // more than are cached
			w.Apply(withBody("ns/a rv="+strconv.Itoa(rv+i+2)+" phase=phase-"+strconv.Itoa(i), "body "+strconv.Itoa(rv+i)), w.now)
		}
		for _, bodies := range []bool{true, false, true} {
			for position := w.Window().Start(); position < w.Window().End(); position++ {
				assertPatch(t, w, position, bodies)
				assertPatch(t, w, position, !bodies)
			}
		}
		w.list(api.ResourceVersion(rv+999), "ns/a rv="+strconv.Itoa(rv+999))
	}
}

func assertPatch(t *testing.T, w *world, position int, bodies bool) {
	t.Helper()
	e := w.Window().At(position)
	if e.Current == 0 || e.Previous == 0 {
		assert.Nil(t, w.Patch(position, bodies))
		return
	}
	current := w.Heap().Envelope(e.Current)
	var body api.Body
	if bodies {
		body = current.Body()
	}
	want, ok := wire.AppendPatch(nil, w.Heap().Envelope(e.Previous), current, body)
	require.True(t, ok)
	assert.Equal(t, wire.Patch(want), w.Patch(position, bodies))
}

// A patch as large as an object is not cached, but still returned.
func TestLongPatchIsNotCached(t *testing.T) {
	w := listed(t, 1, "ns/a rv=1")
	w.Apply(withBody("ns/a rv=2 phase=Running", string(make([]byte, 100_000))), w.now)
	for range 2 {
		assertPatch(t, w, w.Window().Start(), true)
	}
	assert.Zero(t, w.PatchBytes())
	w.Apply(withBody("ns/a rv=3 phase=Failed", "short"), w.now)
	assertPatch(t, w, w.Window().Start()+1, true)
	assert.Positive(t, w.PatchBytes())
}

func withBody(text, body string) *cacher.Put {
	o := objects.Object(text)
	o.Body = api.Body{Codec: api.JSON, Data: []byte(body)}
	return objects.PutOf(o)
}
