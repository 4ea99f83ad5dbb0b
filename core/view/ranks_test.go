package view_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/view"
	"github.com/watchglass/watchglass/core/wire"
)

func everyPod(api.Object) bool { return true }

// onNodes returns a collection with a pod on each node.
func onNodes(nodes ...string) (*cacher.Cacher, model) {
	c, m := cacher.New(cacher.Config{Schema: objects.Pods()}), model{}
	c.Listing().Begin()
	for i, node := range nodes {
		o := onNode(fmt.Sprint("old-", i), 1, node)
		m[string(o.Key)] = o
		c.Listing().Object(put(o))
	}
	c.Listing().End(1, 1)
	return c, m
}

func onNode(name string, rv int, node string) api.Object {
	return objects.Object(fmt.Sprintf("ns/%s rv=%d nodeName=%s", name, rv, node))
}

// Texts that appear after a view has scanned its objects are sorted among the others. The view
// scans the objects again only when it has no room for another text.
func TestViewSortsTextsThatAppearLater(t *testing.T) {
	long := strings.Repeat("n", 300)
	for name, c := range map[string]struct {
		old   []string
		nodes func(i int) string // the node of the pod that appears next
		pods  int
		scans int // how often the view scans the objects again
	}{
		"first nodes":             {nil, func(i int) string { return fmt.Sprint("node-", i%3) }, 6, 0},
		"above all":               {[]string{"node-1"}, func(i int) string { return fmt.Sprint("node-", i+2) }, 100, 0},
		"below all":               {[]string{"node-100"}, func(i int) string { return fmt.Sprint("node-", 99-i) }, 99, 0},
		"no node":                 {[]string{"", "node-1"}, func(i int) string { return []string{"", "node-0"}[i%2] }, 4, 0},
		"equal numbers":           {[]string{"node-7", "node-9"}, func(i int) string { return []string{"node-07", "node-8", "node-08"}[i%3] }, 6, 0},
		"each below the previous": {[]string{"node-0", "node-1000"}, func(i int) string { return fmt.Sprint("node-", 999-i) }, 110, 2},
		"each above the previous": {[]string{"node-0", "node-1000"}, func(i int) string { return fmt.Sprint("node-", 1+i) }, 60, 1},
		"a long text":             {[]string{"node-0", "node-1"}, func(i int) string { return []string{"node-2", long, "node-3"}[i%3] }, 9, 1},
	} {
		for sort, less := range map[string]func(a, b api.Object) int{
			"spec.nodeName":        byNode,
			"-spec.nodeName":       reverse(byNode),
			"phase,-spec.nodeName": reverse(byNode),
		} {
			t.Run(name+" by "+sort, func(t *testing.T) {
				collection, m := onNodes(c.old...)
				q := wire.OpenView{Sort: sort, Limit: 1000}
				v, status := view.New(collection, &q, 0)
				require.Nil(t, status)
				shown, scans := &client{}, 0
				for i := range c.pods {
					m.put(collection, onNode(fmt.Sprint("new-", i), i+2, c.nodes(i)))
					if v.Building() {
						scans++
						require.False(t, shown.apply(t, v), "the view has no rows before the scan")
					}
					shown.check(t, v, m, q, less, everyPod)
				}
				if sort == "spec.nodeName" {
					require.Equal(t, c.scans, scans)
				}
			})
		}
	}
}

// A view has room for thousands of texts. When they are used up, it scans the objects again and
// drops the texts that no object has.
func TestViewSortsTextsThatNeverRepeat(t *testing.T) {
	c, m := onNodes("a", "b", "c", "d")
	r := rand.New(rand.NewPCG(4, 1))
	q := wire.OpenView{Sort: "spec.nodeName", Limit: 10}
	v, status := view.New(c, &q, 0)
	require.Nil(t, status)
	shown, scans := &client{}, 0
	for i := range 20_000 {
		m.put(c, onNode(fmt.Sprint("old-", r.IntN(4)), i+2, fmt.Sprint("node-", r.Uint64())))
		if v.Building() {
			scans++
		}
		shown.check(t, v, m, q, byNode, everyPod)
	}
	require.Equal(t, 2, scans)
}

// A narrower view shares the sort keys of the view that it starts from. Both sort texts that
// appear later, also when there is no room for them.
func TestNarrowedViewSortsTextsThatAppearLater(t *testing.T) {
	for _, first := range []string{"node-0", strings.Repeat("n", 300)} {
		c, m := onNodes(first, "node-1000")
		set := view.NewSet(c)
		matches := map[string]func(api.Object) bool{
			"":   everyPod,
			"-1": func(o api.Object) bool { return strings.Contains(o.Key.Name(), "-1") },
		}
		open := func(search string) (*view.View, *client) {
			v, status := set.Open(&wire.OpenView{Sort: "spec.nodeName", Search: search, Limit: 1000}, 0)
			require.Nil(t, status)
			v.Build(complete)
			return v, &client{}
		}
		broad, inBroad := open("")
		narrow, inNarrow := open(`"-1"`)
		for i := range 120 {
			m.put(c, onNode(fmt.Sprint("new-", i), i+2, fmt.Sprint("node-", []int{999 - i, 2000 + i}[i%2])))
			q := wire.OpenView{Limit: 1000}
			if i%2 == 0 {
				inBroad.check(t, broad, m, q, byNode, matches[""])
			}
			inNarrow.check(t, narrow, m, q, byNode, matches["-1"])
		}
	}
}

// A window stays at the position of a version that is not a row, even if its text has no place
// among those of the rows.
func TestWindowStaysAtATextThatNoRowHas(t *testing.T) {
	for _, node := range []string{"node-5", strings.Repeat("n", 300)} {
		c, m := onNodes("node-1", "node-3", "node-7", "node-9")
		m.put(c, objects.Object("ns/other rv=2 phase=Failed nodeName="+node))
		q := wire.OpenView{Sort: "spec.nodeName", Limit: 10, FieldSelector: "status.phase!=Failed", Anchor: "ns/other"}
		v, status := view.New(c, &q, 0)
		require.Nil(t, status)
		shown := &client{}
		shown.follow("ns/other")
		for i := range 3 {
			if v.Build(complete); shown.apply(t, v) {
				shown.find(nil, m)
			}
			shown.check(t, v, m, q, byNode, func(o api.Object) bool { return o.Fields[3] != "Failed" })
			m.put(c, onNode(fmt.Sprint("new-", i), i+3, fmt.Sprint("node-", i*4)))
		}
	}
}
