package view_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/naive"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/view"
	"github.com/watchglass/watchglass/core/wire"
)

// groupModel is a facet of groups with functions that return the values and the aggregated
// numbers of a pod.
type groupModel struct {
	wire.Facet
	values  func(api.Object) [2]string
	numbers []func(api.Object) (float64, bool)
}

// expected computes all groups from scratch, sorted by their values.
func (g *groupModel) expected(rows []api.Object) []wire.Count {
	members := map[[2]string][]api.Object{}
	for _, o := range rows {
		members[g.values(o)] = append(members[g.values(o)], o)
	}
	groups := []wire.Count{}
	for values, all := range members {
		c := wire.Count{Value: values[0], Then: values[1], Rows: uint64(len(all))}
		for _, number := range g.numbers {
			c.Aggregates = append(c.Aggregates, aggregateOf(all, number))
		}
		groups = append(groups, c)
	}
	slices.SortFunc(groups, func(a, b wire.Count) int { return cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(a.Then, b.Then)) })
	return groups
}

func aggregateOf(rows []api.Object, number func(api.Object) (float64, bool)) (a wire.Aggregate) {
	for _, o := range rows {
		n, ok := number(o)
		if !ok {
			continue
		}
		if a.Values == 0 {
			a.Min, a.Max = n, n
		}
		a.Values, a.Sum, a.Min, a.Max = a.Values+1, a.Sum+n, min(a.Min, n), max(a.Max, n)
	}
	return a
}

func restartsOf(o api.Object) (float64, bool) {
	n := o.Columns[2]
	return float64(n.Int), n.Kind != api.Null && n.Int >= -1<<60 && n.Int <= 1<<60
}

func cpuOf(o api.Object) (float64, bool) {
	text, _ := o.Labels.Get("cpu")
	return naive.Quantity(text)
}

func nodeAndPhase(o api.Object) [2]string { return [2]string{o.Fields[2], o.Fields[3]} }

// pairedPod returns a pod that may have a quantity, and whose texts would be ambiguous if
// they were concatenated.
func pairedPod(r *rand.Rand, rv int) api.Object {
	o := randomPod(r, rv)
	o.Fields[2] = []string{"", "a", "ab", "a\x00", "node-1", "node-10"}[r.IntN(6)]
	o.Fields[3] = []string{"", "b", "bc", "\x00", "c"}[r.IntN(5)]
	if cpu := []string{"", "100m", "0.3", "1Gi", "-2", "none", "4E"}[r.IntN(7)]; cpu != "" {
		o.Labels = api.Labels{{Key: "app", Value: app(o)}, {Key: "cpu", Value: cpu}}
	}
	return o
}

// After any changes, groups and their aggregates equal those of a model that visits all
// rows.
func TestGroupsAgreeWithTheModel(t *testing.T) {
	groups := []groupModel{
		{wire.Facet{By: "spec.nodeName", Then: "status.phase", Limit: 1000, RowsOnly: true, Aggregates: []string{"restarts", "labels[cpu]"}},
			nodeAndPhase, []func(api.Object) (float64, bool){restartsOf, cpuOf}},
		{wire.Facet{By: "status.phase", Limit: 1000, RowsOnly: true, Aggregates: []string{"labels[cpu]"}},
			func(o api.Object) [2]string { return [2]string{o.Fields[3]} }, []func(api.Object) (float64, bool){cpuOf}},
		{wire.Facet{By: "namespace", Then: "labels[app]", Limit: 1000},
			func(o api.Object) [2]string { return [2]string{o.Key.Namespace(), app(o)} }, nil},
		{wire.Facet{By: "restarts", Width: 2, RowsOnly: true, Aggregates: []string{"restarts"}}, intervalOf, []func(api.Object) (float64, bool){restartsOf}},
	}
	q := wire.OpenView{Where: "not status.phase=c", Limit: 3}
	for i := range groups {
		q.Facets = append(q.Facets, groups[i].Facet)
	}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 4))
		c, m := cacher.New(cacher.Config{Schema: objects.Pods()}), model{}
		c.Listing().Begin()
		c.Listing().End(1, 1)
		v, status := view.New(c, &q, 0)
		require.Nil(t, status)
		for rv := 2; rv < 400; rv++ {
			switch n := r.IntN(100); {
			case n < 70:
				o := pairedPod(r, rv)
				m.put(c, o)
			case n < 85:
				o := pairedPod(r, rv)
				delete(m, string(o.Key))
				c.Delete(o.Key, o.ResourceVersion, int64(rv))
			case n < 88:
				m = relist(c, m, r, rv)
			default:
				checkGroups(t, v, m, groups)
			}
		}
		checkGroups(t, v, m, groups)
		v.Close()
	}
}

