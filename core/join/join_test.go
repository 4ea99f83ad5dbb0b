package join_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/join"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/view"
	"github.com/watchglass/watchglass/core/wire"
)

var metrics = api.Schema{
	Resource: api.Resource{Group: "metrics.k8s.io", Version: "v1beta1", Name: "pods"}, Kind: "PodMetrics", Namespaced: true,
	Fields:  []string{"metadata.name", "metadata.namespace"},
	Columns: []api.Column{{Name: "Window", Kind: api.String}, {Name: "CPU", Kind: api.String}, {Name: "Memory", Kind: api.String}},
}

var joined = []api.Column{
	{Name: "CPU", Kind: api.String, Printer: join.Printer, Path: "metrics.k8s.io/v1beta1/pods CPU"},
	{Name: "Used", Kind: api.String, Printer: join.Printer, Path: "metrics.k8s.io/v1beta1/pods memory"},
}

// schema returns the schema of pods with the joined columns.
func schema() *api.Schema {
	s := objects.Pods()
	s.Columns = append(s.Columns, joined...)
	return &s
}

// listed returns a cacher whose first list contains the given objects.
func listed(schema api.Schema, list ...string) *cacher.Cacher {
	c := cacher.New(cacher.Config{Schema: schema})
	relist(c, 1, list...)
	return c
}

func relist(c *cacher.Cacher, rv api.ResourceVersion, list ...string) {
	c.Listing().Begin()
	for _, text := range list {
		c.Listing().Object(objects.UpdateOf(objects.ObjectOf(*c.Schema(), text)))
	}
	c.Listing().End(rv, 1)
}

func apply(c *cacher.Cacher, text string) {
	c.Apply(objects.UpdateOf(objects.ObjectOf(*c.Schema(), text)), 1)
}

func newJoin(rows *cacher.Cacher, others ...*cacher.Cacher) *join.Join {
	return join.New(rows, others, cacher.New(cacher.Config{}), schema(), joined)
}

// rows returns the rows of a join as texts.
func rows(j *join.Join) (texts []string) {
	c := j.Cacher()
	c.State().Ascend("", func(ref store.Ref) bool {
		e := c.Arena().Envelope(ref)
		texts = append(texts, fmt.Sprintf("%s rv=%d restarts=%s cpu=%s used=%s", e.Key(), c.Arena().ResourceVersion(ref), e.Column(2), e.Column(4), e.Column(5)))
		return true
	})
	return texts
}

const everything = 1 << 30

func TestRowHasTheCellsOfTheObjectWithItsKey(t *testing.T) {
	pods := listed(objects.Pods(), "a/x rv=1 restarts=3 app=web owner=set", "a/y rv=1", "b/x rv=1")
	usage := listed(metrics, "a/x rv=1 CPU=5m Memory=1Gi", "b/x rv=1 CPU=2", "c/x rv=1 CPU=9")
	j := newJoin(pods, usage)
	require.False(t, j.Built())
	require.Equal(t, everything-3*192, j.Build(everything))
	require.True(t, j.Built())
	require.Nil(t, j.Unknown())
	require.Equal(t, []string{
		"a/x rv=1 restarts=3 cpu=5m used=1Gi", "a/y rv=1 restarts= cpu= used=", "b/x rv=1 restarts= cpu=2 used=",
	}, rows(j))
	c := j.Cacher()
	ref := c.State().Get("a/x")
	require.Equal(t, api.Labels{{Key: "", Value: "set"}, {Key: "app", Value: "web"}}, c.Arena().LabelsAndOwner(ref))
	require.Equal(t, pods.Arena().Envelope(pods.State().Get("a/x")).UID(), c.Arena().Envelope(ref).UID())

	apply(pods, "a/x rv=5 restarts=4")
	apply(usage, "a/y rv=3 CPU=7m") // a version of another source, older than that of the row
	usage.Delete("b/x", 4, 1)
	require.Equal(t, []string{
		"a/x rv=5 restarts=4 cpu=5m used=1Gi", "a/y rv=1 restarts= cpu=7m used=", "b/x rv=1 restarts= cpu= used=",
	}, rows(j))
	pods.Delete("a/x", 6, 1)
	apply(usage, "a/x rv=7 CPU=8m")
	require.Len(t, rows(j), 2, "the metrics of a deleted pod are no row")
	apply(pods, "a/x rv=8")
	require.Equal(t, "a/x rv=8 restarts= cpu=8m used=", rows(j)[0])
}

