package view_test

import (
	"fmt"
	"maps"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/naive"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/view"
	"github.com/watchglass/watchglass/core/wire"
)

// client is a program's copy of a view, kept up to date by patches alone.
type client struct {
	rows   []string
	total  uint64
	offset uint32
	counts string
	sent   int
	edits  int
	// wanted is the key of the anchor to which the next patch moves the window, if any. anchor
	// is the version at whose position the window stays, if any. shown is the state at the last
	// patch.
	wanted api.Key
	anchor *api.Object
	shown  model
}

func (c *client) apply(t *testing.T, v *view.View) bool {
	var f, got wire.ViewPatch
	if !v.Patch(&f) {
		return false
	}
	_, payload, _, err := wire.Next(f.Append(nil))
	require.NoError(t, err)
	require.NoError(t, got.Parse(payload))
	old, rows := c.rows, []string(nil)
	if got.Reset {
		old = nil
	}
	take := func(n uint32) (taken []string) {
		require.LessOrEqual(t, int(n), len(old), "an edit goes beyond the window")
		taken, old = old[:n], old[n:]
		return taken
	}
	for i, e := range got.Edits {
		require.True(t, e.Remove > 0 || len(e.Insert) > 0, "edit %d changes nothing", i)
		require.True(t, i == 0 || e.Keep > 0, "edit %d belongs to the one before", i)
		rows = append(rows, take(e.Keep)...)
		take(e.Remove)
		for j := range e.Insert {
			rows = append(rows, fmt.Sprintf("%s@%d", e.Insert[j].Envelope.Key(), e.Insert[j].ResourceVersion))
		}
		c.sent += len(e.Insert)
	}
	c.rows, c.total, c.offset, c.edits = append(rows, old...), got.Total, got.Offset, c.edits+len(got.Edits)
	c.counts = ""
	for _, facet := range got.Facets {
		for _, n := range facet.Values {
			c.counts += fmt.Sprintf("%s=%d ", n.Value, n.Rows)
		}
	}
	return true
}

// complete is more work than any view needs.
const complete = 1 << 30

// model contains all objects by key. It computes the rows that a view must show by
// filtering and sorting all of them.
type model map[string]api.Object

// window returns the rows of a window, the number of all rows, and their counts by phase.
// If there is an anchor, window sets the offset of q.
func (m model) window(q *wire.OpenView, anchor *api.Object, less func(a, b api.Object) int, match func(api.Object) bool) (rows []string, total int, counts string) {
	var all []api.Object
	byPhase := map[string]int{}
	for _, o := range m {
		if match(o) {
			all = append(all, o)
			byPhase[o.Fields[3]]++
		}
	}
	order := then(less, func(a, b api.Object) int { return strings.Compare(string(a.Key), string(b.Key)) })
	slices.SortFunc(all, order)
	if anchor != nil {
		position, _ := slices.BinarySearchFunc(all, *anchor, order)
		q.Offset = uint32(max(position-int(q.Before), 0))
	}
	for i := int(q.Offset); i < len(all) && i < int(q.Offset+q.Limit); i++ {
		rows = append(rows, fmt.Sprintf("%s@%d", all[i].Key, all[i].ResourceVersion))
	}
	phases := []string{}
	for p := range byPhase {
		phases = append(phases, p)
	}
	sort.Strings(phases)
	for _, p := range phases {
		counts += fmt.Sprintf("%s=%d ", p, byPhase[p])
	}
	return rows, len(all), counts
}

func byRestarts(a, b api.Object) int { return a.Columns[2].Compare(b.Columns[2]) }
func byNode(a, b api.Object) int     { return naive.Compare(text(a.Fields[2]), text(b.Fields[2])) }
func byPhase(a, b api.Object) int    { return strings.Compare(a.Fields[3], b.Fields[3]) }
func byName(a, b api.Object) int     { return naive.Natural(a.Key.Name(), b.Key.Name()) }
func byApp(a, b api.Object) int      { return strings.Compare(app(a), app(b)) }
func app(o api.Object) string        { v, _ := o.Labels.Get("app"); return v }
func text(s string) api.Value        { return api.Value{Kind: api.String, Text: s} }

