package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/access/token"
	"github.com/watchglass/watchglass/host/connector/connectortest"
)

// shards is the number of Durable Objects among which the pods are divided.
const shards = 2

// inShards returns a value of WATCHGLASS_CLUSTERS that divides pods by namespace, with the
// given number of regions.
func inShards(regions int) string {
	return fmt.Sprintf(`{"default": {"regions": %d, "groups": [
		{"name": "pods", "resources": ["v1/pods", "v1/configmaps"], "shards": %d},
		{"name": "rest", "resources": ["v1/nodes", "apps/v1/deployments"]}]}}`, regions, shards)
}

// versions maps the keys of objects to their resource versions.
type versions map[api.Key]api.ResourceVersion

const podsPrefix = "/registry/pods/"

// truth returns the resource versions of the pods in etcd.
func (r *rig) truth() versions {
	r.Helper()
	response, err := r.store.Client().Get(r.Context(), podsPrefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	require.NoError(r, err)
	all := versions{}
	for _, kv := range response.Kvs {
		all[api.Key(strings.TrimPrefix(string(kv.Key), podsPrefix))] = api.ResourceVersion(kv.ModRevision)
	}
	return all
}

// of returns the entries of v in the namespaces for which covered returns true.
func (v versions) of(covered func(namespace string) bool) versions {
	kept := maps.Clone(v)
	maps.DeleteFunc(kept, func(key api.Key, _ api.ResourceVersion) bool { return !covered(key.Namespace()) })
	return kept
}

func (v versions) namespaces() []string {
	found := map[string]bool{}
	for key := range v {
		found[key.Namespace()] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// reader is a client that is subscribed to pods over a WebSocket.
type reader struct {
	*rig
	*connectortest.Reader
	pods    *connectortest.Subscription
	covered func(namespace string) bool // reports whether the reader may receive a namespace
}

// connect opens a connection and sends a Hello.
func (r *rig) connect(query, bearer string) *connectortest.Reader {
	r.Helper()
	conn, _, err := r.dial("/watch?"+query, []string{wire.Subprotocol}, "Authorization", "Bearer "+bearer)
	require.NoError(r, err)
	r.Cleanup(func() { _ = conn.CloseNow() })
	c := connectortest.NewReader(connectortest.Over(conn))
	require.NoError(r, c.Hello(r.Context(), ""))
	return c
}

// subscribe subscribes to the pods of a namespace or, if namespace is empty, to all pods.
// It retries while the response is 503.
func (r *rig) subscribe(c *connectortest.Reader, id *uint32, namespace string) *connectortest.Subscription {
	r.Helper()
	for {
		*id++
		s, err := c.Subscribe(r.Context(), wire.Subscribe{Subscription: *id, Resource: "v1/pods", Namespace: namespace, Credit: connectortest.Endless})
		require.NoError(r, err)
		require.NoError(r, c.UntilSynced(r.Context(), s))
		if s.Status == nil || s.Status.Code != http.StatusServiceUnavailable {
			return s
		}
	}
}

// read connects a reader of a namespace, with a token for only that namespace.
func (r *rig) read(namespace string) *reader {
	r.Helper()
	c := r.connect("resource=v1/pods&namespace="+namespace, r.sign(func(c *token.Claims) { c.Namespaces = []string{namespace} }))
	found := &reader{rig: r, Reader: c, covered: func(other string) bool { return other == namespace }}
	found.pods = r.subscribe(c, new(uint32), namespace)
	require.Nil(r, found.pods.Status)
	return found
}

// readShard connects a reader of all objects in a shard.
func (r *rig) readShard(shard api.Shard) *reader {
	r.Helper()
	c := r.connect("resource=v1/pods&shard="+shard.String(), r.everything())
	found := &reader{rig: r, Reader: c, covered: shard.Has}
	found.pods = r.subscribe(c, new(uint32), "")
	require.Nil(r, found.pods.Status)
	return found
}

// reach waits until the reader has exactly the objects of "all" that it may receive. It
// fails the test if the reader has an object that it may not receive.
func (r *reader) reach(all versions) {
	r.Helper()
	want := all.of(r.covered)
	require.NoError(r, r.Until(r.Context(), func() bool {
		require.Nil(r, r.pods.Status)
		has := versions{}
		for key, o := range r.pods.Objects {
			require.True(r, r.covered(key.Namespace()), "a reader received %s", key)
			has[key] = o.ResourceVersion
		}
		return maps.Equal(want, has)
	}))
}

// divide checks that each reader has exactly the objects of its namespace or shard initially,
// after changes, and after a namespace is deleted (rules W26 to W30, G1).
func (r *rig) divide(readers int) {
	all := r.truth()
	namespaces := all.namespaces()
	require.Greater(r, len(namespaces), 2*shards)
	rng := rand.New(rand.NewPCG(1, 2))
	var reading []*reader
	for i := range uint32(shards) {
		reading = append(reading, r.readShard(api.Shard{Index: i, Count: shards}))
	}
	for range readers {
		reading = append(reading, r.read(namespaces[rng.IntN(len(namespaces))]))
	}
	for range 3 {
		for _, one := range reading {
			one.reach(all)
		}
		r.change()
		all = r.truth()
	}
	gone := reading[shards] // the first reader of a single namespace
	_, err := r.store.Client().Delete(r.Context(), podsPrefix+gone.pods.Keys()[0].Namespace()+"/", clientv3.WithPrefix())
	require.NoError(r, err)
	all = r.truth()
	for _, one := range reading {
		one.reach(all)
	}
	assert.Empty(r, gone.pods.Objects)
	for _, one := range reading {
		assert.Equal(r, 1, one.pods.Snapshots)
	}
}

func TestShards(t *testing.T) {
	r := startDivided(t, 200, inShards(0))
	all := r.truth()
	namespaces := all.namespaces()
	home := func(namespace string) api.Shard { return api.ShardOf(namespace, shards) }
	here := namespaces[0]
	elsewhere := namespaces[slices.IndexFunc(namespaces, func(n string) bool { return home(n) != home(here) })]
	beside := namespaces[slices.IndexFunc(namespaces, func(n string) bool { return n != here && home(n) == home(here) })]

	t.Run("the Kubernetes API answers for one namespace", func(t *testing.T) {
		r := &rig{t, r.demo}
		for _, namespace := range namespaces {
			list := r.list("/api/v1/namespaces/" + namespace + "/pods")
			got := versions{}
			for _, item := range list.Items {
				rv, err := api.ParseResourceVersion(item.Metadata.ResourceVersion)
				require.NoError(t, err)
				got[api.NewKey(item.Metadata.Namespace, item.Metadata.Name)] = rv
			}
			assert.Equal(t, all.of(func(other string) bool { return other == namespace }), got)
			code, _ := r.get("/api/v1/namespaces/"+namespace+"/pods/"+list.Items[0].Metadata.Name, r.everything())
			assert.Equal(t, 200, code)
		}
		assert.Empty(t, r.list("/api/v1/namespaces/no-such-namespace/pods").Items, "as Kubernetes does")
		assert.NotEmpty(t, r.list("/api/v1/nodes").Items)
		assert.NotEmpty(t, r.list("/apis/apps/v1/deployments").Items, "is not divided")
		_, metrics := r.get("/metrics", r.everything())
		for i := range shards {
			assert.Contains(t, string(metrics), fmt.Sprintf(`watchglass_edge_feeds_active{cluster="default",object="pods/%d-of-%d"} 1`, i, shards))
		}
	})
	t.Run("the Kubernetes API refuses what no object has all of", func(t *testing.T) {
		r := &rig{t, r.demo}
		const want = "v1/pods is divided by namespace over 2 objects of this edge: request one namespace, or all of one object over a WebSocket, as watchglass get does with /watch?shard=0-of-2"
		for _, path := range []string{
			"/api/v1/pods", "/api/v1/pods?limit=2", "/api/v1/pods?resourceVersion=0", "/api/v1/pods?watch=true",
			"/api/v1/pods?fieldSelector=metadata.namespace%3D" + here,
		} {
			got := r.list(path)
			assert.Equal(t, []any{"Status", "BadRequest", 400, want}, []any{got.Kind, got.Reason, got.Code, got.Message}, path)
		}
		mine := r.sign(func(c *token.Claims) { c.Namespaces = []string{here} })
		for _, path := range []string{"/api/v1/pods", "/api/v1/namespaces/" + elsewhere + "/pods", "/api/v1/namespaces/" + beside + "/pods?watch=true"} {
			code, _ := r.get(path, mine)
			assert.Equal(t, 403, code, "a token that does not grant it comes first: %s", path)
		}
	})
	t.Run("a socket leads to one object", func(t *testing.T) {
		r := &rig{t, r.demo}
		mine := r.sign(func(c *token.Claims) { c.Namespaces = []string{here} })
		feed := r.sign(func(c *token.Claims) { c.Feed = true })
		for _, c := range []struct {
			path, token string
			code        int
		}{
			{"/watch", r.everything(), 400},
			{"/watch?resource=v1/pods", r.everything(), 400},
			{"/watch?resource=v1/pods&resource=v1/nodes&namespace=" + here, r.everything(), 400},
			{"/watch?resource=v1/pods&shard=2-of-2", r.everything(), 404},
			{"/watch?resource=v1/pods&shard=0-of-3", r.everything(), 404},
			{"/watch?resource=v1/nodes&shard=0-of-2", r.everything(), 404},
			{"/watch?resource=v1/pods&namespace=" + elsewhere, mine, 403},
			{"/watch?resource=v1/pods&namespace=" + beside, mine, 403},
			{"/watch?resource=v1/pods&namespace=" + here, "", 401},
			{"/feed?resources=v1/pods&clusterID=x", feed, 400},
			{"/feed?resources=v1/pods&shard=0-of-3&clusterID=x", feed, 404},
			{"/feed?resources=v1/nodes&shard=0-of-2&clusterID=x", feed, 404},
			{"/feed?resources=v1/pods&shard=0-of-2&clusterID=x", feed, 409}, // another cluster
		} {
			assert.Equal(t, c.code, r.refused(c.path, c.token), c.path)
		}
	})
	t.Run("a subscription gets all it asks for, or is refused", func(t *testing.T) {
		r := &rig{t, r.demo}
		c, id := r.connect("resource=v1/pods&namespace="+here, r.everything()), new(uint32)
		for namespace, code := range map[string]int{here: 0, beside: 0, elsewhere: 400, "": 400} {
			s := r.subscribe(c, id, namespace)
			if code == 0 {
				require.Nil(t, s.Status)
				assert.Len(t, s.Objects, len(all.of(func(other string) bool { return other == namespace })))
				continue
			}
			require.NotNil(t, s.Status, namespace)
			assert.Equal(t, code, s.Status.Code)
			assert.Contains(t, s.Status.Message, "This one has shard "+home(here).String())
			assert.Contains(t, s.Status.Message, "&namespace=NAME")
			assert.Empty(t, s.Objects)
		}
		c, id = r.connect("resource=v1/pods&shard="+home(here).String(), r.sign(func(c *token.Claims) { c.Namespaces = []string{here} })), new(uint32)
		for namespace, code := range map[string]int{here: 0, beside: 403, elsewhere: 403, "": 403} {
			s := r.subscribe(c, id, namespace)
			if code != 0 {
				require.NotNil(t, s.Status, namespace)
				assert.Equal(t, code, s.Status.Code, "%q: %v", namespace, s.Status)
				assert.Empty(t, s.Objects)
			}
		}
	})
	t.Run("a connector receives the objects to feed", func(t *testing.T) {
		r := &rig{t, r.demo}
		path := "/feed?resources=v1/pods,v1/nodes"
		_, body := r.get(path, r.sign(func(c *token.Claims) { c.Feed = true }))
		assert.JSONEq(t, `{"objects": [{"resources": ["v1/pods"], "shard": "0-of-2"}, {"resources": ["v1/pods"], "shard": "1-of-2"}, {"resources": ["v1/nodes"]}]}`, string(body))
		code, _ := r.get(path, r.everything())
		assert.Equal(t, 403, code)
		code, _ = r.get(path, "")
		assert.Equal(t, 401, code)
	})
	t.Run("readers receive nothing of other shards", func(t *testing.T) {
		r := &rig{t, r.demo}
		w := r.watch("/api/v1/namespaces/"+elsewhere+"/pods?watch=true", r.everything())
		r.divide(10)
		_, err := r.store.Client().Delete(t.Context(), podsPrefix+elsewhere+"/", clientv3.WithPrefix())
		require.NoError(t, err)
		e := w.next()
		for ; e.Type != "DELETED"; e = w.next() {
			require.Contains(t, []string{"ADDED", "MODIFIED"}, e.Type)
			require.Equal(t, elsewhere, e.Object.Metadata.Namespace)
		}
		assert.Equal(t, elsewhere, e.Object.Metadata.Namespace)
	})
}

// The home object of each shard feeds the regional objects of that shard. The regional
// objects reach the same state as the home object.
func TestShardsInRegions(t *testing.T) {
	r := startDivided(t, 200, inShards(1))
	r.divide(10)
	for i := range shards {
		_, body := r.get("/metrics", r.everything())
		assert.Contains(t, string(body), fmt.Sprintf(`watchglass_readers{cluster="default",object="pods/%d-of-%d"} 1`+"\n", i, shards),
			"home serves its region alone")
	}
	namespace := r.truth().namespaces()[0]
	list := r.list("/api/v1/namespaces/" + namespace + "/pods")
	text, err := json.Marshal(list.Items)
	require.NoError(t, err)
	assert.Contains(t, string(text), namespace)
}
