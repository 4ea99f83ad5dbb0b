package clustersim

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/embedetcd"
	"github.com/watchglass/watchglass/host/source"
	"github.com/watchglass/watchglass/host/source/etcd"
	"github.com/watchglass/watchglass/host/source/memory"
)

// world is a writer that records the writes and the resulting state.
type world struct {
	objects map[api.Resource]map[api.Key]json.RawMessage
	log     []source.Write
}

func (w *world) Txn(_ context.Context, writes ...source.Write) (api.ResourceVersion, error) {
	seen := map[string]bool{}
	for _, write := range writes {
		name := write.Resource.String() + " " + string(write.Key)
		if seen[name] {
			return 0, errors.New("written twice: " + name)
		}
		seen[name] = true
		if w.objects[write.Resource] == nil {
			w.objects[write.Resource] = map[api.Key]json.RawMessage{}
		}
		_, exists := w.objects[write.Resource][write.Key]
		if write.Value == nil {
			if !exists {
				return 0, errors.New("deleted but never there: " + name)
			}
			delete(w.objects[write.Resource], write.Key)
		} else {
			w.objects[write.Resource][write.Key] = write.Value
		}
	}
	w.log = append(w.log, writes...)
	return api.ResourceVersion(len(w.log)), nil
}

func noon() time.Time { return time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC) }

// simulate populates a small cluster and performs the given number of steps, without
// concurrency.
func simulate(t *testing.T, seed uint64, steps int) (*Cluster, *world) {
	w := &world{objects: map[api.Resource]map[api.Key]json.RawMessage{}}
	c, err := New(w, Config{Pods: 300, Seed: seed, Namespaces: 2, Now: noon})
	require.NoError(t, err)
	for _, o := range c.Planned() {
		write := o.Render()
		require.Equal(t, o.Resource, write.Resource)
		require.Equal(t, o.Key, write.Key)
		_, err := w.Txn(t.Context(), write)
		require.NoError(t, err)
	}
	for range steps {
		n, err := c.Step(t.Context())
		require.NoError(t, err)
		require.Positive(t, n)
		require.LessOrEqual(t, n, batchWrites)
	}
	return c, w
}

func TestSameSeedSameOperations(t *testing.T) {
	_, a := simulate(t, 7, 1000)
	_, b := simulate(t, 7, 1000)
	require.Equal(t, len(a.log), len(b.log))
	for i := range a.log {
		require.Equal(t, a.log[i], b.log[i], "write %d", i)
	}
	_, other := simulate(t, 8, 1000)
	assert.NotEqual(t, a.log, other.log)
}

// The simulated cluster has a Namespace object for each namespace of its pods.
func TestEveryNamespaceExists(t *testing.T) {
	_, w := simulate(t, 3, 1000)
	require.Len(t, w.objects[namespaces], 2)
	for key, raw := range w.objects[namespaces] {
		var n struct {
			Kind     string
			Metadata struct{ Name, UID string }
			Status   struct{ Phase string }
		}
		require.NoError(t, json.Unmarshal(raw, &n))
		assert.Equal(t, "Namespace", n.Kind)
		assert.Equal(t, string(key), n.Metadata.Name)
		assert.NotEmpty(t, n.Metadata.UID)
		assert.Equal(t, "Active", n.Status.Phase)
	}
	for resource, objects := range w.objects {
		for key := range objects {
			if namespace := key.Namespace(); namespace != "" {
				assert.Contains(t, w.objects[namespaces], api.Key(namespace), "%s %s", resource, key)
			}
		}
	}
}

type podJSON struct {
	Metadata struct {
		Name, Namespace, UID string
		Labels               map[string]string
		DeletionTimestamp    string
		OwnerReferences      []struct{ Kind, Name, UID string }
	}
	Spec   struct{ NodeName string }
	Status struct {
		Phase             string
		ContainerStatuses []struct {
			RestartCount int
			State        map[string]struct{ Reason string }
		}
	}
}

