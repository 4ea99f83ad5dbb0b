package connector_test

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/connector/connectortest"
)

// shard connects a reader of one shard. The reader may subscribe to the given resources,
// or to all resources if none is given.
func (w *world) shard(shard api.Shard, resources ...api.Resource) *connectortest.Reader {
	served, end := connectortest.Pipe()
	w.serving.Go(func() { _ = w.connector.ServeShard(w.t.Context(), served, resources, shard) })
	r := connectortest.NewReader(end)
	require.NoError(w.t, r.Hello(w.t.Context(), ""))
	return r
}

// Together, the readers of all shards have all objects. Each reader has only the objects
// of its shard. All readers share one upstream watch. The test checks this initially,
// after random changes, and after a namespace is deleted (rules W26 to W30).
func TestW30_ShardsPartitionTheObjects(t *testing.T) {
	const shards, namespaces = 5, 23
	run(t, connector.Config{}, func(t *testing.T, w *world) {
		rng := rand.New(rand.NewSource(1))
		inSource := map[api.Key]bool{}
		name := func() api.Key {
			return api.NewKey(fmt.Sprint("team-", rng.Intn(namespaces)), fmt.Sprint("pod-", rng.Intn(6)))
		}
		put := func(key api.Key) {
			w.source.Put(pods, key, fmt.Appendf(nil, `{"metadata":{"name":%q,"namespace":%q,"uid":"u"}}`, key.Name(), key.Namespace()))
			inSource[key] = true
		}
		remove := func(key api.Key) {
			w.source.Delete(pods, key)
			delete(inSource, key)
		}
		for range 100 {
			put(name())
		}
		var readers []*connectortest.Reader
		var held []*connectortest.Subscription
		for index := range uint32(shards) {
			r := w.shard(api.Shard{Index: index, Count: shards}, pods)
			s := w.subscribe(r, wire.Subscribe{})
			require.NoError(t, r.UntilSynced(t.Context(), s))
			readers, held = append(readers, r), append(held, s)
		}
		check := func() {
			together := map[api.Key]bool{}
			for index, s := range held {
				w.until(readers[index], func() bool { return s.ResourceVersion == w.source.Revision() })
				for key := range s.Objects {
					require.EqualValues(t, index, api.ShardOf(key.Namespace(), shards).Index, key)
					together[key] = true
				}
			}
			require.Equal(t, inSource, together)
		}
		check()
		for range 200 {
			if key := name(); inSource[key] && rng.Intn(3) == 0 {
				remove(key)
			} else {
				put(key)
			}
		}
		check()
		for key := range inSource {
			if key.Namespace() == "team-7" {
				remove(key)
			}
		}
		check()
		events := 0
		for _, s := range held {
			assert.Equal(t, 1, s.Snapshots)
			events += s.Events
		}
		assert.GreaterOrEqual(t, events, 200, "each change was sent to one shard")
		assert.EqualValues(t, 1, w.connector.Stats().Counted[pods].Streams)
		assert.EqualValues(t, 1, w.connector.Stats().Counted[pods].Lists)
	})
}

// Only readers of the same shard receive the name of an unreadable object.
func TestFaultsStayInTheirShard(t *testing.T) {
	run(t, connector.Config{}, func(t *testing.T, w *world) {
		broken := api.NewKey("shop", "broken")
		w.source.Put(pods, broken, []byte(`{"metadata":`))
		shop := api.ShardOf("shop", 2)
		for index := range uint32(2) {
			r := w.shard(api.Shard{Index: index, Count: 2})
			s := w.subscribe(r, wire.Subscribe{})
			require.NoError(t, r.UntilSynced(t.Context(), s))
			_, faulty := s.Faults[broken]
			assert.Equal(t, shop.Index == index, faulty)
		}
	})
}

func TestResourcesOutsideOfAShardAreRefused(t *testing.T) {
	run(t, connector.Config{}, func(t *testing.T, w *world) {
		nodes := api.Resource{Version: "v1", Name: "nodes"}
		r := w.shard(api.Shard{Index: 1, Count: 2}, pods, nodes)
		for resource, want := range map[string]*api.Status{
			"v1/services": api.NotFound("the connector does not send v1/services to this reader"),
			"v1/nodes":    api.BadRequest("v1/nodes is not namespaced, but this server serves a shard of the namespaces"),
		} {
			s := w.subscribe(r, wire.Subscribe{Resource: resource})
			w.until(r, func() bool { return s.Status != nil })
			assert.Equal(t, want, s.Status)
		}
	})
}