// nullsLast returns an order in which rows without a value come last.
func nullsLast(value func(api.Object) api.Value, less func(a, b api.Object) int) func(a, b api.Object) int {
	return func(a, b api.Object) int {
		x, y := naive.Compare(value(a), api.Value{}) == 0, naive.Compare(value(b), api.Value{}) == 0
		switch {
		case x && y:
			return 0
		case x:
			return 1
		case y:
			return -1
		}
		return less(a, b)
	}
}

// then returns an order by several keys, in which the first is the most significant.
func then(keys ...func(a, b api.Object) int) func(a, b api.Object) int {
	return func(a, b api.Object) int {
		for _, key := range keys {
			if c := key(a, b); c != 0 {
				return c
			}
		}
		return 0
	}
}

func reverse(less func(a, b api.Object) int) func(a, b api.Object) int {
	return func(a, b api.Object) int { return less(b, a) }
}
func byKey(api.Object, api.Object) int {
	return 0
}

func put(o api.Object) *cacher.Update {
	return &cacher.Update{
		ResourceVersion: o.ResourceVersion, Labels: o.Labels, Envelope: wire.AppendEnvelope(nil, &o),
	}
}

// put stores an object in the model and in the cacher. It uses the resource version as
// the time.
func (m model) put(c *cacher.Cacher, o api.Object) {
	m[string(o.Key)] = o
	p := put(o)
	if p.Object = c.State().Find(o.Key); p.Object != 0 {
		p.Unchanged = objects.Unchanged(c.Arena().Envelope(c.State().Version(p.Object)), p.Envelope)
	}
	c.Apply(p, int64(o.ResourceVersion))
}

func randomPod(r *rand.Rand, rv int) api.Object {
	o := objects.Object(fmt.Sprintf("ns%d/p%d rv=%d app=%s phase=%s nodeName=%s",
		r.IntN(3), r.IntN(60), rv, []string{"web", "api", "db"}[r.IntN(3)],
		[]string{"Running", "Pending", "Failed"}[r.IntN(3)],
		[]string{"", "node-1", "node-10", "node-100", "node-1001", "node-pool-west", "node-pool-west-1", "node-pool-east-1", "1Gi", "900Mi", "10.0.0.10", "10.0.0.9"}[r.IntN(12)]))
	restarts := []int64{0, 1, 2, 3, -1, math.MaxInt64, math.MaxInt64 - 1, math.MinInt64}
	o.Columns[2] = api.Value{Kind: api.Integer, Int: restarts[r.IntN(len(restarts))]}
	if r.IntN(10) == 0 {
		o.Columns[2] = api.Value{}
	}
	return o
}

