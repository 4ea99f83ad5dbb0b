package watcher_test

import (
	"strconv"
	"testing"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/watcher"
)

// BenchmarkDeliver measures the delivery of an event to a watch whose filter matches the
// event, and to a watch whose filter does not.
func BenchmarkDeliver(b *testing.B) {
	for _, selector := range []string{"app=web", "app=db"} {
		b.Run(selector, func(b *testing.B) {
			arena, schema := store.NewArena(), objects.Pods()
			filter, _ := watcher.NewFilter(arena, &schema, "", objects.Select(selector, ""))
			w := watcher.New(arena, watcher.Options{Filter: filter, QueueSize: 100, Sink: func(d watcher.Delivery) bool {
				arena.Release(d.Content)
				return true
			}})
			e := history.Event{Current: objects.Version(arena, "default/a rv=2 app=web"), Previous: objects.Version(arena, "default/a rv=1 app=web")}
			b.ReportAllocs()
			for i := range b.N {
				e.ResourceVersion = api.ResourceVersion(i + 2)
				w.TryAdd(&e)
				w.Run()
			}
		})
	}
}

func BenchmarkConflate(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(strconv.Itoa(n)+" objects", func(b *testing.B) {
			arena, schema := store.NewArena(), objects.Pods()
			filter, _ := watcher.NewFilter(arena, &schema, "", objects.Select("", ""))
			w := watcher.New(arena, watcher.Options{Filter: filter, QueueSize: 100, Policy: api.PolicyConflate})
			events := make([]history.Event, n)
			for i := range events {
				events[i].Current = objects.Version(arena, "default/"+strconv.Itoa(i)+" rv=2")
				events[i].Previous = arena.Retain(events[i].Current)
			}
			b.ReportAllocs()
			for i := range b.N {
				e := &events[i%n]
				e.ResourceVersion = api.ResourceVersion(i + 2)
				w.TryAdd(e)
			}
		})
	}
}