// After many steps, the store contains the state of the simulation, and every kind of
// change has occurred.
func TestTheStoreShowsTheState(t *testing.T) {
	c, w := simulate(t, 1, 6000)
	require.Len(t, w.objects[pods], c.Pods())
	phases, owners := map[string]int{}, w.objects[replicaSets]
	restarts, looping, leaving := 0, 0, 0
	for key, raw := range w.objects[pods] {
		var p podJSON
		require.NoError(t, json.Unmarshal(raw, &p))
		assert.Equal(t, key, api.NewKey(p.Metadata.Namespace, p.Metadata.Name))
		phases[p.Status.Phase]++
		if p.Metadata.DeletionTimestamp != "" {
			leaving++
		}
		for _, s := range p.Status.ContainerStatuses {
			restarts += s.RestartCount
			if s.State["waiting"].Reason == "CrashLoopBackOff" {
				looping++
			}
		}
		if p.Spec.NodeName != "" {
			assert.Contains(t, w.objects[nodes], api.Key(p.Spec.NodeName))
		}
		if o := p.Metadata.OwnerReferences[0]; o.Kind == "ReplicaSet" && p.Status.Phase == "Running" && p.Metadata.DeletionTimestamp == "" {
			assert.Contains(t, owners, api.NewKey(p.Metadata.Namespace, o.Name))
		}
	}
	t.Log("phases", phases, "restarts", restarts, "crash loops", looping, "leaving", leaving, "rollouts", len(c.rollouts))
	for _, phase := range []string{"Running", "Pending", "Succeeded", "Failed"} {
		assert.Positive(t, phases[phase], phase)
	}
	assert.Greater(t, phases["Running"], c.Pods()*2/3)
	assert.Positive(t, restarts)
	assert.Positive(t, looping)
	assert.InDelta(t, 300, c.Pods(), 150)
	assert.LessOrEqual(t, len(w.objects[events]), maxEvents)
	assert.LessOrEqual(t, len(owners), 2*len(w.objects[deployments]))
}

func TestDeploymentsCountTheirPods(t *testing.T) {
	_, w := simulate(t, 3, 3000)
	ready := map[api.Key]int{}
	for _, raw := range w.objects[pods] {
		var p podJSON
		require.NoError(t, json.Unmarshal(raw, &p))
		if p.Metadata.DeletionTimestamp == "" && isReady(raw) {
			ready[api.NewKey(p.Metadata.Namespace, p.Metadata.Labels["app"])]++
		}
	}
	for key, raw := range w.objects[deployments] {
		var d struct{ Status struct{ ReadyReplicas int } }
		require.NoError(t, json.Unmarshal(raw, &d))
		assert.Equal(t, ready[key], d.Status.ReadyReplicas, key)
	}
}

var readyTrue = regexp.MustCompile(`"status":"True","type":"Ready"`)

func isReady(raw []byte) bool { return readyTrue.Match(raw) }