func TestJoinIsOutdatedByListsAndOtherCollections(t *testing.T) {
	pods, usage := listed(objects.Pods(), "a/x rv=1"), cacher.New(cacher.Config{})
	j := newJoin(pods, usage)
	j.Build(everything)
	require.Equal(t, []string{"a/x rv=1 restarts= cpu= used="}, rows(j))
	require.False(t, j.Outdated([]*cacher.Cacher{usage}))
	require.True(t, j.Outdated(nil))
	usage.Upstream().SetSchema(metrics)
	relist(usage, 2, "a/x rv=2 CPU=1")
	require.True(t, j.Outdated([]*cacher.Cacher{usage}))

	j = newJoin(pods, usage)
	j.Build(everything)
	require.Equal(t, []string{"a/x rv=1 restarts= cpu=1 used="}, rows(j))
	relist(pods, 3, "a/x rv=1")
	require.True(t, j.Outdated([]*cacher.Cacher{usage}))

	j = newJoin(pods)
	j.Build(everything)
	require.Equal(t, []string{"a/x rv=1 restarts= cpu= used="}, rows(j))
	j.Close()
	relist(pods, 4)
	apply(pods, "a/z rv=5")
	require.False(t, j.Outdated(nil))
	require.Len(t, rows(j), 1, "a closed join observes nothing")
}

func TestUnknownColumnIsNamed(t *testing.T) {
	usage := listed(api.Schema{Resource: metrics.Resource, Columns: metrics.Columns[:2]})
	j := newJoin(listed(objects.Pods()), usage)
	require.EqualError(t, j.Unknown(), `400 BadRequest: cannot join metrics.k8s.io/v1beta1/pods by "memory": there is no such column or field; there are Window, CPU`)
}

// A joined column is updated even if a set of cells cannot represent the column.
func TestColumnsBeyondTheThirtySecond(t *testing.T) {
	wide := objects.Pods()
	for i := range 30 {
		wide.Columns = append(wide.Columns, api.Column{Name: fmt.Sprint("c", i), Kind: api.String})
	}
	pods, usage := listed(wide, "a/x rv=1", "a/y rv=1"), listed(metrics, "a/x rv=1 CPU=1", "a/y rv=1 CPU=2")
	wide.Columns = append(slices.Clone(wide.Columns), joined...)
	j := join.New(pods, []*cacher.Cacher{usage}, cacher.New(cacher.Config{}), &wide, joined)
	j.Build(everything)
	v, status := view.New(j.Cacher(), &wire.OpenView{Sort: "-CPU", Limit: 10}, 0)
	require.Nil(t, status)
	program := &client{}
	program.apply(t, v)
	require.Equal(t, []string{"a/y", "a/x"}, program.keys)
	apply(usage, "a/x rv=2 CPU=3")
	program.apply(t, v)
	require.Equal(t, []string{"a/x", "a/y"}, program.keys)
}

// client is a program's copy of a view, kept up to date by patches alone.
type client struct {
	keys, rows []string
	total      uint64
	facets     string
}

func (c *client) apply(t *testing.T, v *view.View) {
	t.Helper()
	var f, got wire.ViewPatch
	if !v.Patch(&f) {
		return
	}
	_, payload, _, err := wire.Next(f.Append(nil))
	require.NoError(t, err)
	require.NoError(t, got.Parse(payload))
	if got.Reset {
		c.keys, c.rows = nil, nil
	}
	var keys, rows []string
	for _, e := range got.Edits {
		keys, rows = append(keys, c.keys[:e.Keep]...), append(rows, c.rows[:e.Keep]...)
		c.keys, c.rows = c.keys[e.Keep+e.Remove:], c.rows[e.Keep+e.Remove:]
		for i := range e.Insert {
			item := &e.Insert[i]
			keys = append(keys, string(item.Envelope.Key()))
			rows = append(rows, fmt.Sprint(item.ResourceVersion, item.Labels, item.Envelope))
		}
	}
	c.keys, c.rows = append(keys, c.keys...), append(rows, c.rows...)
	c.total, c.facets = got.Total, fmt.Sprint(got.Facets)
}

