package view_test

import (
	"strconv"
	"testing"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/view"
	"github.com/watchglass/watchglass/core/wire"
)

func benchCollection(n int) *cacher.Cacher {
	c := cacher.New(cacher.Config{Schema: objects.Pods(), History: history.Limits{MinCapacity: 1024, MaxCapacity: 1024}})
	c.Listing().Begin()
	for i := range n {
		c.Listing().Object(benchPod(i, 1))
	}
	c.Listing().End(1, 1)
	return c
}

// benchPod returns a pod with one of a few restart counts. The order of the names differs
// from the order of i.
func benchPod(i, rv int) *cacher.Update {
	name := strconv.FormatUint(uint64(i)*0x9e3779b97f4a7c15>>32, 36)
	p := put(objects.Object("team-" + strconv.Itoa(i%20) + "/app-" + name + " phase=Running nodeName=node-" + strconv.Itoa(i%300) +
		" restarts=" + strconv.Itoa((i+rv)*7919%10*(i%3))))
	p.ResourceVersion = api.ResourceVersion(rv)
	return p
}

// BenchmarkView_change applies one update with an open window of 50 rows. About half
// of the updates change the restarts.
func BenchmarkView_change(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		for _, sort := range []string{"-restarts", "nodeName", "name"} {
			if sort == "nodeName" {
				sort = "spec.nodeName"
			}
			b.Run(strconv.Itoa(n)+" "+sort, func(b *testing.B) {
				c := benchCollection(n)
				v, status := view.New(c, &wire.OpenView{Sort: sort, Limit: 50}, 0)
				if status != nil {
					b.Fatal(status)
				}
				updates := make([]*cacher.Update, 4096)
				for i := range updates {
					updates[i] = benchPod(i*7919%n, 2+i%8)
				}
				var f wire.ViewPatch
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					p := updates[i%len(updates)]
					p.ResourceVersion = api.ResourceVersion(i + 2)
					c.Apply(p, 1)
					if i++; i%100 == 0 {
						v.Patch(&f)
					}
				}
			})
		}
	}
}

// BenchmarkView_open opens a view, which sorts the collection.
func BenchmarkView_open(b *testing.B) {
	c := benchCollection(50_000)
	for _, sort := range []string{"", "-restarts", "spec.nodeName", "name"} {
		b.Run(strconv.Quote(sort), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				v, status := view.New(c, &wire.OpenView{Sort: sort, Limit: 50}, 0)
				if status != nil {
					b.Fatal(status)
				}
				v.Close()
			}
		})
	}
}

// BenchmarkGroups measures two operations on a view with groups and two aggregates: opening
// it, and applying one update.
func BenchmarkGroups(b *testing.B) {
	q := wire.OpenView{Facets: []wire.Facet{{By: "spec.nodeName", Then: "phase", RowsOnly: true, Limit: 1000, Aggregates: []string{"restarts", "created"}}}}
	for _, n := range []int{1_000, 100_000} {
		c := benchCollection(n)
		b.Run(strconv.Itoa(n)+" open", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				v, _ := view.New(c, &q, 0)
				v.Close()
			}
		})
		b.Run(strconv.Itoa(n)+" change", func(b *testing.B) {
			v, status := view.New(c, &q, 0)
			if status != nil {
				b.Fatal(status)
			}
			var f wire.ViewPatch
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				p := benchPod(i*7919%n, 2+i%8)
				p.ResourceVersion = api.ResourceVersion(i + 2)
				c.Apply(p, 1)
				if i++; i%100 == 0 {
					v.Patch(&f)
				}
			}
		})
	}
}

// BenchmarkDashboard opens a view with a query that is typical of a dashboard.
func BenchmarkDashboard(b *testing.B) {
	c := benchCollection(100_000)
	q := wire.OpenView{Search: "running", Sort: "-restarts,spec.nodeName", Limit: 50, Facets: []wire.Facet{{By: "phase"}, {By: "spec.nodeName"}, {By: "namespace"}, {By: "labels[app]"}}}
	b.ReportAllocs()
	for b.Loop() {
		v, status := view.New(c, &q, 0)
		if status != nil {
			b.Fatal(status)
		}
		v.Close()
	}
}
