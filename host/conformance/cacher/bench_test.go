package cacher

import (
	"context"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/watcher"
)

const (
	manyWatches = 10_000
	manyPods    = 5000
	manyApps    = 1000
	perEvent    = manyWatches / manyApps // watches that match a change
	// perTheirs is the number of changes that core/cacher processes for each change that the
	// library processes. It is large, so that the time of core/cacher is measurable.
	perTheirs = 500
	// burst is the number of changes that the library receives before the benchmark waits for
	// its ten thousand goroutines. The library ends a watch that falls ten events behind.
	burst = 8
	quiet = 10 * time.Millisecond
)

// crowd contains both caches, with the same objects and the same ten thousand watches.
// Each change matches ten watches.
type crowd struct {
	*world
	list      []*example.Pod
	delivered atomic.Int64 // events that the library delivered
	received  int64        // events that core/cacher delivered
}

func newCrowd(b *testing.B) *crowd {
	c := &crowd{world: &world{t: b, namespaced: true, now: time.UnixMilli(1_700_000_000_000), rv: manyPods}}
	c.ours = cacher.New(cacher.Config{Schema: podSchema, Seed: 1})
	c.ours.Tick(c.now.UnixMilli())
	c.ours.Listing().Begin()
	for i := range manyPods {
		p := &example.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns-" + strconv.Itoa(i%20), Name: "pod-" + strconv.Itoa(i), UID: "u", ResourceVersion: strconv.Itoa(i + 1),
			Labels: map[string]string{"app": "app-" + strconv.Itoa(i%manyApps), "tier": "web"},
		}}
		c.list = append(c.list, p)
		c.ours.Listing().Object(c.put(p))
	}
	c.ours.Listing().End(manyPods, c.now.UnixMilli())
	c.theirs = newTheirs(b, c.now, func() (list []example.Pod, rv uint64) {
		for _, p := range c.list {
			list = append(list, *p.DeepCopy())
		}
		return list, manyPods
	})
	c.theirs.open()
	ctx, cancel := context.WithCancel(context.Background())
	b.Cleanup(cancel)
	for i := range manyWatches {
		c.watch(ctx, "app=app-"+strconv.Itoa(i%manyApps)+",reader!="+strconv.Itoa(i))
	}
	return c
}

func (c *crowd) watch(ctx context.Context, selector string) {
	rv := strconv.Itoa(manyPods)
	opt := cacher.WatchOptions{Selection: objects.Select(selector, ""), ResourceVersion: rv, Sink: func(d watcher.Delivery) bool {
		c.received++
		c.ours.Arena().Release(d.Content)
		return true
	}}
	if status := c.ours.Watch(opt, func(*watcher.Watcher, *api.Status) {}); status != nil {
		c.t.Fatal(status)
	}
	parsed, err := labels.Parse(selector)
	if err != nil {
		c.t.Fatal(err)
	}
	their, err := c.theirs.Watch(ctx, prefix, storage.ListOptions{
		ResourceVersion: rv, Recursive: true,
		Predicate: storage.SelectionPredicate{Label: parsed, Field: fields.Everything(), GetAttrs: attributes},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	go func() { // until ctx is done
		for range their.ResultChan() {
			c.delivered.Add(1)
		}
	}()
}

// next returns a new version of a pod.
func (c *crowd) next(i int) *example.Pod {
	p := c.list[i*7919%len(c.list)].DeepCopy()
	c.rv++
	p.ResourceVersion = strconv.FormatUint(c.rv, 10)
	return p
}

// settle waits until the library has made the given number of deliveries, and its
// goroutines have skipped all events that do not match.
func (c *crowd) settle(deliveries int64) {
	c.t.Helper()
	done := waited(func() bool {
		before := processorTime()
		time.Sleep(quiet)
		return c.delivered.Load() >= deliveries && processorTime()-before < quiet/20
	})
	if got := c.delivered.Load(); !done || got != deliveries {
		c.t.Fatalf("the library delivered %d events and not %d, and ended %d watches as too slow", got, deliveries, c.theirs.terminated())
	}
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // cannot fail with these arguments
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkManyWatches measures the processor time that each cache takes for one change
// while ten thousand watches with distinct selectors are open.
//
//	go test ./cacher -run '^$' -bench ManyWatches -benchtime 24x -count 5
func BenchmarkManyWatches(b *testing.B) {
	c := newCrowd(b)
	c.settle(0)
	theirs := c.timeTheirs(b)
	ours := c.timeOurs(b, b.N*perTheirs)
	b.ReportMetric(theirs, "theirs-ns/event")
	b.ReportMetric(ours, "ours-ns/event")
	b.ReportMetric(theirs/ours, "ratio")
}

func (c *crowd) timeTheirs(b *testing.B) float64 {
	sent := 0
	before := processorTime()
	for b.Loop() {
		c.theirs.send(watch.Event{Type: watch.Modified, Object: c.next(sent)})
		if sent++; sent%burst == 0 {
			c.settle(perEvent * int64(sent))
		}
	}
	c.settle(perEvent * int64(sent))
	return float64((processorTime() - before).Nanoseconds()) / float64(sent)
}

func (c *crowd) timeOurs(b *testing.B, n int) float64 {
	puts := make([]*cacher.Update, n)
	for i := range puts {
		puts[i] = c.put(c.next(i))
	}
	before := processorTime()
	for _, p := range puts {
		c.ours.Apply(p, c.now.UnixMilli())
	}
	took := processorTime() - before
	if c.received != perEvent*int64(n) {
		b.Fatalf("ours delivered %d events and not %d", c.received, perEvent*n)
	}
	return float64(took.Nanoseconds()) / float64(n)
}
