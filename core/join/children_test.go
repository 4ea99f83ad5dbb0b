package join_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/join"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/view"
	"github.com/watchglass/watchglass/core/wire"
)

func owning(name string) api.Schema {
	return api.Schema{
		Resource: api.Resource{Group: "apps", Version: "v1", Name: name}, Namespaced: true,
		Fields: []string{"metadata.name", "metadata.namespace"}, Columns: []api.Column{{Name: "Desired", Kind: api.Integer}},
	}
}

// childColumns returns columns about the pods below the objects of a resource. The
// argument between lists the resources in between, each followed by a comma.
func childColumns(between string) []api.Column {
	return []api.Column{
		{Name: "Pods", Kind: api.Integer, Printer: join.Children, Path: between + "v1/pods"},
		{Name: "Pod states", Kind: api.String, Printer: join.Children, Path: between + "v1/pods phase"},
		{Name: "Pod restarts", Kind: api.String, Printer: join.Children, Path: between + "v1/pods restarts"},
	}
}

// counting returns a join that counts the objects of the last collection in others. The
// collections before that one contain owners between the rows and the counted objects.
func counting(rows *cacher.Cacher, columns []api.Column, others ...*cacher.Cacher) *join.Join {
	schema := *rows.Schema()
	schema.Columns = append(slices.Clone(schema.Columns), columns...)
	return join.New(rows, others, cacher.New(cacher.Config{}), &schema, columns)
}

// counted returns the key and the joined cells of each row of a join.
func counted(j *join.Join) (texts []string) {
	c := j.Cacher()
	c.State().Ascend("", func(ref store.Ref) bool {
		e := c.Arena().Envelope(ref)
		text := string([]byte(e.Key()))
		for i := 1; i < len(c.Schema().Columns); i++ {
			text += " | " + e.Column(i).String()
		}
		texts = append(texts, text)
		return true
	})
	return texts
}

func TestRowsCountTheirChildren(t *testing.T) {
	sets := listed(owning("replicasets"), "a/x rv=1 uid=x", "a/y rv=1 uid=y", "a/z rv=1 uid=z")
	pods := listed(objects.Pods(),
		"a/1 rv=1 uid=1 owner=x phase=Running", "a/2 rv=1 uid=2 owner=x phase=Pending restarts=3", "a/3 rv=1 uid=3 owner=x phase=Running",
		"a/4 rv=1 uid=4 owner=y", "a/5 rv=1 uid=5 owner=elsewhere phase=Running", "a/6 rv=1 uid=6 phase=Running")
	j := counting(sets, childColumns(""), pods)
	require.Equal(t, everything-9*192, j.Build(everything))
	require.True(t, j.Built())
	require.Nil(t, j.Unknown())
	require.Equal(t, []string{
		"a/x | 3 | Running 2, Pending 1 | 3 1", "a/y | 1 |  | ", "a/z | 0 |  | ",
	}, counted(j))
	require.Equal(t, api.Value{Kind: api.Integer}, j.Cacher().Arena().Envelope(j.Cacher().State().Get("a/z")).Column(1))

	apply(pods, "a/1 rv=2 uid=1 owner=y phase=Failed restarts=0")
	pods.Delete("a/4", 3, 1)
	require.Equal(t, []string{"a/x | 2 | Pending 1, Running 1 | 3 1", "a/y | 1 | Failed 1 | 0 1", "a/z | 0 |  | "}, counted(j))
	sets.Delete("a/x", 4, 1)
	apply(sets, "a/x rv=5 uid=again")
	require.Equal(t, "a/x | 0 |  | ", counted(j)[0], "an object with another UID has other children")
	apply(pods, "a/7 rv=6 uid=7 owner=again phase=Running")
	require.Equal(t, "a/x | 1 | Running 1 | ", counted(j)[0])
}

// A Deployment counts the pods of its ReplicaSets, and the pods that it owns directly.
func TestRowsCountObjectsFurtherBelow(t *testing.T) {
	deployments := listed(owning("deployments"), "a/x rv=1 uid=d", "a/y rv=1 uid=e")
	sets := listed(owning("replicasets"), "a/x1 rv=1 uid=s1 owner=d", "a/x2 rv=1 uid=s2 owner=d")
	pods := listed(objects.Pods(),
		"a/1 rv=1 uid=1 owner=s1 phase=Running", "a/2 rv=1 uid=2 owner=s2 phase=Running", "a/3 rv=1 uid=3 owner=d phase=Failed",
		"a/4 rv=1 uid=4 owner=s3 phase=Pending")
	j := counting(deployments, childColumns("apps/v1/replicasets,")[:2], sets, pods)
	j.Build(everything)
	require.Equal(t, []string{"a/x | 3 | Running 2, Failed 1", "a/y | 0 | "}, counted(j))
	apply(sets, "a/x2 rv=2 uid=s2 owner=e")
	apply(sets, "a/y1 rv=3 uid=s3 owner=e")
	require.Equal(t, []string{"a/x | 2 | Failed 1, Running 1", "a/y | 2 | Pending 1, Running 1"}, counted(j))
	sets.Delete("a/x1", 4, 1)
	apply(pods, "a/2 rv=5 uid=2 owner=s2 phase=Succeeded")
	require.Equal(t, []string{"a/x | 1 | Failed 1", "a/y | 2 | Pending 1, Succeeded 1"}, counted(j))
}