func intervalOf(o api.Object) [2]string {
	n, ok := restartsOf(o)
	if !ok {
		return [2]string{}
	}
	start := int64(n)
	if start%2 != 0 {
		start--
	}
	return [2]string{fmt.Sprint(start)}
}

func checkGroups(t *testing.T, v *view.View, m model, groups []groupModel) {
	var f wire.ViewPatch
	v.Build(complete)
	if !v.Patch(&f) {
		return
	}
	var rows []api.Object
	for _, o := range m {
		if o.Fields[3] != "c" {
			rows = append(rows, o)
		}
	}
	for i := range groups {
		want, got := groups[i].expected(rows), f.Facets[i].Values
		require.Len(t, got, len(want))
		for j := range want {
			for k, w := range want[j].Aggregates {
				g := got[j].Aggregates[k]
				require.InDelta(t, w.Sum, g.Sum, max(1, w.Max)*1e-9, "no rounding error of a number that has left remains")
				want[j].Aggregates[k].Sum = g.Sum
			}
			require.Equal(t, want[j], got[j])
		}
	}
}

// The windows of all groups contain each row of the ungrouped view exactly once. The test
// uses values of every kind, missing values, and texts that are equal as quantities.
func TestTheWindowsOfGroupsContainEachRowOnce(t *testing.T) {
	names := []string{"name", "namespace", "spec.nodeName", "Phase", "restarts", "created", "Ready", "Load", "Took", `labels[a"\]`, "owner"}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 6))
		c := groupedCacher(r)
		by := [2]string{names[r.IntN(len(names))], []string{"", names[r.IntN(len(names))]}[r.IntN(2)]}
		where := []string{"", "restarts > 0 or phase=b", "not status.phase=c", "created exists"}[r.IntN(4)]
		search := []string{"", "p1"}[r.IntN(2)]
		all, status := view.New(c, &wire.OpenView{
			Where: where, Search: search, Limit: 1000,
			Facets: []wire.Facet{{By: by[0], Then: by[1], Limit: 1000, RowsOnly: true}},
		}, 0)
		require.Nil(t, status)
		var f wire.ViewPatch
		require.True(t, all.Patch(&f))
		inGroups := []string{}
		for _, group := range f.Facets[0].Values {
			condition := valueIs(by[0], group.Value)
			if by[1] != "" {
				condition += " and " + valueIs(by[1], group.Then)
			}
			if where != "" {
				condition = "(" + where + ") and " + condition
			}
			rows, status := view.New(c, &wire.OpenView{Where: condition, Search: search, Limit: 1000}, 0)
			require.Nil(t, status, condition)
			var window wire.ViewPatch
			require.True(t, rows.Patch(&window))
			require.Equal(t, group.Rows, window.Total, condition)
			inGroups = append(inGroups, keysOf(&window)...)
		}
		ungrouped := keysOf(&f)
		slices.Sort(ungrouped)
		slices.Sort(inGroups)
		require.Equal(t, ungrouped, inGroups, "by %q where %q", by, where)
	}
}

func keysOf(f *wire.ViewPatch) []string {
	keys := []string{}
	for _, edit := range f.Edits {
		for _, item := range edit.Insert {
			keys = append(keys, string(item.Envelope.Key()))
		}
	}
	return keys
}

