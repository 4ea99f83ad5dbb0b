package objects_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/watcher"
)

func TestObjectReadsEveryKindOfWord(t *testing.T) {
	o := objects.Object(`default/a rv=5 uid=u1 tier=db app=web phase=Running nodeName=n1 restarts=-2 created=1000 body={"x":1} immutable`)
	assert.Equal(t, api.Object{
		Key: "default/a", UID: "u1", ResourceVersion: 5, Flags: api.Immutable,
		Labels: api.Labels{{Key: "app", Value: "web"}, {Key: "tier", Value: "db"}},
		Fields: []string{"a", "default", "n1", "Running"},
		Columns: []api.Value{
			{Kind: api.String, Text: "a"}, {Kind: api.String, Text: "Running"},
			{Kind: api.Integer, Int: -2}, {Kind: api.Date, Int: 1000},
		},
		Body: api.Body{Codec: api.JSON, Data: []byte(`{"x":1}`)},
	}, o)
	assert.NoError(t, objects.Update("default/a").Envelope.Validate())
	assert.Panics(t, func() { objects.Object("") })
	assert.Panics(t, func() { objects.Object("a rv=x") })
}

func TestVersionsAreNamedInResults(t *testing.T) {
	arena := store.NewArena()
	ref := objects.Version(arena, "default/a rv=5 app=web")
	assert.Equal(t, []string{"default/a@5", "-"}, objects.Refs(arena, []store.Ref{ref, 0}))
	assert.Equal(t, "DELETED default/a@7 unknown", objects.Delivery(arena, watcher.Delivery{
		Type: api.Deleted, Content: ref, ResourceVersion: 7, Flags: api.FinalStateUnknown,
	}))
	assert.Equal(t, "BOOKMARK @7 end", objects.Delivery(arena, watcher.Delivery{
		Type: api.Bookmark, ResourceVersion: 7, Flags: api.EndOfInitialEvents,
	}))
}