// changes records the keys of the rows that a join revises.
type changes struct {
	c    *cacher.Cacher
	keys []string
}

func (*changes) Replaced() {}

func (o *changes) Changed(_ store.ID, e *history.Event) {
	o.keys = append(o.keys, string([]byte(o.c.Arena().Key(e.Current))))
}

func TestOneChildRevisesTheRowsAboveIt(t *testing.T) {
	var rows []string
	for i := range 100 {
		rows = append(rows, fmt.Sprintf("a/s%02d rv=1 uid=s%02d", i, i))
	}
	pods := listed(objects.Pods(), "a/1 rv=1 uid=1 owner=s07 phase=Running")
	j := counting(listed(owning("replicasets"), rows...), childColumns("")[:2], pods)
	j.Build(everything)
	revised := &changes{c: j.Cacher()}
	j.Cacher().Observe(revised)
	for i, step := range []struct {
		pod  string
		want []string
	}{
		{"owner=s07 phase=Running restarts=1", nil},
		{"owner=s07 phase=Failed", []string{"a/s07"}},
		{"owner=s42 phase=Failed", []string{"a/s07", "a/s42"}},
		{"owner=elsewhere phase=Running", []string{"a/s42"}},
		{"phase=Running", nil},
	} {
		revised.keys = nil
		apply(pods, fmt.Sprintf("a/1 rv=%d uid=1 %s", i+2, step.pod))
		require.Equal(t, step.want, revised.keys, step.pod)
	}
}

func TestCellListsTheMostFrequentValues(t *testing.T) {
	var list, want []string
	for i := range 12 {
		for n := range 12 - i {
			list = append(list, fmt.Sprintf("a/p%02d-%02d rv=1 owner=x phase=s%d", i, n, i))
		}
		if i < 8 {
			want = append(want, fmt.Sprintf("s%d %d", i, 12-i))
		}
	}
	j := counting(listed(owning("replicasets"), "a/x rv=1 uid=x"), childColumns("")[:2], listed(objects.Pods(), list...))
	j.Build(everything)
	require.Equal(t, []string{"a/x | 78 | " + strings.Join(want, ", ") + ", others 10"}, counted(j))
}

// The number of children is unknown before their list has arrived, and for a reader that
// is not allowed to list the children.
func TestChildrenAreUnknownWithoutTheirList(t *testing.T) {
	sets, pods := listed(owning("replicasets"), "a/x rv=1 uid=x"), cacher.New(cacher.Config{Schema: objects.Pods()})
	for _, j := range []*join.Join{counting(sets, childColumns(""), pods), counting(sets, childColumns(""))} {
		j.Build(everything)
		for i := 1; i < 4; i++ {
			require.Zero(t, j.Cacher().Arena().Envelope(j.Cacher().State().Get("a/x")).Column(i))
		}
	}
	j := counting(sets, childColumns(""), pods)
	relist(pods, 2, "a/1 rv=2 owner=x")
	require.True(t, j.Outdated([]*cacher.Cacher{pods}))

	j = counting(sets, childColumns(""), pods)
	j.Build(everything)
	require.Equal(t, []string{"a/x | 1 |  | "}, counted(j))
	require.False(t, j.Outdated([]*cacher.Cacher{pods}))
	require.True(t, j.Outdated(nil))
	j.Close()
	apply(pods, "a/2 rv=3 owner=x")
	relist(sets, 3)
	require.False(t, j.Outdated([]*cacher.Cacher{pods}))
	require.Equal(t, []string{"a/x | 1 |  | "}, counted(j), "a closed join observes nothing")
}

