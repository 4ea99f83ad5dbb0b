package push_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/connector/connectortest"
	"github.com/watchglass/watchglass/host/source/memory"
)

const shards = 3

// divided returns the JSON of a plan that divides pods into the given number of shards.
func divided(count int) string {
	plan := ""
	for i := range count {
		plan += fmt.Sprintf(`{"resources": ["v1/pods"], "shard": "%d-of-%d"},`, i, count)
	}
	return `{"objects": [` + plan[:len(plan)-1] + `]}`
}

func scattered(pods int) *memory.Source {
	s := memory.New()
	for i := range pods {
		putIn(s, fmt.Sprint("team-", i), "one")
	}
	return s
}

func putIn(s *memory.Source, namespace, name string) api.ResourceVersion {
	return s.Put(pods, api.NewKey(namespace, name), fmt.Appendf(nil, `{"metadata":{"name":%q,"namespace":%q,"uid":"u"}}`, name, namespace))
}

// nextOf waits for the given number of connections and returns them by shard.
func (e *edge) nextOf(t *testing.T, count int) map[string]*edgeFeed {
	feeds := map[string]*edgeFeed{}
	for range count {
		f := e.next(t)
		assert.Equal(t, []string{"v1/pods"}, f.query["resources"])
		feeds[f.query.Get("shard")] = f
	}
	require.Len(t, feeds, count)
	return feeds
}

// One connector feeds every object of the plan from one upstream watch. Each object has a
// separate connection, which carries only the namespaces of that object.
func TestEachObjectReceivesItsNamespaces(t *testing.T) {
	t.Parallel() // closing a connection that the test no longer reads takes seconds
	e, source := startEdge(t), scattered(30)
	e.plan = func() string { return divided(shards) }
	c := startCluster(t, e, source).run(t)
	held := map[string]*connectortest.Subscription{}
	for shard, f := range e.nextOf(t, shards) {
		r := f.begin(1)
		held[shard] = synced(t, r)
		last := putIn(source, "team-7", "two") // one object receives the change, and the others receive progress
		require.NoError(t, r.Send(t.Context(), &wire.RequestProgress{Subscription: 1}))
		require.NoError(t, r.Until(t.Context(), func() bool { return held[shard].ResourceVersion >= last }))
	}
	total := 0
	for shard, s := range held {
		total += len(s.Objects)
		for key := range s.Objects {
			assert.Equal(t, shard, api.ShardOf(key.Namespace(), shards).String(), key)
		}
	}
	assert.Equal(t, 31, total)
	assert.EqualValues(t, 1, c.config.Connector.Stats().Counted[pods].Streams, "upstream")
	c.stop()
	require.NoError(t, <-c.done)
}

// An edge with a new division refuses connections for the old division. Some objects may
// temporarily refuse connections for the new division as well.
func TestChangedDivisionReplacesConnections(t *testing.T) {
	t.Parallel() // closing a connection that the test no longer reads takes seconds
	e, source := startEdge(t), scattered(30)
	var mu sync.Mutex
	count, deployed := 2, false
	is := func() int {
		mu.Lock()
		defer mu.Unlock()
		return count
	}
	e.plan = func() string { return divided(is()) }
	e.refuse = func(r *http.Request) (int, string) {
		shard, status := api.ParseShard(r.URL.Query().Get("shard"))
		if status != nil || !shard.Whole() && int(shard.Count) != is() {
			return 404, "there is no such shard"
		}
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Query().Get("shard") == "2-of-3" && !deployed {
			deployed = true
			return 404, "not everywhere yet"
		}
		return 0, ""
	}
	c := startCluster(t, e, source).run(t)
	before := e.nextOf(t, 2)
	mu.Lock()
	count = shards
	mu.Unlock()
	before["0-of-2"].close()
	total := 0
	for _, f := range e.nextOf(t, shards) {
		total += len(synced(t, f.begin(1)).Objects)
	}
	assert.Equal(t, 30, total)
	_, _, err := before["1-of-2"].ws.Read(t.Context())
	assert.ErrorContains(t, err, "StatusGoingAway", "the others are left")
	c.stop()
	require.NoError(t, <-c.done)
}

// If a single object refuses a reconnection, the connector retries, and the other objects
// stay connected.
func TestTemporaryRefusalOfAnObjectDoesNotAffectOthers(t *testing.T) {
	t.Parallel() // closing a connection that the test no longer reads takes seconds
	e := startEdge(t)
	e.plan = func() string { return divided(2) }
	refusals := make(chan struct{}, 1)
	e.refuse = func(r *http.Request) (int, string) {
		if r.URL.Query().Get("shard") == "1-of-2" {
			select {
			case <-refusals:
				return 409, "another cluster"
			default:
			}
		}
		return 0, ""
	}
	c := startCluster(t, e, scattered(30)).run(t)
	feeds := e.nextOf(t, 2)
	stays := feeds["0-of-2"].begin(1)
	synced(t, stays)
	refusals <- struct{}{}
	feeds["1-of-2"].close()
	again := e.next(t)
	assert.Equal(t, "1-of-2", again.query.Get("shard"))
	assert.Empty(t, refusals)
	synced(t, again.begin(1))
	require.NoError(t, stays.Send(t.Context(), &wire.RequestProgress{Subscription: 1}), "it is connected")
	c.stop()
	require.NoError(t, <-c.done)
}

// Cluster-scoped resources cannot be divided by namespace.
func TestClusterScopedResourceCannotBeDivided(t *testing.T) {
	e := startEdge(t)
	e.plan = func() string {
		return `{"objects": [{"resources": ["v1/nodes"], "shard": "0-of-2"}, {"resources": ["v1/nodes"], "shard": "1-of-2"}]}`
	}
	c := startCluster(t, e, newSource())
	c.config.Resources = []api.Resource{{Version: "v1", Name: "nodes"}}
	err := <-c.run(t).done
	assert.EqualError(t, err, "the edge divides v1/nodes by namespace, and it has no namespaces: remove it from the group with shards in WATCHGLASS_CLUSTERS")
}

func TestInvalidPlans(t *testing.T) {
	for plan, complaint := range map[string]string{
		`hello`:           "is it a watchglass edge?",
		`{"objects": []}`: "the edge has no object for v1/pods",
		`{"objects": [{"resources": ["v1/nodes"]}]}`:                   `the edge expects "v1/nodes", which is not pushed`,
		`{"objects": [{"resources": ["pods"]}]}`:                       `the edge expects "pods"`,
		`{"objects": [{"resources": ["v1/pods"]}, {}]}`:                "the edge returned an object without resources",
		`{"objects": [{"resources": ["v1/pods"], "shard": "2-of-2"}]}`: "the edge returned an invalid object: 400 BadRequest: invalid shard",
	} {
		e := startEdge(t)
		e.plan = func() string { return plan }
		log := &lines{}
		c := startCluster(t, e, newSource())
		c.config.Logger = slog.New(slog.NewTextHandler(log, nil))
		c.run(t)
		require.Eventually(t, func() bool { return strings.Contains(log.String(), "retrying") }, time.Minute, time.Millisecond)
		c.stop()
		require.NoError(t, <-c.done)
		assert.Contains(t, strings.ReplaceAll(log.String(), `\"`, `"`), complaint)
	}
}

// lines collects the lines of a log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
