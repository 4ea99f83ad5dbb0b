package view_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/view"
	"github.com/watchglass/watchglass/core/wire"
)

// facetModel is a facet with functions that return the value of a pod, and report whether the
// facet counts it.
type facetModel struct {
	wire.Facet
	value   func(api.Object) string
	matches func(api.Object) bool
}

func (f *facetModel) expected(m model) wire.FacetCounts {
	rows := map[string]uint64{}
	for _, o := range m {
		if f.matches(o) {
			rows[f.value(o)]++
		}
	}
	counts := []wire.Count{}
	for value, n := range rows {
		counts = append(counts, wire.Count{Value: value, Rows: n})
	}
	slices.SortFunc(counts, func(a, b wire.Count) int { return cmp.Or(cmp.Compare(b.Rows, a.Rows), cmp.Compare(a.Value, b.Value)) })
	var want wire.FacetCounts
	for len(counts) > int(f.Limit) {
		last := counts[len(counts)-1]
		counts, want.OtherValues, want.OtherRows = counts[:len(counts)-1], want.OtherValues+1, want.OtherRows+last.Rows
	}
	slices.SortFunc(counts, func(a, b wire.Count) int { return cmp.Compare(a.Value, b.Value) })
	want.Values = counts
	return want
}

// After any changes, facets equal a model in which each facet ignores the conditions on the
// operand that it counts by.
func TestFacetsAgreeWithTheModel(t *testing.T) {
	phase := func(o api.Object) string { return o.Columns[1].Text }
	node := func(o api.Object) string { return o.Fields[2] }
	restarts := func(o api.Object) bool { return o.Columns[2].Kind != api.Null && o.Columns[2].Int >= 1 }
	running := func(o api.Object) bool { return phase(o) != "Failed" }
	web := func(o api.Object) bool { return app(o) == "web" || app(o) == "db" }
	here := func(o api.Object) bool { return o.Key.Namespace() != "ns0" && strings.Contains(o.Key.Name(), "p") }
	all := func(conditions ...func(api.Object) bool) func(api.Object) bool {
		return func(o api.Object) bool {
			return !slices.ContainsFunc(conditions, func(holds func(api.Object) bool) bool { return !holds(o) })
		}
	}
	facets := []facetModel{
		{wire.Facet{By: "Phase", Limit: 2}, phase, all(restarts, web, here)},
		{wire.Facet{By: "metadata.labels[app]", Limit: 1}, app, all(restarts, running, here)},
		{wire.Facet{By: "spec.nodeName", Limit: 5}, node, all(restarts, running, web, here)},
		{wire.Facet{By: "name", Limit: 1000}, func(o api.Object) string { return o.Key.Name() }, all(restarts, running, web, here)},
		{wire.Facet{By: "metadata.name", Limit: 7}, func(o api.Object) string { return o.Key.Name() }, all(restarts, running, web, here)},
	}
	q := wire.OpenView{
		Namespaces: []string{"ns1", "ns2", "absent"}, Search: "p", Limit: 5,
		Where: "not phase=Failed and (labels[app]=web or labels[app] in (db)) and (restarts>=1 and restarts exists)",
	}
	for i := range facets {
		q.Facets = append(q.Facets, facets[i].Facet)
	}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 3))
		c, m := cacher.New(cacher.Config{Schema: objects.Pods()}), model{}
		c.Listing().Begin()
		c.Listing().End(1, 1)
		v, status := view.New(c, &q, 0)
		require.Nil(t, status)
		for rv := 2; rv < 300; rv++ {
			switch n := r.IntN(100); {
			case n < 70:
				o := randomPod(r, rv)
				m.put(c, o)
			case n < 85:
				o := randomPod(r, rv)
				delete(m, string(o.Key))
				c.Delete(o.Key, o.ResourceVersion, int64(rv))
			case n < 88:
				m = relist(c, m, r, rv)
			default:
				var f wire.ViewPatch
				v.Build(complete)
				if !v.Patch(&f) {
					continue
				}
				require.EqualValues(t, len(m.rows(facets[2].matches)), f.Total)
				for i := range facets {
					f.Facets[i].Values = append([]wire.Count{}, f.Facets[i].Values...)
					require.Equal(t, facets[i].expected(m), f.Facets[i], facets[i].By)
				}
			}
		}
	}
}

func (m model) rows(match func(api.Object) bool) (rows []string) {
	for key, o := range m {
		if match(o) {
			rows = append(rows, key)
		}
	}
	return rows
}

func TestFacetsAndNamespacesAreLimited(t *testing.T) {
	c := cacher.New(cacher.Config{Schema: objects.Pods()})
	facets, namespaces := make([]wire.Facet, 17), make([]string, 1001)
	for i := range facets {
		facets[i].By = "phase"
	}
	for i := range namespaces {
		namespaces[i] = fmt.Sprint("ns", i)
	}
	for want, q := range map[string]wire.OpenView{
		"max-facets":           {Facets: facets},
		"max-view-namespaces":  {Namespaces: namespaces},
		"at most 1000 values":  {Facets: []wire.Facet{{By: "phase", Limit: 1001}}},
		`cannot count v1/pods`: {Facets: []wire.Facet{{By: "phrase"}}},
	} {
		_, status := view.New(c, &q, 0)
		require.NotNil(t, status, want)
		require.Contains(t, status.Message, want)
	}
	_, status := view.New(c, &wire.OpenView{Facets: facets[:16], Namespaces: namespaces[:1000]}, 0)
	require.Nil(t, status)
}
