package cacher_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/objects"
)

// A part of a restored state that is invalid fails the reads of everyone, and its
// object is named to no reader (rule B25).
func TestReadsOfADamagedStateNameNoObject(t *testing.T) {
	c := cacher.New(cacher.Config{Schema: objects.Pods()})
	c.BeginList()
	c.ListObject(objects.Put("team-a/x rv=1"))
	c.EndList(2, 1000)
	cause := api.Protocol("team-b/secret-project was kept twice")
	c.Damage(cause)
	require.Nil(t, c.List(cacher.ListOptions{Namespace: "team-a"}, func(_ *cacher.ListResult, status *api.Status) {
		require.Same(t, c.Damaged(), status)
	}))
	require.ErrorIs(t, c.Damaged(), api.Expired(""))
	require.NotContains(t, c.Damaged().Message, "secret-project")
	require.Same(t, cause, c.DamageCause())
}
