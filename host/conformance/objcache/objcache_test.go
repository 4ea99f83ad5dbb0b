package objcache

import (
	"flag"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/kubelet/util/manager"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/objcache"
	"github.com/watchglass/watchglass/core/wire"
)

var (
	worlds = flag.Int("worlds", 40, "number of random sequences of operations")
	steps  = flag.Int("steps", 300, "operations of each sequence")
	seed   = flag.Int64("seed", 1, "seed of the first sequence; each further sequence has the next number")
)

// patience is the maximum time that the kubelet's cache may take to reach the expected
// state.
const patience = 5 * time.Second

// world passes the same input to both caches and compares their results.
type world struct {
	t      *testing.T
	random *rand.Rand
	server *server
	seen   map[string]int

	theirs     manager.Store
	theirPods  manager.Manager
	ours       *objcache.Cache
	ourPods    *objcache.Registrations
	ourLists   map[string]int
	ourWatches map[string]int
	held       []reference
	immutable  map[string]bool
	registered map[string]bool
}

type reference struct{ name, owner string }

func newWorld(t *testing.T, seed int64, seen map[string]int) *world {
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	w := &world{
		t: t, random: rand.New(rand.NewSource(seed)), server: newServer(), seen: seen,
		ourLists: map[string]int{}, ourWatches: map[string]int{}, immutable: map[string]bool{}, registered: map[string]bool{},
	}
	w.theirs, w.theirPods = w.server.kubelet(stop)
	w.ours = objcache.New(objcache.Config{}, upstream{w})
	w.ours.Tick(1_000_000)
	w.ourPods = objcache.NewRegistrations(w.ours)
	return w
}

func id(name string) objcache.ID {
	return objcache.ID{Resource: "v1/secrets", Key: api.NewKey(namespace, name)}
}

// upstream and source connect core/objcache to the server that the kubelet reads from, but
// without goroutines.
type upstream struct{ w *world }

type source struct {
	w    *world
	name string
}

func (u upstream) Covering(objcache.ID, objcache.Source) objcache.Source { return nil }

func (u upstream) Open(id objcache.ID, _ objcache.Version) objcache.Source {
	u.w.ourLists[id.Key.Name()]++
	u.w.ourWatches[id.Key.Name()]++
	return &source{u.w, id.Key.Name()}
}

func (u upstream) Close(s objcache.Source) { u.w.ourWatches[s.(*source).name]-- }

func (s *source) State() (api.State, *api.Status) { return api.StateLive, nil }
func (s *source) Fault(api.Key) *api.Status       { return nil }
func (s *source) Version() (objcache.Version, bool) {
	return objcache.Version{ResourceVersion: api.ResourceVersion(s.w.server.rv)}, true
}

func (s *source) Find(key api.Key) (objcache.Object, bool) {
	secret := s.w.server.secrets[s.name]
	if secret == nil {
		return objcache.Object{}, false
	}
	o := objcache.Object{
		ResourceVersion: api.ResourceVersion(versionOf(secret)), Envelope: wire.AppendEnvelope(nil, &api.Object{Key: key}),
	}
	if *secret.Immutable {
		o.Flags = api.Immutable
	}
	return o, true
}

// ourAnswer formats the result of a Get of core/objcache, and theirAnswer formats the
// result of the kubelet.
func (w *world) ourAnswer(name string) (answer string) {
	w.ours.Get(id(name), func(o *objcache.Object, status *api.Status) {
		switch {
		case status == nil:
			answer = o.ResourceVersion.String()
		case status.Code == 404:
			answer = "not found"
		default:
			answer = status.Message
		}
	})
	return answer
}

func (w *world) theirAnswer(name string) string {
	o, err := w.theirs.Get(namespace, name)
	switch {
	case err == nil:
		return o.(*corev1.Secret).ResourceVersion
	case apierrors.IsNotFound(err):
		return "not found"
	}
	return err.Error()
}

// agree waits until the result of the kubelet equals the result of core/objcache.
func (w *world) agree(what, ours string, theirs func() string) {
	w.t.Helper()
	for start := time.Now(); theirs() != ours; time.Sleep(20 * time.Microsecond) {
		if time.Since(start) > patience {
			w.t.Fatalf("%s: the kubelet returns %q, ours %q", what, theirs(), ours)
		}
	}
}

