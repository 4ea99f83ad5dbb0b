package cacher_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/objects"
)

// If a part of a restored state is invalid, all reads fail, and their error names no
// object (rule B25).
func TestReadErrorsOfACorruptStateNameNoObject(t *testing.T) {
	c := cacher.New(cacher.Config{Schema: objects.Pods()})
	c.Listing().Begin()
	c.Listing().Object(objects.Update("team-a/x rv=1"))
	c.Listing().End(2, 1000)
	cause := api.Protocol("team-b/secret-project occurs twice in the restored state")
	c.Restored().MarkCorrupt(cause)
	require.Nil(t, c.List(cacher.ListOptions{Namespace: "team-a"}, func(p *cacher.Pages, status *api.Status) {
		require.Nil(t, status)
		_, status = p.All()
		require.Same(t, c.Restored().Corrupt(), status)
	}))
	require.ErrorIs(t, c.Restored().Corrupt(), api.Expired(""))
	require.NotContains(t, c.Restored().Corrupt().Message, "secret-project")
	require.Same(t, cause, c.Restored().Cause())
}