// world is two collections with random objects, and their latest versions as texts.
type world struct {
	*rand.Rand
	rv          int
	pods, usage *cacher.Cacher
	texts       [2]map[string]string
}

func newWorld(seed uint64) *world {
	return &world{
		Rand: rand.New(rand.NewPCG(seed, 1)), rv: 1, pods: listed(objects.Pods()), usage: listed(metrics),
		texts: [2]map[string]string{{}, {}},
	}
}

// change changes some random objects of both collections.
func (w *world) change(n int) {
	for range n {
		w.rv++
		which, key := w.IntN(2), fmt.Sprintf("n%d/p%d", w.IntN(2), w.IntN(20))
		c := []*cacher.Cacher{w.pods, w.usage}[which]
		if w.IntN(4) == 0 {
			delete(w.texts[which], key)
			c.Delete(api.Key(key), api.ResourceVersion(w.rv), 1)
			continue
		}
		text := fmt.Sprintf("%s rv=%d", key, w.rv)
		if which == 0 {
			text += fmt.Sprintf(" app=%s phase=%s restarts=%d", []string{"web", "db"}[w.IntN(2)], []string{"Running", "Failed"}[w.IntN(2)], w.IntN(3))
		} else {
			for _, usage := range []string{fmt.Sprintf(" CPU=%dm", w.IntN(9)), fmt.Sprintf(" Memory=%dMi", w.IntN(3))} {
				if w.IntN(4) > 0 {
					text += usage
				}
			}
		}
		w.texts[which][key] = text
		apply(c, text)
	}
}

// naive returns a cacher with the rows of a join, computed from the latest versions.
func (w *world) naive() *cacher.Cacher {
	c := cacher.New(cacher.Config{Schema: *schema()})
	c.Listing().Begin()
	for key, text := range w.texts[0] {
		for _, usage := range strings.Fields(w.texts[1][key]) {
			switch name, value, _ := strings.Cut(usage, "="); name {
			case "CPU":
				text += " CPU=" + value
			case "Memory":
				text += " Used=" + value
			}
		}
		c.Listing().Object(objects.UpdateOf(objects.ObjectOf(*c.Schema(), text)))
	}
	c.Listing().End(1, 1)
	return c
}

// A view of a join shows the same rows as a new view of a join that is computed from the
// latest versions. The join is built in steps, while objects of both collections change.
func TestJoinEqualsTheNaiveOne(t *testing.T) {
	queries := []wire.OpenView{
		{Sort: "-CPU, Restarts"},
		{Sort: "used, -name", Facets: []wire.Facet{{By: "CPU"}, {By: "phase"}}},
		{Sort: "Restarts", Where: "cpu > 3m", Facets: []wire.Facet{{By: "namespace", RowsOnly: true, Aggregates: []string{"CPU", "Used"}}}},
		{Where: "not used exists", LabelSelector: "app=web", Facets: []wire.Facet{{By: "used"}}},
		{Search: "2mi", Sort: "cpu"},
	}
	for seed := range uint64(100) {
		w := newWorld(seed)
		w.change(40)
		j := newJoin(w.pods, w.usage)
		for !j.Built() {
			j.Build(1 + w.IntN(1000))
			w.change(w.IntN(4))
		}
		programs, views := make([]client, len(queries)), make([]*view.View, len(queries))
		for i := range queries {
			queries[i].Limit = 1 + uint32(w.IntN(40))
			var status *api.Status
			views[i], status = view.New(j.Cacher(), &queries[i], 0)
			require.Nil(t, status)
		}
		for range 10 {
			w.change(w.IntN(10))
			for i := range queries {
				programs[i].apply(t, views[i])
				fresh, status := view.New(w.naive(), &queries[i], 0)
				require.Nil(t, status)
				var want client
				want.apply(t, fresh)
				require.Equal(t, want, programs[i], "seed %d, query %d", seed, i)
			}
		}
	}
}