func (w *world) get(name string) {
	w.t.Helper()
	ours := w.ourAnswer(name)
	w.agree("get "+name, ours, func() string { return w.theirAnswer(name) })
	switch {
	case strings.HasSuffix(ours, "registered"):
		w.seen["not registered"]++
	case ours == "not found":
		w.seen["not found"]++
	case w.immutable[name]:
		w.seen["found, immutable"]++
	default:
		w.seen["found"]++
	}
}

// compareRequests compares the numbers of lists and watches of both sides. It ignores
// lists of immutable objects, because core/objcache repeats them for every new owner.
func (w *world) compareRequests() {
	w.t.Helper()
	for _, name := range names {
		describe := func(lists, watches int) string {
			if w.immutable[name] {
				return fmt.Sprintf("%d watches", watches)
			}
			return fmt.Sprintf("%d lists, %d watches", lists, watches)
		}
		w.agree("requests for "+name, describe(w.ourLists[name], w.ourWatches[name]), func() string {
			return describe(w.server.asked(name))
		})
	}
}

var names = []string{"a", "b", "c", "d", "e"}

func (w *world) name() string { return names[w.random.Intn(len(names))] }

func (w *world) step() {
	w.t.Helper()
	name := w.name()
	switch n := w.random.Intn(100); {
	case n < 20:
		w.change(name)
	case n < 35:
		r := reference{name, "owner" + strconv.Itoa(w.random.Intn(3))}
		w.held = append(w.held, r)
		w.theirs.AddReference(namespace, r.name, types.UID(r.owner))
		if status := w.ours.Add(id(r.name), r.owner); status != nil {
			w.t.Fatal(status)
		}
	case n < 50:
		if len(w.held) > 0 {
			i := w.random.Intn(len(w.held))
			r := w.held[i]
			w.held = slices.Delete(w.held, i, i+1)
			w.theirs.DeleteReference(namespace, r.name, types.UID(r.owner))
			w.ours.Remove(id(r.name), r.owner)
		}
	case n < 60:
		w.register()
	case n < 70:
		w.unregister()
	default:
		w.get(name)
	}
	w.ours.Settle()
	w.compareRequests()
}

func (w *world) change(name string) {
	switch {
	case w.immutable[name]:
		return
	case w.server.secrets[name] != nil && w.random.Intn(3) == 0:
		w.server.delete(name)
	default:
		w.immutable[name] = w.random.Intn(20) == 0
		w.server.put(name, w.immutable[name])
	}
}

// register registers a new version of a random pod, with random secrets, on both sides.
func (w *world) register() {
	pod := "pod" + strconv.Itoa(w.random.Intn(3))
	uses := []string{}
	var ids []objcache.ID
	for range w.random.Intn(4) {
		name := w.name()
		uses, ids = append(uses, name), append(ids, id(name))
	}
	w.theirPods.RegisterPod(podOf(pod, uses))
	w.ourPods.Register(registrant(pod), ids)
	w.registered[pod] = true
	w.seen["registered"]++
}

func (w *world) unregister() {
	for _, pod := range slices.Sorted(maps.Keys(w.registered)) {
		w.theirPods.UnregisterPod(podOf(pod, nil))
		w.ourPods.Unregister(registrant(pod))
		delete(w.registered, pod)
		w.seen["unregistered"]++
		return
	}
}

func podOf(name string, uses []string) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name, pod.UID = namespace, name, types.UID("uid-"+name)
	pod.Spec.NodeName = strings.Join(uses, " ")
	return pod
}

func registrant(name string) objcache.Registrant {
	return objcache.Registrant{Namespace: namespace, Name: name, UID: "uid-" + name}
}

func TestRandomCallsHaveTheSameResults(t *testing.T) {
	seen := map[string]int{}
	for i := range *worlds {
		t.Run(strconv.FormatInt(*seed+int64(i), 10), func(t *testing.T) {
			w := newWorld(t, *seed+int64(i), seen)
			for range *steps {
				w.step()
			}
			for _, name := range names {
				w.get(name)
			}
		})
	}
	for _, what := range []string{"found", "found, immutable", "not found", "not registered", "registered", "unregistered"} {
		if t.Logf("%6d %s", seen[what], what); seen[what] == 0 {
			t.Errorf("%s never happened", what)
		}
	}
}