func TestUnknownColumnOfChildrenIsNamed(t *testing.T) {
	sets, pods := listed(owning("replicasets"), "a/x rv=1 uid=x"), listed(objects.Pods(), "a/1 rv=1 owner=x")
	for path, want := range map[string]string{
		"v1/pods ready": `"ready"`, "v1/podss": `"v1/podss"`, "v1/pods,v1/pods phase": `"v1/pods,v1/pods phase"`,
	} {
		columns := append(childColumns("")[:1], api.Column{Name: "More", Printer: join.Children, Path: path})
		j := counting(sets, columns, pods)
		require.EqualError(t, j.Unknown(), "400 BadRequest: cannot join v1/pods by "+want+": there is no such column or field; there are Name, Phase, Restarts, Created, metadata.name, metadata.namespace, spec.nodeName, status.phase")
		j.Build(everything)
		require.Equal(t, []string{"a/x | 1 | "}, counted(j))
	}
}

// family is a row collection, collections in between, and pods, with random objects and
// owners. Each object has its own UID. The field owned contains the latest version of each
// object, by collection and key.
type family struct {
	*rand.Rand
	rv          int
	uid         int
	collections []*cacher.Cacher
	owned       []map[string]relative
	uids        []string // of all objects, including deleted ones
}

type relative struct{ uid, owner, text string }

func newFamily(seed uint64) *family {
	f := &family{Rand: rand.New(rand.NewPCG(seed, 3)), rv: 1}
	levels := 2 + f.IntN(3)
	for i := range levels {
		schema := owning(fmt.Sprint("level", i))
		if i == levels-1 {
			schema = objects.Pods()
		}
		f.collections, f.owned = append(f.collections, listed(schema)), append(f.owned, map[string]relative{})
	}
	return f
}

// random returns a new version of an object, which usually keeps its UID.
func (f *family) random(level int, key string) relative {
	o := f.owned[level][key]
	if o.uid == "" || f.IntN(5) == 0 {
		f.uid++
		o.uid = fmt.Sprint("u", f.uid)
		f.uids = append(f.uids, o.uid)
	}
	if f.IntN(2) == 0 {
		o.owner = ""
		if f.IntN(8) > 0 {
			o.owner = f.uids[max(0, len(f.uids)-1-f.IntN(30))] // possibly itself, or an object below it
		}
	}
	o.text = fmt.Sprintf("%s rv=%d uid=%s", key, f.rv, o.uid)
	if o.owner != "" {
		o.text += " owner=" + o.owner
	}
	if level == len(f.collections)-1 {
		o.text += fmt.Sprintf(" restarts=%d", f.IntN(3))
		if f.IntN(4) > 0 {
			o.text += " phase=" + []string{"Running", "Pending", "Failed"}[f.IntN(3)]
		}
	}
	return o
}

// change changes some random objects.
func (f *family) change(n int) {
	for range n {
		f.rv++
		level, key := f.IntN(len(f.collections)), fmt.Sprintf("n/o%d", f.IntN(12))
		if f.IntN(4) == 0 {
			delete(f.owned[level], key)
			f.collections[level].Delete(api.Key(key), api.ResourceVersion(f.rv), 1)
			continue
		}
		o := f.random(level, key)
		f.owned[level][key] = o
		apply(f.collections[level], o.text)
	}
}

// list replaces the objects of a random collection.
func (f *family) list() {
	f.rv++
	level, texts := f.IntN(len(f.collections)), []string(nil)
	now := map[string]relative{}
	for i := range 12 {
		if key := fmt.Sprintf("n/o%02d", i); f.IntN(2) == 0 {
			now[key] = f.random(level, key)
			texts = append(texts, now[key].text)
		}
	}
	f.owned[level] = now
	relist(f.collections[level], api.ResourceVersion(f.rv), texts...)
}

// above reports whether the owner of an object on a level is the row or is below the row.
func (f *family) above(level int, owner, row string) bool {
	if owner == "" || owner == row {
		return owner != ""
	}
	for i := 1; i < level; i++ {
		for _, o := range f.owned[i] {
			if o.uid == owner && f.above(i, o.owner, row) {
				return true
			}
		}
	}
	return false
}

// naive returns a cacher with the rows and the columns about their children, computed
// without indexes.
func (f *family) naive(columns []api.Column) *cacher.Cacher {
	schema := *f.collections[0].Schema()
	schema.Columns = append(slices.Clone(schema.Columns), columns...)
	c := cacher.New(cacher.Config{Schema: schema})
	c.Listing().Begin()
	last := len(f.collections) - 1
	for _, row := range f.owned[0] {
		o, n := objects.ObjectOf(schema, row.text), 0
		var counts [2]map[string]int
		counts[0], counts[1] = map[string]int{}, map[string]int{}
		for _, pod := range f.owned[last] {
			if f.above(last, pod.owner, row.uid) {
				n++
				read := objects.Object(pod.text)
				counts[0][read.Columns[1].Text]++
				counts[1][fmt.Sprint(read.Columns[2].Int)]++
			}
		}
		o.Columns[1] = api.Value{Kind: api.Integer, Int: int64(n)}
		for i, values := range counts {
			o.Columns[2+i] = api.Value{}
			if text := histogram(values); text != "" {
				o.Columns[2+i] = api.Value{Kind: api.String, Text: text}
			}
		}
		c.Listing().Object(objects.UpdateOf(o))
	}
	c.Listing().End(1, 1)
	return c
}