// A client that applies patches at arbitrary times has the rows of the filtered and sorted
// collection. Queries, moves, relists and changes of the query are random.
func TestView_agrees_with_filter_and_sort(t *testing.T) {
	type query struct {
		wire.OpenView
		less  func(a, b api.Object) int
		match func(api.Object) bool
	}
	restarts := func(o api.Object) api.Value { return o.Columns[2] }
	node := func(o api.Object) api.Value { return text(o.Fields[2]) }
	everything := func(api.Object) bool { return true }
	queries := []query{
		{wire.OpenView{Limit: 10}, byKey, func(api.Object) bool { return true }},
		{wire.OpenView{Limit: 7, Offset: 3, Sort: "restarts", LabelSelector: "app in (web,db)", Facets: []wire.Facet{{By: "status.phase"}}}, byRestarts,
			func(o api.Object) bool { return app(o) != "api" }},
		{wire.OpenView{Limit: 1000, Sort: "-Restarts", FieldSelector: "status.phase!=Failed", Facets: []wire.Facet{{By: "phase"}}},
			func(a, b api.Object) int { return -byRestarts(a, b) }, func(o api.Object) bool { return o.Fields[3] != "Failed" }},
		{wire.OpenView{Limit: 5, Sort: "name", Namespaces: []string{"ns1"}},
			byName, func(o api.Object) bool { return o.Key.Namespace() == "ns1" }},
		{wire.OpenView{Limit: 20, Sort: "-status.phase", LabelSelector: "app!=web"},
			func(a, b api.Object) int { return -strings.Compare(a.Fields[3], b.Fields[3]) },
			func(o api.Object) bool { return app(o) != "web" }},
		{wire.OpenView{Limit: 15, Sort: "-", Facets: []wire.Facet{{By: "phase"}}},
			func(a, b api.Object) int { return -strings.Compare(string(a.Key), string(b.Key)) }, func(api.Object) bool { return true }},
		{wire.OpenView{Limit: 25, Sort: "-spec.nodeName"},
			reverse(byNode), everything},
		{wire.OpenView{Limit: 25, Sort: "namespace", FieldSelector: "spec.nodeName!=node-1"},
			func(a, b api.Object) int { return strings.Compare(a.Key.Namespace(), b.Key.Namespace()) },
			func(o api.Object) bool { return o.Fields[2] != "node-1" }},
		{wire.OpenView{Limit: 0}, byKey, everything},
		{wire.OpenView{Limit: 20, Search: "web -p1", Facets: []wire.Facet{{By: "phase"}}}, byKey, func(o api.Object) bool {
			return app(o) == "web" && !strings.Contains(o.Key.Name(), "p1")
		}},
		{wire.OpenView{Limit: 20, Search: "app=d n s2", Sort: "name"}, byName, func(o api.Object) bool {
			return app(o) == "db" && o.Key.Namespace() == "ns2"
		}},
		{wire.OpenView{Limit: 20, Search: "app=", Sort: "-restarts,spec.nodeName", Facets: []wire.Facet{{By: "phase"}}}, then(reverse(byRestarts), byNode), everything},
		{wire.OpenView{Limit: 20, Search: "app=w p1", Sort: "-restarts,spec.nodeName", Facets: []wire.Facet{{By: "phase"}}}, then(reverse(byRestarts), byNode), func(o api.Object) bool {
			return app(o) == "web" && strings.Contains(o.Key.Name(), "p1")
		}},
		{wire.OpenView{Limit: 20, Sort: "-restarts,spec.nodeName"}, then(reverse(byRestarts), byNode), everything},
		{wire.OpenView{Limit: 20, Where: "restarts>1 and (phase~ING or labels[app]=db)", Sort: "-restarts", Facets: []wire.Facet{{By: "phase"}}}, reverse(byRestarts),
			func(o api.Object) bool {
				return o.Columns[2].Kind != api.Null && o.Columns[2].Int > 1 && (o.Fields[3] != "Failed" || app(o) == "db")
			}},
		{wire.OpenView{Limit: 20, Where: "spec.nodeName < node-pool", LabelSelector: "app!=web", Search: "-fail"}, byKey, func(o api.Object) bool {
			return app(o) != "web" && o.Fields[3] != "Failed" && o.Fields[2] != "" && naive.Natural(o.Fields[2], "node-pool") < 0
		}},
		{wire.OpenView{Limit: 12, Sort: "phase,-restarts"}, then(byPhase, reverse(byRestarts)), everything},
		{wire.OpenView{Limit: 12, Sort: "-spec.nodeName nulls last,labels[app],restarts nulls last"},
			then(nullsLast(node, reverse(byNode)), byApp, nullsLast(restarts, byRestarts)), everything},
		{wire.OpenView{Limit: 30, Sort: "spec.nodeName nulls last,-name", LabelSelector: "app!=web"},
			then(nullsLast(node, byNode), reverse(byName)), func(o api.Object) bool { return app(o) != "web" }},
		{wire.OpenView{Limit: 30, Sort: "-labels[app],name lexical"},
			then(reverse(byApp), func(a, b api.Object) int { return strings.Compare(a.Key.Name(), b.Key.Name()) }), everything},
	}
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		c := cacher.New(cacher.Config{Schema: objects.Pods()})
		m := model{}
		c.Listing().Begin()
		c.Listing().End(1, 1)
		set := view.NewSet(c)
		q := queries[r.IntN(len(queries))]
		v, status := set.Open(&q.OpenView, 0)
		require.Nil(t, status)
		shown := &client{}
		// next is a view that is being built. It replaces v when it is complete.
		var next *view.View
		var nextQuery query
		for rv := 2; rv < 400; rv++ {
			v.Build(r.IntN(300))
			if next != nil && next.Build(r.IntN(300)) > 0 {
				if r.IntN(2) == 0 {
					next.Adopt(v)
				} else {
					v.Close()
					shown = &client{}
				}
				v, q, next = next, nextQuery, nil
				shown.follow(q.Anchor)
			}
			switch n := r.IntN(100); {
			case n < 60:
				o := randomPod(r, rv)
				m.put(c, o)
			case n < 80:
				o := randomPod(r, rv)
				delete(m, string(o.Key))
				c.Delete(o.Key, o.ResourceVersion, int64(rv))
			case n < 84:
				q.Offset, q.Limit, q.Anchor, q.Before = uint32(r.IntN(10)), uint32(r.IntN(20)), anchor(r), uint32(r.IntN(12))
				require.Nil(t, v.Move(&wire.MoveView{Offset: q.Offset, Limit: q.Limit, Anchor: q.Anchor, Before: q.Before}))
				shown.follow(q.Anchor)
			case n < 92:
				if next != nil {
					next.Close() // another query replaces it
				}
				nextQuery = queries[r.IntN(len(queries))]
				nextQuery.Anchor, nextQuery.Before = anchor(r), uint32(r.IntN(12))
				next, status = set.Open(&nextQuery.OpenView, 0)
				require.Nil(t, status)
			case n < 93 && next != nil:
				v.Close() // the new view can no longer start from the rows of v
				v, q, next, shown = next, nextQuery, nil, &client{}
				shown.follow(q.Anchor)
			case n < 95:
				m = relist(c, m, r, rv)
			case v.Building():
				require.False(t, shown.apply(t, v), "the first rows are exact")
			default:
				shown.check(t, v, m, q.OpenView, q.less, q.match)
			}
		}
		if next != nil {
			next.Close()
		}
		shown.check(t, v, m, q.OpenView, q.less, q.match)
		require.False(t, shown.apply(t, v), "nothing changed, so there is no patch")
		v.Close()
		held := c.State().Len()
		for p := c.Window().Start(); p < c.Window().End(); p++ {
			held += 2
		}
		require.LessOrEqual(t, c.Arena().Versions(), held, "a closed view holds versions")
	}
}

