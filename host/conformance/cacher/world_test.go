package cacher

import (
	"flag"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

var (
	worlds = flag.Int("worlds", 30, "how many random lives to lead")
	steps  = flag.Int("steps", 1000, "how many steps each has")
	seed   = flag.Int64("seed", 1, "what the first life is made from; each further one takes the next number")
)

// world feeds both sides the same.
type world struct {
	t      *testing.T
	random *rand.Rand
	now    time.Time
	pace   time.Duration // how long nothing happens at times
	ours   *cacher.Cacher
	theirs *theirs
	seen   map[string]int // what happened, so that nothing is believed to be tested that never was

	mu   sync.Mutex // for the library, which lists when it likes
	rv   uint64
	pods map[string]*example.Pod

	everything *pair // sees every change
	pairs      []*pair
}

var podSchema = api.Schema{
	Resource: api.Resource{Version: "v1", Name: "pods"}, Kind: "Pod", Namespaced: true,
	Fields: []string{"metadata.name", "metadata.namespace", "spec.nodeName", "status.phase"},
}

func newWorld(t *testing.T, seed int64) *world {
	w := &world{
		t: t, random: rand.New(rand.NewSource(seed)), seen: map[string]int{}, pods: map[string]*example.Pod{},
		now: time.UnixMilli(1_700_000_000_000), pace: time.Second,
	}
	for range w.random.Intn(30) {
		w.makePod(w.key())
	}
	w.rv += 1 + uint64(w.random.Intn(3))
	w.ours = cacher.New(cacher.Config{Schema: podSchema, Seed: uint64(seed)})
	w.ours.Tick(w.now.UnixMilli())
	w.theirs = newTheirs(t, w.now, &w.mu, func() ([]example.Pod, uint64) {
		var list []example.Pod
		for _, key := range slices.Sorted(maps.Keys(w.pods)) {
			list = append(list, *w.pods[key].DeepCopy())
		}
		return list, w.rv
	})
	w.listOurs()
	w.watchEverything()
	return w
}

// listOurs gives our side the list that the library takes by itself.
func (w *world) listOurs() {
	w.ours.BeginList()
	for _, key := range slices.Sorted(maps.Keys(w.pods)) {
		w.ours.ListObject(put(w.pods[key]))
	}
	w.ours.EndList(api.ResourceVersion(w.rv), w.now.UnixMilli())
}

func (w *world) watchEverything() {
	w.everything = w.startWatch(&request{rv: strconv.FormatUint(w.rv, 10)}, false, nil)
}

// put is an object as our side takes it.
func put(p *example.Pod) *cacher.Put {
	o := api.Object{
		Key: api.Key(keyOf(p)), UID: string(p.UID), ResourceVersion: api.ResourceVersion(versionOf(p)),
		Fields: []string{p.Name, p.Namespace, p.Spec.NodeName, string(p.Status.Phase)},
	}
	for _, key := range slices.Sorted(maps.Keys(p.Labels)) {
		o.Labels = append(o.Labels, api.Label{Key: key, Value: p.Labels[key]})
	}
	return &cacher.Put{ResourceVersion: o.ResourceVersion, Labels: o.Labels, Envelope: wire.AppendEnvelope(nil, &o)}
}

func versionOf(p *example.Pod) uint64 {
	rv, err := strconv.ParseUint(p.ResourceVersion, 10, 64)
	if err != nil {
		panic(err)
	}
	return rv
}

func (w *world) describe(ref store.Ref, rv api.ResourceVersion) string {
	heap := w.ours.Heap()
	return describe(string(heap.Key(ref)), rv.String(), heap.LabelsOf(ref).String(), heap.Envelope(ref).Field(3))
}

func (w *world) pick(words ...string) string { return words[w.random.Intn(len(words))] }

var namespaces = []string{"n1", "n1-a", "n10", "n2"}

func (w *world) key() string {
	return w.pick(namespaces...) + "/p" + strconv.Itoa(w.random.Intn(7))
}

// makePod makes the next version of a pod.
func (w *world) makePod(key string) *example.Pod {
	w.rv += 1 + uint64(w.random.Intn(2))
	p := &example.Pod{}
	p.Namespace, p.Name = api.Key(key).Namespace(), api.Key(key).Name()
	p.ResourceVersion = strconv.FormatUint(w.rv, 10)
	p.Labels = map[string]string{}
	for label, values := range map[string][]string{"app": {"", "web", "db"}, "canary": {"", "yes"}, "tier": {"", "1", "2", "x"}} {
		if value := w.pick(values...); value != "" {
			p.Labels[label] = value
		}
	}
	p.Status.Phase = example.PodPhase(w.pick("", "Running", "Failed"))
	p.Spec.NodeName = w.pick("", "a", "b")
	w.pods[key] = p
	return p
}

// change makes a change on both sides and waits until it has been told.
func (w *world) change() {
	w.t.Helper()
	key := w.key()
	w.mu.Lock()
	p, known := w.pods[key]
	deleted := known && w.random.Intn(4) == 0
	if deleted {
		w.rv += 1 + uint64(w.random.Intn(2))
		p = p.DeepCopy()
		p.ResourceVersion = strconv.FormatUint(w.rv, 10)
		delete(w.pods, key)
	} else {
		p = w.makePod(key)
	}
	w.mu.Unlock()
	if deleted {
		w.ours.Delete(api.Key(key), api.ResourceVersion(w.rv), w.now.UnixMilli())
		w.theirs.send(watch.Event{Type: watch.Deleted, Object: p.DeepCopy()})
	} else {
		w.ours.Apply(put(p), w.now.UnixMilli())
		kind := watch.Added // both mean the same
		if w.random.Intn(2) == 0 {
			kind = watch.Modified
		}
		w.theirs.send(watch.Event{Type: kind, Object: p.DeepCopy()})
	}
	w.compareAll()
}

func (w *world) progress() {
	w.mu.Lock()
	w.rv += uint64(w.random.Intn(3))
	w.mu.Unlock()
	w.ours.Progress(api.ResourceVersion(w.rv), w.now.UnixMilli())
	w.theirs.bookmark(w.rv)
	w.theirs.reaches(w.rv)
}

func (w *world) pass(d time.Duration) {
	w.now = w.now.Add(d)
	w.ours.Tick(w.now.UnixMilli())
	w.theirs.clock.SetTime(w.now)
}

// compareAll compares every watch. It comes after every change, so that no
// watch is slow.
func (w *world) compareAll() {
	w.t.Helper()
	w.everything.compare(w)
	for _, p := range w.pairs {
		p.compare(w)
	}
}

// relist ends the library's watches, so ours end as well.
func (w *world) relist() {
	w.seen["a relist"]++
	w.compareAll()
	for _, p := range append(w.pairs, w.everything) {
		p.stop(w)
	}
	w.pairs = nil
	w.mu.Lock()
	for range w.random.Intn(10) {
		if key := w.key(); w.random.Intn(3) == 0 {
			w.rv++
			delete(w.pods, key)
		} else {
			w.makePod(key)
		}
	}
	w.mu.Unlock()
	w.listOurs()
	w.theirs.relist()
	w.watchEverything()
}

func TestWorlds(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	t.Run("seed", func(t *testing.T) {
		for i := range *worlds {
			t.Run(strconv.FormatInt(*seed+int64(i), 10), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, *seed+int64(i))
				for range *steps {
					w.step()
				}
				w.compareAll()
				time.Sleep(5 * time.Millisecond) // for what the library may tell too much
				w.compareAll()
				mu.Lock()
				defer mu.Unlock()
				for what, n := range w.seen {
					seen[what] += n
				}
			})
		}
	})
	for _, what := range slices.Sorted(maps.Keys(seen)) {
		t.Logf("%6d %s", seen[what], what)
	}
	for _, what := range []string{
		"a watch started", "a watch refused", "a watch too old", "a watch from the past", "a wait that ends", "a wait in vain",
		"a list served", "a list refused", "a further page", "a page of the latest state", "an exact list", "a relist",
	} {
		if *worlds >= 10 && seen[what] == 0 {
			t.Errorf("%s never happened", what)
		}
	}
}

