package client

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
)

func TestACollectionHasTheChosenColumns(t *testing.T) {
	w := newWorld(t)
	w.put("shop/a", "Pending")
	chosen := []api.Column{{Name: "Node", Kind: api.String, Path: ".spec.nodeName"}, {Name: "App", Kind: api.String, Path: ".metadata.labels.phase"}}
	c, err := w.client.Collection(w.ctx, "v1/pods", CollectionOptions{MetadataOnly: true, Columns: chosen})
	require.NoError(t, err)
	require.NoError(t, c.WaitForSync(w.ctx))
	require.Equal(t, chosen, c.Schema().Columns[:2])
	require.NotEqual(t, chosen, w.collection().Schema().Columns[:2])
	cell := func() string {
		list, err := c.List(w.ctx, ListOptions{})
		require.NoError(t, err)
		require.Len(t, list.Items, 1)
		require.Equal(t, "n1", list.Items[0].Column(0).Text)
		return list.Items[0].Column(1).Text
	}
	require.Equal(t, "Pending", cell())
	rv := w.put("shop/a", "Running")
	w.reach(c, func(s Status) bool { return s.ResourceVersion >= rv })
	require.Equal(t, "Running", cell())

	broken, err := w.client.Collection(w.ctx, "v1/pods", CollectionOptions{Columns: []api.Column{{Name: "X", Kind: api.String, Path: ".a[-1]"}}})
	if err == nil {
		err = broken.WaitForSync(w.ctx)
	}
	require.ErrorIs(t, err, api.BadRequest(""))
	require.ErrorContains(t, err, `column "X"`)
}