// A closed view no longer observes changes. A narrower view that is still being built
// must therefore not start from the rows of the closed view.
func TestViewDoesNotStartFromTheRowsOfAClosedView(t *testing.T) {
	c, m := cacher.New(cacher.Config{Schema: objects.Pods()}), model{}
	c.Listing().Begin()
	c.Listing().End(1, 1)
	m.put(c, objects.Object("ns/web-1 rv=2 app=web"))
	m.put(c, objects.Object("ns/web-2 rv=3 app=web"))
	set := view.NewSet(c)
	broad, status := set.Open(&wire.OpenView{Limit: 10, Search: "app=web"}, 0)
	require.Nil(t, status)
	broad.Build(1000)
	q := wire.OpenView{Limit: 10, Search: "app=web web-"}
	narrow, status := set.Open(&q, 0)
	require.Nil(t, status)
	broad.Close()
	m.put(c, objects.Object("ns/web-2 rv=4 app=db"))
	m.put(c, objects.Object("ns/web-3 rv=5 app=web"))
	narrow.Build(1000)
	require.False(t, narrow.Building())
	(&client{}).check(t, narrow, m, q, byKey, func(o api.Object) bool { return app(o) == "web" })
}

// Every call of Build makes progress, even if it may do only one unit of work.
func TestBuildOfTheLeastWorkCompletes(t *testing.T) {
	c, m := cacher.New(cacher.Config{Schema: objects.Pods()}), model{}
	c.Listing().Begin()
	c.Listing().End(1, 1)
	for i := range 50 {
		m.put(c, objects.Object(fmt.Sprintf("ns/web-%02d rv=%d app=web nodeName=n%d", i, i+2, i%7)))
	}
	set := view.NewSet(c)
	for _, search := range []string{"app=web", "app=web web-1"} { // the second starts from the rows of the first
		q := wire.OpenView{Limit: 100, Search: search, Sort: "spec.nodeName"}
		v, status := set.Open(&q, 0)
		require.Nil(t, status)
		calls := 0
		for ; v.Building(); calls++ {
			require.Less(t, calls, 1000)
			v.Build(1)
		}
		require.Greater(t, calls, 10)
	}
}