// A deletion of what was never there is told to nobody (W29). Time stands still,
// for such a deletion takes a place in the library's window and none in ours, and
// when places run out depends on it.
func TestDeletionOfTheUnknown(t *testing.T) {
	w := newWorld(t, *seed)
	for range 50 {
		w.change()
		w.mu.Lock()
		p := w.makePod("n1/unknown")
		delete(w.pods, "n1/unknown")
		w.mu.Unlock()
		w.ours.Delete("n1/unknown", api.ResourceVersion(w.rv), w.now.UnixMilli())
		w.theirs.send(watch.Event{Type: watch.Deleted, Object: p})
		w.theirs.reaches(w.rv)
		w.watchSomething()
		w.listSomething()
	}
	w.compareAll()
}

func (w *world) step() {
	w.t.Helper()
	if w.random.Intn(200) == 0 { // so that windows grow and shrink
		w.pace = []time.Duration{100 * time.Millisecond, 4 * time.Second, 30 * time.Second}[w.random.Intn(3)]
	}
	switch n := w.random.Intn(1000); {
	case n < 500:
		w.change()
	case n < 530:
		w.progress()
	case n < 650:
		w.pass(time.Duration(w.random.Int63n(int64(w.pace))))
	case n < 760:
		w.watchSomething()
	case n < 800:
		w.stopOne()
	case n < 950:
		w.listSomething()
	case n < 998:
		w.waitForSomething()
	case w.random.Intn(3) == 0:
		w.relist()
	}
}

func (w *world) stopOne() {
	if len(w.pairs) > 0 {
		i := w.random.Intn(len(w.pairs))
		w.pairs[i].compare(w)
		w.pairs[i].stop(w)
		w.pairs = slices.Delete(w.pairs, i, i+1)
	}
}

