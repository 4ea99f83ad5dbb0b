package cacher

import (
	"context"
	"fmt"
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
	"github.com/watchglass/watchglass/core/watcher"
)

const (
	manyWatches = 10_000
	manyPods    = 5000
	manyApps    = 1000
	// perTheirs is how many changes ours is given for each that the library is,
	// so that there is something to measure.
	perTheirs = 100
)

// crowd is both caches with the same objects and the same ten thousand watches,
// of which each change concerns ten.
type crowd struct {
	*world
	list      []*example.Pod
	delivered atomic.Int64 // by the library
	told      int64        // by ours
}

func newCrowd(b *testing.B) *crowd {
	c := &crowd{world: &world{t: b, namespaced: true, now: time.UnixMilli(1_700_000_000_000), rv: manyPods}}
	c.ours = cacher.New(cacher.Config{Schema: podSchema, Seed: 1})
	c.ours.Tick(c.now.UnixMilli())
	c.ours.BeginList()
	for i := range manyPods {
		p := &example.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns-" + strconv.Itoa(i%20), Name: "pod-" + strconv.Itoa(i), UID: "u", ResourceVersion: strconv.Itoa(i + 1),
			Labels: map[string]string{"app": "app-" + strconv.Itoa(i%manyApps), "tier": "web"},
		}}
		c.list = append(c.list, p)
		c.ours.ListObject(c.put(p))
	}
	c.ours.EndList(manyPods, c.now.UnixMilli())
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
	opt := cacher.WatchOptions{LabelSelector: selector, ResourceVersion: rv, Sink: func(d watcher.Delivery) bool {
		c.told++
		c.ours.Heap().Release(d.Content)
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
	go func() { // until ctx ends
		for range their.ResultChan() {
			c.delivered.Add(1)
		}
	}()
}

// next is a new version of a pod.
func (c *crowd) next(i int) *example.Pod {
	p := c.list[i*7919%len(c.list)].DeepCopy()
	c.rv++
	p.ResourceVersion = strconv.FormatUint(c.rv, 10)
	return p
}

// settled waits until the library has delivered so much, and its goroutines
// have looked at what does not concern them.
func (c *crowd) settled(deliveries int64) {
	for last := time.Duration(-1); ; {
		now := processorTime()
		if c.delivered.Load() >= deliveries && now-last < 2*time.Millisecond {
			return
		}
		last = now
		time.Sleep(100 * time.Millisecond)
	}
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it cannot fail with these arguments
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkManyWatches is one change among ten thousand watches of distinct
// selectors, in the processor time of either cache.
//
//	go test ./cacher -run '^$' -bench ManyWatches -benchtime 100x
func BenchmarkManyWatches(b *testing.B) {
	c := newCrowd(b)
	c.settled(0)
	b.ResetTimer()
	before := processorTime()
	for i := range b.N {
		c.theirs.send(watch.Event{Type: watch.Modified, Object: c.next(i)})
	}
	c.settled(10 * int64(b.N))
	theirs := float64((processorTime() - before).Nanoseconds()) / float64(b.N)
	if got := c.delivered.Load(); got != 10*int64(b.N) {
		b.Fatalf("the library delivered %d events and not %d", got, 10*b.N)
	}

	puts := make([]*cacher.Put, b.N*perTheirs)
	for i := range puts {
		puts[i] = c.put(c.next(i))
	}
	before = processorTime()
	for _, p := range puts {
		c.ours.Apply(p, c.now.UnixMilli())
	}
	ours := float64((processorTime() - before).Nanoseconds()) / float64(len(puts))
	if c.told != 10*int64(len(puts)) {
		b.Fatalf("ours delivered %d events and not %d", c.told, 10*len(puts))
	}
	b.ReportMetric(theirs, "theirs-ns/event")
	b.ReportMetric(ours, "ours-ns/event")
	b.ReportMetric(theirs/ours, "ratio")
	if b.N == 1 {
		return // the testing package tries how long one takes
	}
	fmt.Printf("bench P5 upstream %.0fx (ours %.3g us/event, kube-apiserver's cacher %.3g us/event, %d watches)\n",
		theirs/ours, ours/1000, theirs/1000, manyWatches)
}
