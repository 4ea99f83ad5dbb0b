package client

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/source/memory"
)

var podMetrics = api.Resource{Group: "metrics.k8s.io", Version: "v1beta1", Name: "pods"}

func (w *world) use(key api.Key, cpu, memory string) {
	w.source.Put(podMetrics, key, fmt.Appendf(nil,
		`{"apiVersion":"metrics.k8s.io/v1beta1","kind":"PodMetrics","metadata":{"name":%q,"namespace":%q},"containers":[{"usage":{"cpu":%q,"memory":%q}}]}`,
		key.Name(), key.Namespace(), cpu, memory))
}

// withMetrics returns a world with pods and their metrics, and a collection of the pods
// with metrics as columns.
func withMetrics(t *testing.T, policy access.Policy) (*world, *Collection) {
	t.Helper()
	w := worldOf(t, memory.New(slices.Concat(catalog.All(), catalog.Metrics())...), policy)
	w.put("a/idle", "Running")
	w.put("a/busy", "Running")
	w.put("a/new", "Pending")
	w.use("a/idle", "900u", "1Gi")
	w.use("a/busy", "1", "20Mi")
	var columns []api.Column
	for _, name := range []string{"CPU", "Memory"} {
		columns = append(columns, api.Column{Name: name, Kind: api.String, Printer: "join", Path: podMetrics.String() + " " + name})
	}
	c, err := w.client.Collection(w.ctx, "v1/pods", CollectionOptions{Columns: columns})
	require.NoError(t, err)
	return w, c
}

// untilRows waits until the view has the wanted rows, each given as its name and its last
// two columns.
func (w *world) untilRows(c *Collection, v *View, want ...string) {
	w.t.Helper()
	for snapshot, err := range v.Snapshots(w.ctx) {
		require.NoError(w.t, err, want)
		var rows []string
		n := len(c.Schema().Columns)
		for _, row := range snapshot.Rows {
			rows = append(rows, fmt.Sprintf("%s %s %s", row.Key().Name(), row.Column(n-2), row.Column(n-1)))
		}
		if slices.Equal(rows, want) {
			return
		}
	}
}

func TestViewHasTheMetricsOfPods(t *testing.T) {
	w, c := withMetrics(t, nil)
	v, err := c.View(w.ctx, ViewOptions{Sort: "-CPU", Where: "memory > 1Mi or status = Pending", GroupBy: []string{"namespace"}, Aggregates: []string{"CPU"}})
	require.NoError(t, err)
	w.untilRows(c, v, "busy 1 20Mi", "idle 900u 1Gi", "new  ")
	w.use("a/new", "5", "2Mi")
	w.source.Delete(podMetrics, "a/idle")
	w.untilRows(c, v, "new 5 2Mi", "busy 1 20Mi")
	w.poison() // the new engine joins again
	w.untilRows(c, v, "new 5 2Mi", "busy 1 20Mi")
	w.use("a/busy", "7", "2Mi")
	w.untilRows(c, v, "busy 7 2Mi", "new 5 2Mi")
}

// putOwned stores an object whose UID is its name.
func (w *world) putOwned(resource, kind, name, owner, phase string) {
	r, err := api.ParseResource(resource)
	require.NoError(w.t, err)
	w.source.Put(r, api.NewKey("a", name), fmt.Appendf(nil,
		`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"namespace":"a","uid":%[3]q,"ownerReferences":[{"uid":%q,"controller":true}]},"status":{"phase":%q}}`,
		r.APIVersion(), kind, name, owner, phase))
}

// withPods opens Deployments with columns that count their pods, and a view of the
// Deployments.
func withPods(t *testing.T, policy access.Policy) (*world, *Collection, *View) {
	t.Helper()
	w := worldOf(t, memory.New(catalog.All()...), policy)
	w.putOwned("apps/v1/deployments", "Deployment", "web", "", "")
	w.putOwned("apps/v1/deployments", "Deployment", "api", "", "")
	w.putOwned("apps/v1/replicasets", "ReplicaSet", "web-1", "web", "")
	w.putOwned("v1/pods", "Pod", "p", "web-1", "Running")
	w.putOwned("v1/pods", "Pod", "q", "web-1", "Pending")
	const path = "apps/v1/replicasets,v1/pods"
	c, err := w.client.Collection(w.ctx, "apps/v1/deployments", CollectionOptions{Columns: []api.Column{
		{Name: "Pods", Kind: api.Integer, Printer: "children", Path: path},
		{Name: "Pod states", Kind: api.String, Printer: "children", Path: path + " Status"},
	}})
	require.NoError(t, err)
	v, err := c.View(w.ctx, ViewOptions{Sort: "-Pods, name", Where: "not Pods exists or Pods >= 0", GroupBy: []string{"Pod states"}, Aggregates: []string{"Pods"}})
	require.NoError(t, err)
	return w, c, v
}