// Many long texts with a common prefix are sorted by the text after the prefix. A single text
// that is too long to be ranked changes how the others are compared, but not their order.
func TestView_sorts_many_texts_that_begin_alike(t *testing.T) {
	for _, longest := range []string{"a", strings.Repeat("a", 300)} {
		r := rand.New(rand.NewPCG(3, 1))
		beginnings := []string{"", "node", "node-ab", "node-abc", "node-ab/node-ab", "node-ab/node-ab/node-abc"}
		c, m := cacher.New(cacher.Config{Schema: objects.Pods()}), model{}
		c.Listing().Begin()
		for i := range 3000 {
			node := fmt.Sprintf("%s%.*s", beginnings[r.IntN(6)], r.IntN(3), []string{"00", "01", "10"}[r.IntN(3)])
			if i == 2000 {
				node = longest
			}
			o := objects.Object(fmt.Sprintf("ns/p%d rv=1 nodeName=%s", i, node))
			m[string(o.Key)] = o
			c.Listing().Object(put(o))
		}
		c.Listing().End(1, 1)
		lexically := func(a, b api.Object) int { return strings.Compare(a.Fields[2], b.Fields[2]) }
		for sort, less := range map[string]func(a, b api.Object) int{
			"spec.nodeName":               byNode,
			"-spec.nodeName":              reverse(byNode),
			"-spec.nodeName lexical":      reverse(lexically),
			"spec.nodeName,-name":         then(byNode, reverse(byName)),
			"namespace,-spec.nodeName":    reverse(byNode),
			"phase,spec.nodeName lexical": lexically,
		} {
			q := wire.OpenView{Sort: sort, Limit: 1000, Offset: 1500}
			v, status := view.New(c, &q, 0)
			require.Nil(t, status)
			shown := &client{}
			shown.check(t, v, m, q, less, func(api.Object) bool { return true })
		}
	}
}

// relist replaces the state with one in which some objects are missing and others
// have new versions.
func relist(c *cacher.Cacher, m model, r *rand.Rand, rv int) model {
	next := model{}
	c.Listing().Begin()
	keys := []string{}
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		o := m[k]
		switch r.IntN(3) {
		case 0:
			continue
		case 1:
			again := randomPod(r, rv)
			again.Key, again.Fields[0], again.Fields[1] = o.Key, o.Key.Name(), o.Key.Namespace()
			again.Columns[0].Text = o.Key.Name()
			o = again
		}
		next[k] = o
		c.Listing().Object(put(o))
	}
	c.Listing().End(api.ResourceVersion(rv), int64(rv))
	return next
}

// anchor returns the key of an object that randomPod may have created, or "".
func anchor(r *rand.Rand) string {
	if r.IntN(2) == 0 {
		return ""
	}
	return string(randomPod(r, 1).Key)
}

// follow moves the window to an anchor with the next patch.
func (c *client) follow(anchor string) { c.wanted, c.anchor = api.Key(anchor), nil }

// find determines the version at whose position the window stays: the version of the row
// that was shown, or else the current version.
func (c *client) find(rows []string, m model) {
	if c.wanted == "" {
		return
	}
	if o, ok := m[string(c.wanted)]; ok {
		c.anchor = &o
	}
	if o, ok := c.shown[string(c.wanted)]; ok && slices.Contains(rows, fmt.Sprintf("%s@%d", o.Key, o.ResourceVersion)) {
		c.anchor = &o
	}
	c.wanted = ""
}