// groupedCacher returns a collection of pods with values that are easily confused, such as
// equal quantities in different notations.
func groupedCacher(r *rand.Rand) *cacher.Cacher {
	schema := objects.Pods()
	schema.Columns = append(schema.Columns,
		api.Column{Name: "Ready", Kind: api.Bool, Path: ".ready"},
		api.Column{Name: "Load", Kind: api.Number, Path: ".load"},
		api.Column{Name: "Took", Kind: api.Duration, Path: ".took"})
	number := func(kind api.ValueKind, values ...int64) api.Value {
		if r.IntN(4) == 0 {
			return api.Value{}
		}
		return api.Value{Kind: kind, Int: values[r.IntN(len(values))]}
	}
	loads := []float64{0, math.Copysign(0, -1), 0.1, 0.1 + 0.2, 0.3, 1e21, 1e-7, math.MaxFloat64, math.SmallestNonzeroFloat64, 1 << 53, 1<<53 + 2}
	c := cacher.New(cacher.Config{Schema: schema})
	c.Listing().Begin()
	for i := range 200 {
		o := pairedPod(r, 1)
		o.Key = api.Key(fmt.Sprintf("ns%d/p%d", r.IntN(3), i))
		o.Fields[2] = []string{"", "1Gi", "1024Mi", "01Gi", "1", "1.0", "+1", "null", `"`, `\`, "it's", "a and b", "node-1", "Node-1", " "}[r.IntN(15)]
		o.Columns[3] = number(api.Date, 0, -1, 1_800_000_000_000, 1_800_000_000_001)
		load := api.Value{Kind: api.Number, Float: loads[r.IntN(len(loads))]}
		o.Columns = append(o.Columns, number(api.Bool, 0, 1), []api.Value{load, load, {}}[r.IntN(3)], number(api.Duration, 0, 90_000, -5, math.MaxInt64))
		if r.IntN(2) == 0 {
			o.Labels = api.Labels{{Key: `a"\`, Value: []string{"", "2Ki", "2048"}[r.IntN(3)]}}
		}
		c.Listing().Object(put(o))
	}
	c.Listing().End(1, 1)
	return c
}

// valueIs returns the condition that an operand has a value, as groupQuery of the npm
// package writes it.
func valueIs(name, value string) string {
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	return `"` + quote.Replace(name) + `" === "` + quote.Replace(value) + `"`
}

func TestGroupsAreLimited(t *testing.T) {
	c := cacher.New(cacher.Config{Schema: objects.Pods()})
	for want, facet := range map[string]wire.Facet{
		"max-aggregates":               {By: "phase", Aggregates: strings.Split("a b c d e f g h i", " ")},
		`cannot count v1/pods by "x"`:  {By: "phase", Then: "x"},
		"cannot aggregate v1/pods by ": {By: "phase", Aggregates: []string{"colour"}},
	} {
		_, status := view.New(c, &wire.OpenView{Facets: []wire.Facet{facet}}, 0)
		require.NotNil(t, status, want)
		require.Contains(t, status.Message, want)
	}
}

// Groups beyond the limit are reported as a total.
func TestGroupsBeyondTheLimitAreSummedUp(t *testing.T) {
	c := cacher.New(cacher.Config{Schema: objects.Pods()})
	c.Listing().Begin()
	for i := range 12 {
		c.Listing().Object(put(objects.Object(fmt.Sprintf("a/p%d rv=1 phase=Running nodeName=n%d", i, min(i, 4)))))
	}
	c.Listing().End(1, 1)
	v, status := view.New(c, &wire.OpenView{Facets: []wire.Facet{{By: "spec.nodeName", Then: "phase", Limit: 2, RowsOnly: true}}}, 0)
	require.Nil(t, status)
	var f wire.ViewPatch
	require.True(t, v.Patch(&f))
	require.Equal(t, []wire.Count{{Value: "n0", Then: "Running", Rows: 1}, {Value: "n4", Then: "Running", Rows: 8}}, f.Facets[0].Values)
	require.EqualValues(t, 3, f.Facets[0].OtherValues)
	require.EqualValues(t, 3, f.Facets[0].OtherRows)
}
