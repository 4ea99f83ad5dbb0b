package cacher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"
	examplev1 "k8s.io/apiserver/pkg/apis/example/v1"
	"k8s.io/apiserver/pkg/storage"
	upstream "k8s.io/apiserver/pkg/storage/cacher"
	"k8s.io/apiserver/pkg/storage/cacher/metrics"
	"k8s.io/apiserver/pkg/storage/feature"
	componentmetrics "k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/klog/v2"
	clocks "k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

const prefix = "/pods/"

// patience is the maximum time that the library may take for an operation that need not
// wait for changes.
const patience = 30 * time.Second

// These are the minimum and maximum time between ticks, which trigger bookmarks.
const (
	leastTick = time.Second
	mostTick  = 1250 * time.Millisecond
)

var codec = func() runtime.Codec {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{example.AddToScheme, examplev1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	return serializer.NewCodecFactory(scheme).LegacyCodec(examplev1.SchemeGroupVersion)
}()

func init() {
	metrics.Register()
	klog.SetLogger(logr.Discard())
	klog.SetOutput(io.Discard)
	feature.DefaultFeatureSupportChecker = progressSupported{feature.DefaultFeatureSupportChecker}
}

// progressSupported reports that the storage supports requests for progress. Without this
// support, the library would serve neither watches with initial events nor consistent
// lists.
type progressSupported struct{ feature.FeatureSupportChecker }

func (progressSupported) Supports(f storage.Feature) bool { return f == storage.RequestWatchProgress }

// clock counts the waits for future versions, which are the only callers of After. It also
// counts how often the bookmark timer is set.
type clock struct {
	*clocktesting.FakeClock
	waits, ticks atomic.Int64
}

func (c *clock) After(d time.Duration) <-chan time.Time {
	defer c.waits.Add(1)
	return c.FakeClock.After(d)
}

// NewTimer recognizes the bookmark timer by its period, and counts how often it is set.
func (c *clock) NewTimer(d time.Duration) clocks.Timer {
	timer := c.FakeClock.NewTimer(d)
	if d < leastTick || d > mostTick {
		return timer
	}
	c.ticks.Add(1)
	return ticking{timer, c}
}

// ticking is the bookmark timer. It counts its resets in the field clock.
type ticking struct {
	clocks.Timer
	clock *clock
}

func (t ticking) Reset(d time.Duration) bool {
	defer t.clock.ticks.Add(1)
	return t.Timer.Reset(d)
}

// source is the storage under the library's cache. It serves the current state as lists,
// and the events from the channel as a watch.
type source struct {
	storage.Interface
	events chan watch.Event
	gate   chan struct{} // closed when lists may be served

	mu    sync.Mutex
	state func() ([]example.Pod, uint64)
	lists int
}

var errPassedOn = errors.New("passed on to the storage")

// fromReader marks the context of the tests' requests, to distinguish them from the
// cache's own requests.
type fromReader struct{}

func (s *source) GetList(ctx context.Context, _ string, _ storage.ListOptions, list runtime.Object) error {
	if ctx.Value(fromReader{}) != nil {
		return errPassedOn
	}
	<-s.gate
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists++
	items, rv := s.state()
	list.(*example.PodList).Items = items
	return s.Versioner().UpdateList(list, rv, "", nil)
}

func (s *source) GetCurrentResourceVersion(context.Context) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, rv := s.state()
	return rv, nil
}

func (s *source) Watch(context.Context, string, storage.ListOptions) (watch.Interface, error) {
	return watch.NewProxyWatcher(s.events), nil
}

func (s *source) Versioner() storage.Versioner                        { return storage.APIObjectVersioner{} }
func (s *source) RequestWatchProgress(context.Context) error          { return nil }
func (s *source) EnableResourceSizeEstimation(storage.KeysFunc) error { return nil }
func (s *source) CompactRevision() int64                              { return 0 }

// IsWatchListSemanticsUnSupported makes the cache use a classic list.
func (s *source) IsWatchListSemanticsUnSupported() bool { return true }

func (s *source) listed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists
}

// theirs is the library's cache.
type theirs struct {
	*upstream.CacheDelegator
	t        testing.TB
	source   *source
	clock    *clock
	resource string // unique for each instance, because the library's counters use it
	sent     int    // number of events that the library must have dispatched
	opened   func()
}

var caches atomic.Int64