// selection is a request with a random namespace and random selectors.
func (w *world) selection() request {
	r := request{bookmarks: w.random.Intn(2) == 0}
	if w.random.Intn(2) == 0 {
		r.namespace = w.pick("n1", "n1-a", "n10", "n2", "n3")
	}
	if w.random.Intn(2) == 0 {
		r.labels = w.pick("app=web", "app!=web", "app in (web,db),!canary", "canary", "!app", "tier>1", "tier<2", "tier notin (1,x)",
			"app=web,app=db", " ", "app=", "app in ()", "a in (", ",", "app==db")
	}
	if w.random.Intn(3) == 0 {
		r.fields = w.pick("status.phase=Running", "status.phase!=Running", "metadata.name=p3", "metadata.name!=p3", "status.phase=",
			"metadata.namespace=n1", "metadata.namespace!=n1", "metadata.name=p1,metadata.namespace=n10", "spec.nodeName=a",
			"spec.nodeName=a,status.phase=Failed", "metadata.name=p1,metadata.name=p2", "=", ",", "a=b=c", "metadata.name=")
	}
	return r
}

// version is one that a reader may know: of the past, the present, or what was
// never given out.
func (w *world) version(future int) string {
	switch w.random.Intn(8) {
	case 0:
		return "0"
	case 1:
		return ""
	case 2:
		return fmt.Sprint(w.rv)
	case 3:
		return fmt.Sprint(w.rv + uint64(w.random.Intn(future+1)))
	}
	return fmt.Sprint(w.rv - uint64(w.random.Int63n(min(int64(w.rv), 250))))
}

func (w *world) match() metav1.ResourceVersionMatch {
	return metav1.ResourceVersionMatch(w.pick("", "", string(metav1.ResourceVersionMatchNotOlderThan), string(metav1.ResourceVersionMatchExact)))
}

func (w *world) watchSomething() {
	r := w.selection()
	switch w.random.Intn(6) {
	case 0: // whatever the options, which are mostly contradictions
		r.match = w.match()
		r.initial = w.tristate()
		r.rv = w.version(0)
	case 1, 2:
		r.match, r.initial = metav1.ResourceVersionMatchNotOlderThan, w.tristate()
		r.rv = w.version(0)
	default:
		r.rv = w.version(4)
	}
	w.keep(w.startWatch(&r, false, nil))
}

func (w *world) tristate() *bool {
	v := w.random.Intn(2) == 0
	if w.random.Intn(4) == 0 {
		return nil
	}
	return &v
}

// keep counts what became of a new watch.
func (w *world) keep(p *pair) {
	if p.our == nil {
		w.seen["a watch refused"]++
		if len(p.ours.events) > 0 && p.ours.events[0][:9] == "ERROR 410" {
			w.seen["a watch too old"]++
		}
		p.stop(w)
		return
	}
	w.seen["a watch started"]++
	if r := p.request; r.rv != "" && r.rv != "0" && r.initial == nil {
		w.seen["a watch from the past"]++
	}
	w.pairs = append(w.pairs, p)
}

func (w *world) listSomething() {
	r := w.selection()
	if w.random.Intn(2) == 0 && !r.pins() {
		r.limit = uint32(1 + w.random.Intn(6))
	}
	r.rv, r.match = w.version(0), w.match()
	if w.random.Intn(12) == 0 {
		r.next = makeToken(w.random.Int63n(int64(w.rv)+1)-1, w.pick("n1/p3\x00", "/p2\x00", "p1", "", "../n1", "n1//p", "n2/./p", "n1/p3"))
		if r.rv == "0" {
			r.limit = 0 // the library would ignore it
		}
		w.list(&r, false, nil)
		return
	}
	if r.match == metav1.ResourceVersionMatchExact {
		w.seen["an exact list"]++
	}
	w.pages(r)
}

// waitForSomething asks for a version from the future, which then comes, or
// not.
func (w *world) waitForSomething() {
	r := w.selection()
	r.labels, r.fields = w.pick("", "app=web"), ""
	r.rv = fmt.Sprint(w.rv + 1 + uint64(w.random.Intn(6)))
	meanwhile := func() {
		w.seen["a wait that ends"]++
		for target, _ := strconv.ParseUint(r.rv, 10, 64); w.rv < target; {
			if w.random.Intn(4) == 0 {
				w.progress()
			} else {
				w.change()
			}
		}
	}
	if w.random.Intn(3) == 0 {
		meanwhile = func() {
			w.seen["a wait in vain"]++
			w.pass(3 * time.Second)
		}
	}
	if w.random.Intn(2) == 0 {
		yes := true
		r.match, r.initial = metav1.ResourceVersionMatchNotOlderThan, &yes
		w.keep(w.startWatch(&r, true, meanwhile))
		return
	}
	r.match = w.match()
	w.list(&r, true, meanwhile)
}