func (c *client) check(t *testing.T, v *view.View, m model, q wire.OpenView, less func(a, b api.Object) int, match func(api.Object) bool) {
	v.Build(complete)
	if before := c.rows; c.apply(t, v) {
		c.find(before, m)
		c.shown = maps.Clone(m)
	}
	rows, total, counts := m.window(&q, c.anchor, less, match)
	require.Equal(t, rows, c.rows, "%+v", q)
	require.EqualValues(t, total, c.total)
	require.Equal(t, q.Offset, c.offset, "%+v", q)
	if len(q.Facets) > 0 {
		require.Equal(t, counts, c.counts)
	} else {
		require.Empty(t, c.counts)
	}
}

func TestView_sends_only_rows_that_changed(t *testing.T) {
	c := cacher.New(cacher.Config{Schema: objects.Pods()})
	c.Listing().Begin()
	for i := range 100 {
		c.Listing().Object(put(objects.Object(fmt.Sprintf("a/p%02d rv=1 phase=Running", i))))
	}
	c.Listing().End(1, 1)
	v, status := view.New(c, &wire.OpenView{Limit: 10}, 0)
	require.Nil(t, status)
	shown := &client{}
	require.True(t, shown.apply(t, v))
	require.Equal(t, 10, shown.sent)

	c.Apply(put(objects.Object("a/p03 rv=2 phase=Failed")), 2)
	require.True(t, shown.apply(t, v))
	require.Equal(t, 11, shown.sent, "one row changed")

	require.Nil(t, v.Move(&wire.MoveView{Offset: 1, Limit: 10}))
	require.True(t, shown.apply(t, v))
	require.Equal(t, 12, shown.sent, "one row came in")

	c.Apply(put(objects.Object("a/p50 rv=3 phase=Failed")), 3)
	require.False(t, shown.apply(t, v), "the change was outside the window")

	c.Apply(put(objects.Object("a/p11 rv=4 phase=Failed")), 4)
	c.Delete("a/p01", 5, 5)
	require.True(t, shown.apply(t, v))
	require.Equal(t, 13, shown.sent, "a row came in, in its newest version")
}

// If a row moves, only this row is sent again.
func TestViewSendsARowThatMovesOnce(t *testing.T) {
	c := cacher.New(cacher.Config{Schema: objects.Pods()})
	restarts := func(name string, rv int, n int64) *cacher.Update {
		return put(objects.Object(fmt.Sprintf("a/%s rv=%d restarts=%d", name, rv, n)))
	}
	c.Listing().Begin()
	for i := range 100 {
		c.Listing().Object(restarts(fmt.Sprintf("p%02d", i), 1, int64(10*i)))
	}
	c.Listing().End(1, 1)
	v, status := view.New(c, &wire.OpenView{Sort: "restarts", Limit: 50}, 0)
	require.Nil(t, status)
	shown := &client{}
	require.True(t, shown.apply(t, v))
	for rv, move := range []struct {
		name     string
		restarts int64
		sent     int
		edits    int
		text     string
	}{
		{"p40", 15, 1, 2, "up"},
		{"p02", 305, 1, 2, "down"},
		{"p03", 31, 1, 1, "stays, and has a new version"},
		{"p90", 205, 1, 2, "into the window: the last row leaves"},
		{"p05", 2000, 1, 2, "out of the window: another row is the last"},
	} {
		sent, edits := shown.sent, shown.edits
		c.Apply(restarts(move.name, rv+2, move.restarts), int64(rv+2))
		require.True(t, shown.apply(t, v))
		require.Equal(t, move.sent, shown.sent-sent, move.text)
		require.Equal(t, move.edits, shown.edits-edits, move.text)
	}
}

