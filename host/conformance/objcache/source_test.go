package objcache

import (
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/kubelet/util/manager"
	clocktesting "k8s.io/utils/clock/testing"
)

const namespace = "default"

// server is a fake API server from which the kubelet lists and watches secrets.
type server struct {
	mu      sync.Mutex
	rv      uint64
	secrets map[string]*corev1.Secret // by name
	history []watch.Event
	watches map[string][]*follower // by name
	lists   map[string]int
}

// follower is a watch on one secret.
type follower struct {
	s      *server
	name   string
	events chan watch.Event
}

func newServer() *server {
	return &server{rv: 1, secrets: map[string]*corev1.Secret{}, watches: map[string][]*follower{}, lists: map[string]int{}}
}

// kubelet returns the kubelet's cache, and the layer that registers pods with the cache.
// The clock of the cache stays at the zero time, the initial last-access time of objects,
// so that sweeps find no idle object.
func (s *server) kubelet(stop <-chan struct{}) (manager.Store, manager.Manager) {
	store := manager.NewObjectCache(s.list, s.watch,
		func() runtime.Object { return &corev1.Secret{} },
		func(o runtime.Object) bool { i := o.(*corev1.Secret).Immutable; return i != nil && *i },
		func(lw *cache.ListWatch) cache.ListerWatcher {
			return cache.ToListWatcherWithWatchListSemantics(lw, classic{})
		},
		schema.GroupResource{Resource: "secrets"}, clocktesting.NewFakeClock(time.Time{}), time.Hour, stop)
	return store, manager.NewCacheBasedManager(store, func(pod *corev1.Pod) sets.Set[string] {
		return sets.New(strings.Fields(pod.Spec.NodeName)...) // podOf stores the names of the secrets here
	})
}

// classic describes a client that does not support initial events, so that the reflector
// lists before it watches.
type classic struct{}

func (classic) IsWatchListSemanticsUnSupported() bool { return true }

func nameIn(options metav1.ListOptions) string {
	return strings.TrimPrefix(options.FieldSelector, "metadata.name=")
}

func (s *server) list(_ string, options metav1.ListOptions) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := nameIn(options)
	s.lists[name]++
	list := &corev1.SecretList{}
	list.ResourceVersion = strconv.FormatUint(s.rv, 10)
	if secret := s.secrets[name]; secret != nil {
		list.Items = append(list.Items, *secret.DeepCopy())
	}
	return list, nil
}

func (s *server) watch(_ string, options metav1.ListOptions) (watch.Interface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := &follower{s, nameIn(options), make(chan watch.Event, 10_000)}
	for _, e := range s.history {
		if secret := e.Object.(*corev1.Secret); secret.Name == f.name && versionOf(secret) > parse(options.ResourceVersion) {
			f.events <- e
		}
	}
	s.watches[f.name] = append(s.watches[f.name], f)
	return f, nil
}

func (f *follower) ResultChan() <-chan watch.Event { return f.events }

func (f *follower) Stop() {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	kept := f.s.watches[f.name][:0]
	for _, other := range f.s.watches[f.name] {
		if other != f {
			kept = append(kept, other)
		}
	}
	f.s.watches[f.name] = kept
}

// put creates the next version of a secret.
func (s *server) put(name string, immutable bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rv++
	kind := watch.Modified
	if s.secrets[name] == nil {
		kind = watch.Added
	}
	secret := &corev1.Secret{Immutable: &immutable}
	secret.Namespace, secret.Name, secret.ResourceVersion = namespace, name, strconv.FormatUint(s.rv, 10)
	s.secrets[name] = secret
	s.send(watch.Event{Type: kind, Object: secret})
}

func (s *server) delete(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rv++
	secret := s.secrets[name].DeepCopy()
	secret.ResourceVersion = strconv.FormatUint(s.rv, 10)
	delete(s.secrets, name)
	s.send(watch.Event{Type: watch.Deleted, Object: secret})
}

func (s *server) send(e watch.Event) {
	s.history = append(s.history, e)
	for _, f := range s.watches[e.Object.(*corev1.Secret).Name] {
		f.events <- e
	}
}

// asked returns how often a secret was listed, and the number of its open watches.
func (s *server) asked(name string) (lists, watches int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists[name], len(s.watches[name])
}

func versionOf(secret *corev1.Secret) uint64 { return parse(secret.ResourceVersion) }

func parse(rv string) uint64 {
	n, err := strconv.ParseUint(rv, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}
