package client

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/host/source/memory"
)

var podMetrics = api.Resource{Group: "metrics.k8s.io", Version: "v1beta1", Name: "pods"}

func (w *world) use(key api.Key, cpu, memory string) {
	w.source.Put(podMetrics, key, fmt.Appendf(nil,
		`{"apiVersion":"metrics.k8s.io/v1beta1","kind":"PodMetrics","metadata":{"name":%q,"namespace":%q},"containers":[{"usage":{"cpu":%q,"memory":%q}}]}`,
		key.Name(), key.Namespace(), cpu, memory))
}

func TestViewHasTheMetricsOfPods(t *testing.T) {
	w := worldOf(t, memory.New(slices.Concat(catalog.All(), catalog.Metrics())...))
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
	v, err := c.View(w.ctx, ViewOptions{Sort: "-CPU", Where: "memory > 1Mi or status = Pending", GroupBy: []string{"namespace"}, Aggregates: []string{"CPU"}})
	require.NoError(t, err)
	until := func(want ...string) {
		t.Helper()
		for snapshot, err := range v.Snapshots(w.ctx) {
			require.NoError(t, err)
			var rows []string
			n := len(c.Schema().Columns)
			for i := range snapshot.Rows {
				row := snapshot.Rows[i]
				rows = append(rows, fmt.Sprintf("%s %s %s", row.Key().Name(), row.Column(n-2), row.Column(n-1)))
			}
			if fmt.Sprint(rows) == fmt.Sprint(want) {
				return
			}
		}
	}
	until("busy 1 20Mi", "idle 900u 1Gi", "new  ")
	w.use("a/new", "5", "2Mi")
	w.source.Delete(podMetrics, "a/idle")
	until("new 5 2Mi", "busy 1 20Mi")
	w.poison() // the new engine joins again
	until("new 5 2Mi", "busy 1 20Mi")
	w.use("a/busy", "7", "2Mi")
	until("busy 7 2Mi", "new 5 2Mi")
}