func TestPodsLookReal(t *testing.T) {
	_, w := simulate(t, 1, 0)
	name := regexp.MustCompile(`^[a-z]+-[0-9a-z]+-[0-9a-z]{5}$`)
	total := 0
	for _, raw := range w.objects[pods] {
		total += len(raw)
		var p podJSON
		require.NoError(t, json.Unmarshal(raw, &p))
		assert.Regexp(t, name, p.Metadata.Name)
		assert.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$`, p.Metadata.UID)
		for _, label := range []string{"app", "version", "tier"} {
			assert.NotEmpty(t, p.Metadata.Labels[label], label)
		}
	}
	mean := total / len(w.objects[pods])
	t.Log("mean pod size", mean)
	assert.True(t, 4000 < mean && mean < 5500, "a pod has %d bytes on average", mean)
}

func TestPopulateWritesEverythingOnce(t *testing.T) {
	s := memory.New()
	c, err := New(s, Config{Pods: 1000, Namespaces: 3, Now: noon})
	require.NoError(t, err)
	var done, total int
	require.NoError(t, c.Populate(t.Context(), func(d, n int) {
		assert.Greater(t, d, done)
		done, total = d, n
	}))
	assert.Equal(t, total, done)
	assert.Equal(t, 1000, c.Pods())
	assert.Equal(t, 1000, count(t, s))
}

// No two objects of a large cluster have the same key, although names are random.
func TestLargeClustersHaveNoDuplicates(t *testing.T) {
	c, err := New(memory.New(), Config{Pods: 50_000, Seed: 1, Now: noon})
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, o := range c.Planned() {
		id := o.Resource.String() + " " + string(o.Key)
		require.False(t, seen[id], id)
		seen[id] = true
	}
}

var errEnough = errors.New("seen enough")

// counter counts the objects of a list.
type counter struct{ n int }

func (c *counter) Identify(string) error                             { return nil }
func (c *counter) BeginList() error                                  { return nil }
func (c *counter) Object(api.Key, api.ResourceVersion, []byte) error { c.n++; return nil }
func (c *counter) EndList(api.ResourceVersion) error                 { return errEnough }
func (c *counter) Changes([]source.Change) error                     { return nil }
func (c *counter) Progress(api.ResourceVersion) error                { return nil }
func (c *counter) Wanted() <-chan struct{}                           { return nil }

func count(t *testing.T, s source.Source) int {
	t.Helper()
	var c counter
	require.Same(t, errEnough, s.Stream(t.Context(), pods, 0, &c))
	return c.n
}

// limited is a writer that cancels a run after a number of writes.
type limited struct {
	source.Writer
	left   int
	cancel context.CancelFunc
}

func (l *limited) Txn(ctx context.Context, writes ...source.Write) (api.ResourceVersion, error) {
	if l.left -= len(writes); l.left <= 0 {
		l.cancel()
	}
	return l.Writer.Txn(ctx, writes...)
}

func TestRunChangesTheClusterUntilTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := &limited{Writer: memory.New(), left: 50, cancel: cancel}
	c, err := New(w, Config{Pods: 50, Namespaces: 1, Rate: 1000})
	require.NoError(t, err)
	begin := time.Now()
	require.ErrorIs(t, c.Run(ctx), context.Canceled)
	assert.GreaterOrEqual(t, time.Since(begin), 30*time.Millisecond, "50 changes at 1000 a second are no burst")
}

func TestAFailedWriteEndsTheRun(t *testing.T) {
	c, err := New(broken{}, Config{Pods: 50, Namespaces: 1})
	require.NoError(t, err)
	require.ErrorIs(t, c.Run(t.Context()), errEnough)
	require.ErrorIs(t, c.Populate(t.Context(), nil), errEnough)
}

type broken struct{}

func (broken) Txn(context.Context, ...source.Write) (api.ResourceVersion, error) { return 0, errEnough }

func TestConfigIsChecked(t *testing.T) {
	for _, c := range []Config{{Pods: -1}, {Rate: -1}, {Rate: math.NaN()}, {Rate: math.Inf(1)}} {
		_, err := New(broken{}, c)
		assert.ErrorContains(t, err, "expected zero or more of each")
	}
}

func TestTenThousandPodsInEtcd(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: writes 50 MB into an etcd")
	}
	server, err := embedetcd.Start(embedetcd.Config{UnsafeNoFsync: true})
	require.NoError(t, err)
	defer server.Close()
	writer, err := etcd.NewWriter(server.Client(), etcd.Config{})
	require.NoError(t, err)
	c, err := New(writer, Config{})
	require.NoError(t, err)
	begin := time.Now()
	require.NoError(t, c.Populate(t.Context(), nil))
	t.Log("populated in", time.Since(begin))
	src, err := etcd.New(server.Client(), etcd.Config{})
	require.NoError(t, err)
	begin = time.Now()
	assert.Equal(t, 10_000, count(t, src))
	t.Log("listed in", time.Since(begin))
	for range 100 {
		_, err := c.Step(t.Context())
		require.NoError(t, err)
	}
}
