package client

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
)

var (
	deployments = api.Resource{Group: "apps", Version: "v1", Name: "deployments"}
	replicaSets = api.Resource{Group: "apps", Version: "v1", Name: "replicasets"}
)

// own stores an object in the namespace shop. The UID of the object is its name.
func (w *world) own(resource api.Resource, kind, name, owner string) {
	owners := ""
	if owner != "" {
		owners = fmt.Sprintf(`,"ownerReferences":[{"uid":"node"},{"uid":%q,"controller":true}]`, owner)
	}
	version := strings.TrimPrefix(resource.Group+"/"+resource.Version, "/")
	w.source.Put(resource, api.NewKey("shop", name), fmt.Appendf(nil,
		`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"namespace":"shop","uid":%q%s}}`, version, kind, name, name, owners))
}

func (w *world) open3() []*Collection {
	w.t.Helper()
	var collections []*Collection
	for _, resource := range []api.Resource{deployments, replicaSets, pods} {
		c, err := w.client.Collection(w.ctx, resource.String(), CollectionOptions{MetadataOnly: true})
		require.NoError(w.t, err)
		require.NoError(w.t, c.WaitForSync(w.ctx))
		collections = append(collections, c)
	}
	return collections
}

// shape returns the names of a node and of those below it, such as "web(web-1(web-1-a))".
func shape(n *TreeNode) string {
	name := "?" + n.UID
	if n.Collection != nil {
		name = n.Object.Key().Name()
	}
	var children []string
	for _, child := range n.Children {
		children = append(children, shape(child))
	}
	if len(children) > 0 {
		name += "(" + strings.Join(children, " ") + ")"
	}
	return name
}

func (w *world) untilTree(tree *Tree, what string, want func(*TreeSnapshot) bool) *TreeSnapshot {
	w.t.Helper()
	for snapshot, err := range tree.Snapshots(w.ctx) {
		require.NoError(w.t, err, what)
		if want(snapshot) {
			return snapshot
		}
	}
	return nil
}

func TestTreeFollowsTheObjectsBelowAnOwner(t *testing.T) {
	w := newWorld(t)
	w.own(replicaSets, "ReplicaSet", "web-1", "web")
	w.own(pods, "Pod", "web-1-a", "web-1")
	w.own(pods, "Pod", "other", "")
	w.own(pods, "Pod", "loop-a", "loop-b")
	w.own(pods, "Pod", "loop-b", "loop-a")
	collections := w.open3()
	tree, err := w.client.Tree(w.ctx, collections, "web", TreeOptions{Limit: 2})
	require.NoError(t, err)
	becomes := func(tree *Tree, want string) *TreeSnapshot {
		t.Helper()
		return w.untilTree(tree, want, func(s *TreeSnapshot) bool { return shape(s.Root) == want })
	}
	becomes(tree, "?web(web-1(web-1-a))")
	w.own(deployments, "Deployment", "web", "")
	snapshot := becomes(tree, "web(web-1(web-1-a))")
	require.Same(t, collections[0], snapshot.Root.Collection)
	require.Empty(t, snapshot.Errors)
	require.False(t, snapshot.Truncated)
	w.own(pods, "Pod", "web-1-b", "web-1")
	w.own(pods, "Pod", "web-1-c", "web-1")
	w.untilTree(tree, "truncated", func(s *TreeSnapshot) bool { return s.Truncated })
	w.source.Delete(pods, "shop/web-1-c")
	becomes(tree, "web(web-1(web-1-a web-1-b))")
	w.source.Delete(replicaSets, "shop/web-1")
	becomes(tree, "web")
	w.own(replicaSets, "ReplicaSet", "web-1", "web")
	becomes(tree, "web(web-1(web-1-a web-1-b))")

	loop, err := w.client.Tree(w.ctx, collections, "loop-a", TreeOptions{})
	require.NoError(t, err)
	becomes(loop, "loop-a(loop-b)")
	twice, err := w.client.Tree(w.ctx, append(w.open3(), collections...), "web-1", TreeOptions{})
	require.NoError(t, err)
	becomes(twice, "web-1(web-1-a web-1-b)")

	require.NoError(t, collections[2].Close())
	snapshot = w.untilTree(tree, "without pods", func(s *TreeSnapshot) bool { return len(s.Errors) > 0 && shape(s.Root) == "web(web-1)" })
	require.Equal(t, []TreeError{{collections[2], ErrClosed}}, snapshot.Errors)
	require.NoError(t, tree.Close())
	for _, err := range tree.Snapshots(w.ctx) {
		require.ErrorIs(t, err, ErrClosed)
	}
}

func TestTreeHasTheReasonWhyObjectsAreMissing(t *testing.T) {
	w := newWorld(t)
	w.own(pods, "Pod", "a", `odd "UID" \`)
	gizmos, err := w.client.Collection(w.ctx, "example.com/v1/gizmos", CollectionOptions{})
	require.NoError(t, err)
	require.ErrorContains(t, gizmos.WaitForSync(w.ctx), "gizmos")
	tree, err := w.client.Tree(w.ctx, []*Collection{gizmos, w.collection()}, `odd "UID" \`, TreeOptions{})
	require.NoError(t, err)
	snapshot := w.untilTree(tree, "the pod", func(s *TreeSnapshot) bool { return len(s.Root.Children) == 1 })
	require.Len(t, snapshot.Errors, 1)
	require.Same(t, gizmos, snapshot.Errors[0].Collection)
	require.ErrorContains(t, snapshot.Errors[0].Err, "gizmos")

	_, err = w.client.Tree(w.ctx, nil, "a", TreeOptions{})
	require.ErrorContains(t, err, "at least one collection")
	_, err = w.client.Tree(w.ctx, []*Collection{gizmos}, "a", TreeOptions{Limit: 10_001})
	require.ErrorContains(t, err, "at most 10000 objects")
}
