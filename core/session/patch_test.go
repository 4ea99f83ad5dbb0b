package session_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/wire"
)

// A cached patch is used only for the position and the flag bodies that it was created
// for, even after a relist.
func TestPatchCacheMatchesPositionAndBodies(t *testing.T) {
	c := withPod(t)
	for list := range 2 {
		rv := 1000 * list
		for i := range session.MaxPatches + 40 { // more than fit into the cache
			c.Apply(withBody("ns/a rv="+strconv.Itoa(rv+i+2)+" phase=phase-"+strconv.Itoa(i), "body "+strconv.Itoa(rv+i)), 1000)
		}
		for _, bodies := range []bool{true, false, true} {
			for position := c.Window().Start(); position < c.Window().End(); position++ {
				assertPatch(t, c, position, bodies)
				assertPatch(t, c, position, !bodies)
			}
		}
		c.Listing().Begin()
		c.Listing().Object(objects.Update("ns/a rv=" + strconv.Itoa(rv+999)))
		c.Listing().End(api.ResourceVersion(rv+999), 1000)
	}
}

func assertPatch(t *testing.T, c *session.Served, position int, bodies bool) {
	t.Helper()
	e := c.Window().At(position)
	if e.Current == 0 || e.Previous == 0 {
		assert.Nil(t, c.Patch(position, bodies))
		return
	}
	current := c.Arena().Envelope(e.Current)
	var body api.Body
	if bodies {
		body = current.Body()
	}
	want, ok := wire.AppendPatch(nil, c.Arena().Envelope(e.Previous), current, body)
	require.True(t, ok)
	assert.Equal(t, wire.Patch(want), c.Patch(position, bodies))
}

// A patch as large as an object is returned, but not cached.
func TestLongPatchIsNotCached(t *testing.T) {
	c := withPod(t)
	c.Apply(withBody("ns/a rv=2 phase=Running", string(make([]byte, 100_000))), 1000)
	for range 2 {
		assertPatch(t, c, c.Window().Start(), true)
	}
	assert.Zero(t, c.PatchBytes())
	c.Apply(withBody("ns/a rv=3 phase=Failed", "short"), 1000)
	assertPatch(t, c, c.Window().Start()+1, true)
	assert.Positive(t, c.PatchBytes())
}

// withPod returns a collection with one pod.
func withPod(t *testing.T) *session.Served {
	c := session.Serve(cacher.New(cacher.Config{Schema: objects.Pods()}))
	c.Listing().Begin()
	require.Nil(t, c.Listing().Object(objects.Update("ns/a rv=1 phase=Pending")))
	c.Listing().End(1, 1000)
	return c
}

func withBody(text, body string) *cacher.Update {
	o := objects.Object(text)
	o.Body = api.Body{Codec: api.JSON, Data: []byte(body)}
	return objects.UpdateOf(o)
}
