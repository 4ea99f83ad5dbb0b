package cacher_test

import (
	"strconv"
	"testing"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/watcher"
)

func benchWorld(n int) (*cacher.Cacher, []*cacher.Put) {
	c := cacher.New(cacher.Config{Schema: objects.Pods()})
	puts := make([]*cacher.Put, n)
	c.BeginList()
	for i := range puts {
		puts[i] = objects.Put("ns-" + strconv.Itoa(i%20) + "/pod-" + strconv.Itoa(i) +
			" rv=1 phase=Running nodeName=node-" + strconv.Itoa(i%100) + " app=app-" + strconv.Itoa(i%500))
		c.ListObject(puts[i])
	}
	c.EndList(1, 0)
	return c, puts
}

// BenchmarkApply is one change of one of 30,000 objects, with watches that want
// one in five hundred of them each.
func BenchmarkApply(b *testing.B) {
	for _, watches := range []int{0, 1, 100, 1000} {
		b.Run(strconv.Itoa(watches)+" watches", func(b *testing.B) {
			c, puts := benchWorld(30_000)
			for i := range watches {
				c.Watch(cacher.WatchOptions{
					ResourceVersion: "1", LabelSelector: "app=app-" + strconv.Itoa(i%500),
					Sink: func(d watcher.Delivery) bool { c.Heap().Release(d.Content); return true },
				}, func(*watcher.Watcher, *api.Status) {})
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				p := puts[i*7919%len(puts)]
				p.ResourceVersion = api.ResourceVersion(i + 2)
				c.Apply(p, int64(i))
			}
		})
	}
}

// BenchmarkRelist is a list of 30,000 objects of which none has changed.
func BenchmarkRelist(b *testing.B) {
	c, puts := benchWorld(30_000)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		c.BeginList()
		for _, p := range puts {
			c.ListObject(p)
		}
		c.EndList(api.ResourceVersion(i+2), 0)
	}
}

// BenchmarkList is the first page of a list, at the newest version and a
// thousand changes ago.
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
				c.List(cacher.ListOptions{Limit: 500, ResourceVersion: rv}, func(*cacher.ListResult, *api.Status) {})
			}
		})
	}
}