func TestView_errors_name_what_is_wrong(t *testing.T) {
	c := cacher.New(cacher.Config{Schema: objects.Pods()})
	cases := map[string]wire.OpenView{
		`cannot sort v1/pods by "colour"`:  {Sort: "-colour"},
		`cannot count v1/pods by "colour"`: {Facets: []wire.Facet{{By: "colour"}}},
		"label selector":                   {LabelSelector: "a in b"},
		"spec.colour":                      {FieldSelector: "spec.colour=x"},
		"at most 10000 rows":               {Limit: 10_001},
	}
	for want, q := range cases {
		_, status := view.New(c, &q, 0)
		require.NotNil(t, status, want)
		require.Equal(t, 400, status.Code)
		require.Contains(t, status.Message, want)
	}
	v, status := view.New(c, &wire.OpenView{}, 0)
	require.Nil(t, status)
	require.Equal(t, 400, v.Move(&wire.MoveView{Limit: 10_001}).Code)
}

// A connector may send a value whose kind differs from that of its column in the schema.
// Such rows have the same order whether they existed when the view opened or changed later.
func TestViewSortsValuesOfAnotherKindThanTheirColumn(t *testing.T) {
	c := cacher.New(cacher.Config{Schema: objects.Pods()})
	c.Listing().Begin()
	c.Listing().End(1, 1)
	m := model{}
	put := func(name string, rv int, phase api.Value) {
		o := objects.Object(fmt.Sprintf("default/%s rv=%d", name, rv))
		o.Columns[1] = phase
		m.put(c, o)
	}
	for i := range 6 {
		put(fmt.Sprint("p", i), i+2, api.Value{Kind: api.Integer, Int: int64(5 - i)})
	}
	put("p6", 8, text("Running"))
	put("p7", 9, api.Value{})
	v, status := view.New(c, &wire.OpenView{Limit: 10, Sort: "phase"}, 0)
	require.Nil(t, status)
	put("p8", 10, api.Value{Kind: api.Integer, Int: 3})
	byPhase := func(a, b api.Object) int { return naive.Compare(a.Columns[1], b.Columns[1]) }
	(&client{}).check(t, v, m, wire.OpenView{Limit: 10}, byPhase, func(api.Object) bool { return true })
}

func TestView_date_sorts_by_age(t *testing.T) {
	c := cacher.New(cacher.Config{Schema: objects.Pods()})
	c.Listing().Begin()
	for i, created := range []int64{2000, 1000, 3000} {
		o := objects.Object(fmt.Sprintf("a/p%d rv=1", i))
		o.Columns[3] = api.Value{Kind: api.Date, Int: created}
		c.Listing().Object(put(o))
	}
	c.Listing().End(1, 1)
	v, status := view.New(c, &wire.OpenView{Sort: "created", Limit: 10}, 0)
	require.Nil(t, status)
	shown := &client{}
	shown.apply(t, v)
	require.Equal(t, []string{"a/p2@1", "a/p0@1", "a/p1@1"}, shown.rows, "the youngest first")
}

// A search caches the words of label sets by ID, and must forget them when the ID of a freed
// set is reused. The test avoids periodic matches, because IDs are reused periodically.
func TestViewSearchesLabelSetsWhoseIDsAreReused(t *testing.T) {
	c := cacher.New(cacher.Config{Schema: objects.Pods(), History: history.Limits{MinCapacity: 4, MaxCapacity: 4}})
	c.Listing().Begin()
	c.Listing().End(1, 1)
	v, status := view.New(c, &wire.OpenView{Search: "match", Limit: 10}, 0)
	require.Nil(t, status)
	shown, ids := &client{}, map[uint32]int{}
	for rv := 2; rv < 200; rv++ {
		label, want := fmt.Sprintf("other-%d", rv), []string(nil)
		if bits.OnesCount(uint(rv))%2 == 0 {
			label, want = fmt.Sprintf("match-%d", rv), []string{fmt.Sprintf("a/p@%d", rv)}
		}
		c.Apply(put(objects.Object(fmt.Sprintf("a/p rv=%d x=%s", rv, label))), int64(rv))
		ids[c.Arena().LabelSet(c.State().Version(c.State().Find("a/p")))]++
		shown.apply(t, v)
		require.Equal(t, want, shown.rows)
	}
	require.Less(t, len(ids), 50, "IDs are reused")
}