// newTheirs returns a cache whose first list waits for a call to open.
func newTheirs(t testing.TB, now time.Time, state func() ([]example.Pod, uint64)) *theirs {
	s := &source{events: make(chan watch.Event), gate: make(chan struct{}), state: state}
	c := &clock{FakeClock: clocktesting.NewFakeClock(now)}
	resource := fmt.Sprintf("pods%d", caches.Add(1))
	cache, err := upstream.NewCacherFromConfig(upstream.Config{
		Storage: s, Versioner: s.Versioner(), GroupResource: schema.GroupResource{Resource: resource},
		EventsHistoryWindow: upstream.DefaultEventFreshDuration, ResourcePrefix: strings.TrimSuffix(prefix, "/"),
		KeyFunc:      func(o runtime.Object) (string, error) { return prefix + keyOf(o.(*example.Pod)), nil },
		GetAttrsFunc: attributes,
		NewFunc:      func() runtime.Object { return &example.Pod{} },
		NewListFunc:  func() runtime.Object { return &example.PodList{} },
		Codec:        codec, Clock: c,
	})
	if err != nil {
		t.Fatal(err)
	}
	th := &theirs{CacheDelegator: upstream.NewCacheDelegator(cache, s), t: t, source: s, clock: c, resource: resource}
	th.opened = sync.OnceFunc(func() { close(s.gate) })
	t.Cleanup(func() {
		th.opened()
		th.CacheDelegator.Stop()
		cache.Stop()
	})
	th.waitFor("its first tick", func() bool { return c.ticks.Load() > 0 })
	return th
}

// open allows the cache to list for the first time.
func (th *theirs) open() {
	th.t.Helper()
	th.opened()
	th.waitFor("the first list", func() bool { return th.ReadinessCheck() == nil })
}

func keyOf(p *example.Pod) string { return strings.TrimPrefix(p.Namespace+"/"+p.Name, "/") }

func attributes(o runtime.Object) (labels.Set, fields.Set, error) {
	p := o.(*example.Pod)
	set := fields.Set{"metadata.name": p.Name, "spec.nodeName": p.Spec.NodeName, "status.phase": string(p.Status.Phase)}
	if p.Namespace != "" {
		set["metadata.namespace"] = p.Namespace
	}
	return p.Labels, set, nil
}

// waited reports whether a condition becomes true within patience.
func waited(done func() bool) bool {
	start := time.Now()
	for pause := 5 * time.Microsecond; !done(); pause = min(2*pause, 10*time.Millisecond) {
		if time.Since(start) > patience {
			return false
		}
		time.Sleep(pause)
	}
	return true
}

func (th *theirs) waitFor(what string, done func() bool) {
	th.t.Helper()
	if !waited(done) {
		th.t.Fatalf("the library does not come to %s", what)
	}
}

// send passes an event to the cache. It waits until the cache has dispatched the event to
// every watch, or has ended watches that are too slow.
func (th *theirs) send(e watch.Event) {
	th.t.Helper()
	th.hand(e)
	if th.sent++; e.Type != watch.Bookmark {
		th.sent++ // the progress event of the list
	}
	th.waitFor("the end of a dispatch", func() bool { return th.counted(metrics.EventsCounter) >= th.sent })
}

func (th *theirs) hand(e watch.Event) {
	th.t.Helper()
	select {
	case th.source.events <- e:
	case <-time.After(patience):
		th.t.Fatal("the library takes no events")
	}
}

// counted returns the value of a counter of the library. EventsCounter counts dispatched
// events, including progress.
func (th *theirs) counted(counter *componentmetrics.CounterVec) int {
	n, err := testutil.GetCounterMetricValue(counter.WithLabelValues("", th.resource))
	if err != nil {
		th.t.Fatal(err)
	}
	return int(n)
}

func (th *theirs) terminated() int { return th.counted(metrics.TerminatedWatchersCounter) }

// passes sets the time. On a tick, it waits until the cache has dispatched the bookmarks.
func (th *theirs) passes(now time.Time, tick bool, rv uint64) {
	th.t.Helper()
	ticks := th.clock.ticks.Load()
	th.clock.SetTime(now)
	if tick {
		th.waitFor("a tick", func() bool { return th.clock.ticks.Load() > ticks })
		th.bookmark(rv) // dispatched only after the bookmarks of the tick
	}
}

// relist makes the cache list again.
func (th *theirs) relist() {
	before := th.source.listed()
	status := apierrors.NewResourceExpired("compacted").Status()
	th.hand(watch.Event{Type: watch.Error, Object: &status})
	th.waitFor("a new list", func() bool { return th.source.listed() > before && th.ReadinessCheck() == nil })
}

func (th *theirs) bookmark(rv uint64) {
	p := &example.Pod{}
	if err := th.Versioner().UpdateObject(p, rv); err != nil {
		th.t.Fatal(err)
	}
	th.send(watch.Event{Type: watch.Bookmark, Object: p})
}