func TestViewCountsThePodsOfDeployments(t *testing.T) {
	w, c, v := withPods(t, nil)
	w.untilRows(c, v, "web 2 Pending 1, Running 1", "api 0 ")
	w.putOwned("v1/pods", "Pod", "q", "web-1", "Running")
	w.putOwned("apps/v1/replicasets", "ReplicaSet", "api-1", "api", "")
	w.putOwned("v1/pods", "Pod", "r", "api-1", "Failed")
	w.untilRows(c, v, "web 2 Running 2", "api 1 Failed 1")
	w.poison() // the new engine counts again
	w.untilRows(c, v, "web 2 Running 2", "api 1 Failed 1")
	w.putOwned("apps/v1/replicasets", "ReplicaSet", "web-1", "api", "")
	w.untilRows(c, v, "api 3 Running 2, Failed 1", "web 0 ")
}

// oneForbidden is a policy that forbids reading the resource whose name it contains.
type oneForbidden struct{ atomic.Value }

func (*oneForbidden) Authenticate(context.Context, string) (*access.User, *api.Status) {
	return &access.User{Name: "reader"}, nil
}

func (p *oneForbidden) Authorize(_ context.Context, _ *access.User, r access.Request) (time.Time, *api.Status) {
	if r.Resource.Name == p.Load().(string) {
		return time.Time{}, api.Forbidden("reader may not list " + r.Resource.Name)
	}
	return time.Time{}, nil
}

func TestReaderWithoutARightToTheChildrenHasNoCountsAndTheReason(t *testing.T) {
	for _, forbidden := range []string{"pods", "replicasets"} {
		t.Run(forbidden, func(t *testing.T) {
			policy := &oneForbidden{}
			policy.Store(forbidden)
			w, c, v := withPods(t, policy)
			w.untilRows(c, v, "api  ", "web  ")
			status := w.reach(c, func(s Status) bool { return s.State == api.StateLive && s.Err != nil })
			require.ErrorIs(t, status.Err, api.Forbidden(""))
			require.ErrorContains(t, status.Err, "reader may not list "+forbidden)

			policy.Store("")
			w.cut(false) // the next attempt would be in 30 s
			w.untilRows(c, v, "web 2 Pending 1, Running 1", "api 0 ")
			w.reach(c, func(s Status) bool { return s.State == api.StateLive && s.Err == nil })
		})
	}
}

// noMetrics is a policy that forbids reading metrics while its value is true.
type noMetrics struct{ atomic.Bool }

func (*noMetrics) Authenticate(context.Context, string) (*access.User, *api.Status) {
	return &access.User{Name: "reader"}, nil
}

func (p *noMetrics) Authorize(_ context.Context, _ *access.User, r access.Request) (time.Time, *api.Status) {
	if p.Load() && r.Resource.Group == podMetrics.Group {
		return time.Time{}, api.Forbidden("reader may not list pods.metrics.k8s.io")
	}
	return time.Time{}, nil
}

func TestReaderWithoutTheRightToReadMetricsHasPodsAndTheReason(t *testing.T) {
	policy := &noMetrics{}
	policy.Store(true)
	w, c := withMetrics(t, policy)
	v, err := c.View(w.ctx, ViewOptions{Sort: "-CPU"})
	require.NoError(t, err)
	w.untilRows(c, v, "busy  ", "idle  ", "new  ")
	status := w.reach(c, func(s Status) bool { return s.State == api.StateLive && s.Err != nil })
	require.ErrorIs(t, status.Err, api.Forbidden(""))
	require.ErrorContains(t, status.Err, "pods.metrics.k8s.io")

	policy.Store(false)
	w.cut(false) // the next attempt would be in 30 s
	w.untilRows(c, v, "busy 1 20Mi", "idle 900u 1Gi", "new  ")
	w.reach(c, func(s Status) bool { return s.State == api.StateLive && s.Err == nil })
}
