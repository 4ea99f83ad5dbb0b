package cacher_test

import (
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/watcher"
)

func benchWorld(n int) (*cacher.Cacher, []*cacher.Update) {
	c := cacher.New(cacher.Config{Schema: objects.Pods()})
	puts := make([]*cacher.Update, n)
	c.Listing().Begin()
	for i := range puts {
		puts[i] = objects.Update("ns-" + strconv.Itoa(i%20) + "/pod-" + strconv.Itoa(i) +
			" rv=1 phase=Running nodeName=node-" + strconv.Itoa(i%100) + " app=app-" + strconv.Itoa(i%500))
		c.Listing().Object(puts[i])
	}
	c.Listing().End(1, 0)
	return c, puts
}

// BenchmarkApply measures a change to one of 30,000 objects.
func BenchmarkApply(b *testing.B) {
	c, puts := benchWorld(30_000)
	benchChanges(b, c, puts)
}

// benchChanges measures changes to objects. It also reports the CPU time, which stays
// meaningful on a busy machine.
func benchChanges(b *testing.B, c *cacher.Cacher, puts []*cacher.Update) {
	runtime.GC()
	b.ReportAllocs()
	b.ResetTimer()
	before := cpuNanos()
	for i := range b.N {
		p := puts[i*7919%len(puts)]
		p.ResourceVersion = api.ResourceVersion(i + 2)
		c.Apply(p, int64(i))
	}
	b.ReportMetric(float64(cpuNanos()-before)/float64(b.N), "cpu-ns/op")
}

func cpuNanos() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// selectors lists the kinds of watches to measure. All watches have distinct selectors. A
// change matches ten watches, regardless of the total number of watches.
var selectors = []struct {
	name  string
	watch func(i, of int) cacher.WatchOptions
}{
	{"labels", func(i, of int) cacher.WatchOptions {
		return cacher.WatchOptions{Selection: objects.Select(either(of == 10, "", "app=app-"+strconv.Itoa(i%1000)+",")+"x!="+strconv.Itoa(i), "")}
	}},
	{"fields", func(i, of int) cacher.WatchOptions {
		fields := either(of == 10, "", "spec.nodeName=node-"+strconv.Itoa(i%1000))
		return cacher.WatchOptions{Selection: objects.Select("x!="+strconv.Itoa(i), fields)}
	}},
	{"mixed", func(i, of int) cacher.WatchOptions {
		o := cacher.WatchOptions{Namespace: either(of == 10, "", "ns-"+strconv.Itoa(i%20))}
		labels, fields := "x!="+strconv.Itoa(i), ""
		switch {
		case of == 10:
		case i%2 == 0:
			labels += ",app in (app-" + strconv.Itoa(i%1000) + ",y)"
		default:
			fields = "metadata.name=pod-" + strconv.Itoa(i)
		}
		o.Selection = objects.Select(labels, fields)
		return o
	}},
}

func either(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

func benchWatch(c *cacher.Cacher, opt cacher.WatchOptions, seen *int) (opened *watcher.Watcher) {
	opt.ResourceVersion, opt.Bookmarks, opt.TimeoutSeconds = c.ResourceVersion().String(), true, 1800
	opt.Sink = func(d watcher.Delivery) bool {
		*seen++
		c.Arena().Release(d.Content)
		return true
	}
	c.Watch(opt, func(w *watcher.Watcher, _ *api.Status) { opened = w })
	return opened
}

// BenchmarkDispatch measures the dispatch of one change to the ten watches that it
// matches.
func BenchmarkDispatch(b *testing.B) {
	for _, s := range selectors {
		for _, watches := range []int{10, 10_000} {
			b.Run(s.name+"/"+strconv.Itoa(watches), func(b *testing.B) {
				c, puts := benchWorld(30_000)
				seen := 0
				for i := range watches {
					benchWatch(c, s.watch(i, watches), &seen)
				}
				benchChanges(b, c, puts)
				b.ReportMetric(float64(seen)/float64(b.N), "deliveries/op")
			})
		}
	}
}

// BenchmarkTick measures one Tick and one NextTick with idle watches.
func BenchmarkTick(b *testing.B) {
	for _, watches := range []int{10, 10_000} {
		b.Run(strconv.Itoa(watches), func(b *testing.B) {
			c, _ := benchWorld(1000)
			seen := 0
			for i := range watches {
				benchWatch(c, selectors[0].watch(i, 10_000), &seen)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				c.Tick(int64(i%1000) + 1)
				c.NextTick()
			}
		})
	}
}

// BenchmarkOpenClose opens watches and closes them in the same order. An
// operation is one watch; B/watch is the memory of an idle watch.
func BenchmarkOpenClose(b *testing.B) {
	for _, watches := range []int{100, 10_000} {
		b.Run(strconv.Itoa(watches), func(b *testing.B) {
			c, puts := benchWorld(30_000)
			seen := 0
			open := make([]*watcher.Watcher, watches)
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N/watches + 1 {
				for i := range open {
					open[i] = benchWatch(c, selectors[0].watch(i, 10_000), &seen)
				}
				for _, w := range open {
					c.Watches().Stop(w)
				}
			}
			b.StopTimer()
			clear(open)
			before := arenaBytes()
			for i := range open {
				open[i] = benchWatch(c, selectors[0].watch(i, 10_000), &seen)
			}
			b.ReportMetric(float64(arenaBytes()-before)/float64(watches), "B/watch")
			runtime.KeepAlive(puts)
			runtime.KeepAlive(open)
		})
	}
}

func arenaBytes() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkRelist measures a list of 30,000 unchanged objects.
func BenchmarkRelist(b *testing.B) {
	c, puts := benchWorld(30_000)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		c.Listing().Begin()
		for _, p := range puts {
			c.Listing().Object(p)
		}
		c.Listing().End(api.ResourceVersion(i+2), 0)
	}
}

// BenchmarkList measures the first page of a list, at the newest version and a
// thousand changes earlier.
func BenchmarkList(b *testing.B) {
	for _, rv := range []string{"", "1"} {
		b.Run("at "+strconv.Quote(rv), func(b *testing.B) {
			c, puts := benchWorld(30_000)
			for i := range 1000 {
				puts[i].ResourceVersion = api.ResourceVersion(i + 2)
				c.Apply(puts[i], 0)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				c.List(cacher.ListOptions{Limit: 500, ResourceVersion: rv}, func(p *cacher.Pages, _ *api.Status) { p.All() })
			}
		})
	}
}