func histogram(values map[string]int) string {
	var texts []string
	for value, n := range values {
		if value != "" {
			texts = append(texts, fmt.Sprintf("%09d %s %d", 1e9-1-n, value, n))
		}
	}
	slices.Sort(texts)
	for i := range texts {
		_, texts[i], _ = strings.Cut(texts[i], " ")
	}
	return strings.Join(texts, ", ")
}

// Views of a join show the same rows as new views of a naive cacher, which counts the
// latest versions without indexes (B37). The join is built in steps, while objects and
// owners change and lists replace collections.
func TestChildrenEqualTheNaiveCounts(t *testing.T) {
	queries := []wire.OpenView{
		{Sort: "-Pods, name"},
		{Sort: `"pod states", -name`, Facets: []wire.Facet{{By: "pods"}, {By: "pod states"}}},
		{Where: "pods > 1", Search: "running", Facets: []wire.Facet{{By: "namespace", RowsOnly: true, Aggregates: []string{"Pods"}}}},
		{Where: `not "pod states" exists`, Sort: "pod restarts", Facets: []wire.Facet{{By: "pod restarts"}}},
	}
	for seed := range uint64(80) {
		f := newFamily(seed)
		between := strings.Repeat("v1/other,", len(f.collections)-2)
		columns := childColumns(between)
		f.change(60)
		var j *join.Join
		var programs []client
		var views []*view.View
		open := func() {
			j = counting(f.collections[0], columns, f.collections[1:]...)
			for !j.Built() {
				require.False(t, j.Outdated(f.collections[1:]))
				j.Build(1 + f.IntN(1000))
				f.change(f.IntN(4))
			}
			programs, views = make([]client, len(queries)), make([]*view.View, len(queries))
			for i := range queries {
				queries[i].Limit = 1 + uint32(f.IntN(40))
				var status *api.Status
				views[i], status = view.New(j.Cacher(), &queries[i], 0)
				require.Nil(t, status)
			}
		}
		open()
		for range 15 {
			f.change(f.IntN(10))
			if f.IntN(6) == 0 {
				f.list()
				f.change(f.IntN(3))
				require.True(t, j.Outdated(f.collections[1:]))
				j.Close()
				open()
			}
			for i := range queries {
				programs[i].apply(t, views[i])
				fresh, status := view.New(f.naive(columns), &queries[i], 0)
				require.Nil(t, status)
				var want client
				want.apply(t, fresh)
				require.Equal(t, want, programs[i], "seed %d, query %d", seed, i)
			}
		}
		fresh := counting(f.collections[0], columns, f.collections[1:]...)
		fresh.Build(everything)
		require.Equal(t, indexBytes(fresh), indexBytes(j), "seed %d", seed)
	}
}

// UsedBytes approximates the heap memory of the counts of 10,000 objects. These objects
// have 2,500 owners, which in turn have 500 owners.
func TestUsedBytesIsTheMemoryOfTheCounts(t *testing.T) {
	uid := func(level string, i int) string { return fmt.Sprintf("%s-%034d", level, i) }
	var rows, sets, pods []string
	for i := range 10_000 {
		if i%20 == 0 {
			rows = append(rows, fmt.Sprintf("a/d%d rv=1 uid=%s", i/20, uid("d", i/20)))
		}
		if i%4 == 0 {
			sets = append(sets, fmt.Sprintf("a/s%d rv=1 uid=%s owner=%s", i/4, uid("s", i/4), uid("d", i/20)))
		}
		pods = append(pods, fmt.Sprintf("a/p%d rv=1 owner=%s phase=%s", i, uid("s", i/4), []string{"Running", "Pending"}[i%2]))
	}
	collections := []*cacher.Cacher{listed(owning("replicasets"), sets...), listed(objects.Pods(), pods...)}
	all := listed(owning("deployments"), rows...)
	before := heap()
	j := counting(all, childColumns("apps/v1/replicasets,")[:2], collections...)
	j.Build(everything)
	after := heap()
	require.InEpsilon(t, after-before-j.Cacher().Arena().ReservedBytes(), indexBytes(j), 0.25)
	j.Close()
}

// heap returns the number of bytes of live objects in the heap.
func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// indexBytes returns the memory of a join without its rows.
func indexBytes(j *join.Join) int { return j.UsedBytes() - j.Cacher().Arena().UsedBytes() }
