package view_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/core/objectjson"
	"github.com/watchglass/watchglass/core/view"
	"github.com/watchglass/watchglass/core/wire"
)

// Views sort, filter and sum the columns of metrics as quantities in any unit.
func TestMetricsAreQuantities(t *testing.T) {
	schemas := catalog.Metrics()
	schema, err := catalog.Lookup(schemas, api.Resource{Group: "metrics.k8s.io", Version: "v1beta1", Name: "pods"})
	require.NoError(t, err)
	scanner, err := catalog.NewScanner(schema)
	require.NoError(t, err)
	c := cacher.New(cacher.Config{Schema: *schema})
	c.Listing().Begin()
	for i, pod := range []struct{ name, usage string }{
		{"a/nano", usages("900000n", "90Mi")},
		{"a/milli", usages("20m", "1Gi")},
		{"a/whole", usages("1", "8Ki")},
		{"b/two", usages("4m", "1000Ki", "5m", "1024Ki")}, // compared as text, the sum 9m would sort last
	} {
		key := api.Key(pod.name)
		o, err := scanner.Scan(fmt.Appendf(nil, `{"kind":"PodMetrics","apiVersion":"metrics.k8s.io/v1beta1","metadata":{"name":%q,"namespace":%q},"containers":[%s]}`,
			key.Name(), key.Namespace(), pod.usage), objectjson.Options{})
		require.NoError(t, err)
		o.ResourceVersion = api.ResourceVersion(i + 1)
		c.Listing().Object(put(o))
	}
	c.Listing().End(9, 1)

	show := func(q *wire.OpenView) (keys []string, f wire.ViewPatch) {
		q.Limit = 10
		v, status := view.New(c, q, 0)
		require.Nil(t, status)
		require.True(t, v.Patch(&f))
		for _, e := range f.Edits {
			for i := range e.Insert {
				keys = append(keys, string(e.Insert[i].Envelope.Key()))
			}
		}
		return keys, f
	}
	rows, _ := show(&wire.OpenView{Sort: "-CPU"})
	require.Equal(t, []string{"a/whole", "a/milli", "b/two", "a/nano"}, rows)
	rows, _ = show(&wire.OpenView{Sort: "Memory"})
	require.Equal(t, []string{"a/whole", "b/two", "a/nano", "a/milli"}, rows)
	rows, _ = show(&wire.OpenView{Where: "CPU > 5m and Memory < 2Mi", Sort: "name"})
	require.Equal(t, []string{"b/two", "a/whole"}, rows)

	_, patch := show(&wire.OpenView{Facets: []wire.Facet{{By: "namespace", Limit: 10, RowsOnly: true, Aggregates: []string{"CPU", "Memory"}}}})
	sums := map[string][]float64{}
	for _, group := range patch.Facets[0].Values {
		for _, a := range group.Aggregates {
			sums[group.Value] = append(sums[group.Value], a.Sum)
		}
	}
	require.InDeltaMapValues(t, map[string]float64{"a": 1.0209, "b": 0.009}, map[string]float64{"a": sums["a"][0], "b": sums["b"][0]}, 1e-9)
	require.Equal(t, []float64{90<<20 + 1<<30 + 8<<10, 2024 << 10}, []float64{sums["a"][1], sums["b"][1]})
}

// usages returns the elements of a JSON list: one container for each pair of CPU and
// memory.
func usages(pairs ...string) (list string) {
	for i := 0; i < len(pairs); i += 2 {
		if i > 0 {
			list += ","
		}
		list += fmt.Sprintf(`{"usage":{"cpu":%q,"memory":%q}}`, pairs[i], pairs[i+1])
	}
	return list
}
