package cacher

import (
	"context"
	"errors"
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
	"k8s.io/apiserver/pkg/storage/feature"
	"k8s.io/klog/v2"
	clocktesting "k8s.io/utils/clock/testing"
)

const prefix = "/pods/"

// patience is how long the library may take for what needs no time.
const patience = 5 * time.Second

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
	klog.SetLogger(logr.Discard())
	klog.SetOutput(io.Discard)
	feature.DefaultFeatureSupportChecker = progressSupported{feature.DefaultFeatureSupportChecker}
}

// progressSupported says of the storage that it reports progress, without which
// the library neither serves a watch with initial events nor a consistent list.
type progressSupported struct{ feature.FeatureSupportChecker }

func (progressSupported) Supports(f storage.Feature) bool { return f == storage.RequestWatchProgress }

// clock counts the waits for a version from the future, which alone use After.
type clock struct {
	*clocktesting.FakeClock
	waits atomic.Int64
}

func (c *clock) After(d time.Duration) <-chan time.Time {
	defer c.waits.Add(1)
	return c.FakeClock.After(d)
}

// source is the storage under the library's cache. It has the state for lists
// and hands on the events it is given.
type source struct {
	storage.Interface
	events chan watch.Event

	mu    sync.Mutex
	state func() ([]example.Pod, uint64)
	lists int
}

var errPassedOn = errors.New("passed on to the storage")

// fromReader marks the context of the requests of the tests, to tell them from
// the cache's own.
type fromReader struct{}

func (s *source) GetList(ctx context.Context, _ string, _ storage.ListOptions, list runtime.Object) error {
	if ctx.Value(fromReader{}) != nil {
		return errPassedOn
	}
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

// IsWatchListSemanticsUnSupported makes the cache list in the classic way.
func (s *source) IsWatchListSemanticsUnSupported() bool { return true }

func (s *source) listed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists
}

// theirs is the library's cache.
type theirs struct {
	*upstream.CacheDelegator
	t      testing.TB
	source *source
	clock  *clock
}

func newTheirs(t testing.TB, now time.Time, mu sync.Locker, state func() ([]example.Pod, uint64)) *theirs {
	s := &source{events: make(chan watch.Event), state: func() ([]example.Pod, uint64) {
		mu.Lock()
		defer mu.Unlock()
		return state()
	}}
	c := &clock{FakeClock: clocktesting.NewFakeClock(now)}
	cache, err := upstream.NewCacherFromConfig(upstream.Config{
		Storage: s, Versioner: s.Versioner(), GroupResource: schema.GroupResource{Resource: "pods"},
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
	th := &theirs{upstream.NewCacheDelegator(cache, s), t, s, c}
	t.Cleanup(func() {
		th.CacheDelegator.Stop()
		cache.Stop()
	})
	th.waitFor("the first list", func() bool { return th.ReadinessCheck() == nil })
	return th
}

func keyOf(p *example.Pod) string { return p.Namespace + "/" + p.Name }

func attributes(o runtime.Object) (labels.Set, fields.Set, error) {
	p := o.(*example.Pod)
	return p.Labels, fields.Set{
		"metadata.name": p.Name, "metadata.namespace": p.Namespace,
		"spec.nodeName": p.Spec.NodeName, "status.phase": string(p.Status.Phase),
	}, nil
}

// waited reports whether something comes true in time.
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

func (th *theirs) send(e watch.Event) {
	th.t.Helper()
	select {
	case th.source.events <- e:
	case <-time.After(patience):
		th.t.Fatal("the library takes no events")
	}
}

// reaches waits until the cache is at a resource version.
func (th *theirs) reaches(rv uint64) {
	th.t.Helper()
	th.waitFor("the version of the source", func() bool {
		var list example.PodList
		err := th.GetList(context.Background(), prefix+"nobody", storage.ListOptions{
			ResourceVersion: "0", Recursive: true, Predicate: storage.Everything,
		}, &list)
		if err != nil {
			th.t.Fatal(err)
		}
		at, _ := th.Versioner().ParseResourceVersion(list.ResourceVersion)
		return at >= rv
	})
}

// relist makes the cache list again.
func (th *theirs) relist() {
	before := th.source.listed()
	status := apierrors.NewResourceExpired("compacted").Status()
	th.send(watch.Event{Type: watch.Error, Object: &status})
	th.waitFor("a new list", func() bool { return th.source.listed() > before && th.ReadinessCheck() == nil })
}

func (th *theirs) bookmark(rv uint64) {
	p := &example.Pod{}
	if err := th.Versioner().UpdateObject(p, rv); err != nil {
		th.t.Fatal(err)
	}
	th.send(watch.Event{Type: watch.Bookmark, Object: p})
}
