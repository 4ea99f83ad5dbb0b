package cacher

import (
	"maps"
	"math/rand"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// chance makes choices, with a random number generator or from the input of a fuzzer.
type chance interface {
	Intn(n int) int
}

// world passes the same input to both caches and compares their output.
type world struct {
	t          testing.TB
	random     chance
	namespaced bool
	hurried    bool // no relists, because each takes the library a second
	now        time.Time
	ticked     time.Time     // time of the last bookmarks, on both sides
	pace       time.Duration // maximum length of a period without changes
	ours       *cacher.Cacher
	theirs     *theirs
	seen       map[string]int // counts the situations that occurred, to prove that the tests cover them

	mu   sync.Mutex // guards rv and pods, which the library may list at any time
	rv   uint64
	pods map[string]*example.Pod

	everything *pair // a watch that matches every change
	pairs      []*pair
	slow       *slow
}

var podSchema = api.Schema{
	Resource: api.Resource{Version: "v1", Name: "pods"}, Kind: "Pod", Namespaced: true,
	Fields: []string{"metadata.name", "spec.nodeName", "status.phase", "metadata.namespace"},
}

// newWorld creates some objects of a namespaced or cluster-scoped resource. Neither side
// has listed them.
func newWorld(t testing.TB, random chance) *world {
	w := &world{
		t: t, random: random, namespaced: random.Intn(4) > 0, seen: map[string]int{}, pods: map[string]*example.Pod{},
		now: time.UnixMilli(1_700_000_000_000), pace: time.Second,
	}
	for range w.random.Intn(30) {
		w.makePod(w.key())
	}
	w.rv += 1 + uint64(w.random.Intn(3))
	schema := podSchema
	if !w.namespaced {
		schema.Namespaced, schema.Fields = false, schema.Fields[:3]
	}
	w.ticked = w.now
	w.ours = cacher.New(cacher.Config{Schema: schema, Seed: uint64(w.random.Intn(256))})
	w.ours.Tick(w.now.UnixMilli())
	w.theirs = newTheirs(t, w.now, func() ([]example.Pod, uint64) {
		w.mu.Lock()
		defer w.mu.Unlock()
		var list []example.Pod
		for _, key := range slices.Sorted(maps.Keys(w.pods)) {
			list = append(list, *w.pods[key].DeepCopy())
		}
		return list, w.rv
	})
	return w
}

func newSeededWorld(t testing.TB, seed int64) *world {
	return newWorld(t, rand.New(rand.NewSource(seed)))
}

// begin performs the first list in the library and in core/cacher.
func (w *world) begin() {
	w.t.Helper()
	w.theirs.open()
	w.listOurs()
	w.watchEverything()
}

// listOurs passes the objects to core/cacher as a list. The library lists them itself.
func (w *world) listOurs() {
	w.ours.Listing().Begin()
	for _, key := range slices.Sorted(maps.Keys(w.pods)) {
		w.ours.Listing().Object(w.put(w.pods[key]))
	}
	w.ours.Listing().End(api.ResourceVersion(w.rv), w.now.UnixMilli())
}

func (w *world) watchEverything() {
	w.everything = w.startWatch(&request{rv: strconv.FormatUint(w.rv, 10), bookmarks: true}, false, nil)
}

// put converts a pod to an update for core/cacher.
func (w *world) put(p *example.Pod) *cacher.Update {
	fields := []string{p.Name, p.Spec.NodeName, string(p.Status.Phase)}
	if w.namespaced {
		fields = append(fields, p.Namespace)
	}
	o := api.Object{
		Key: api.Key(keyOf(p)), UID: string(p.UID), ResourceVersion: api.ResourceVersion(versionOf(p)), Fields: fields,
	}
	for _, key := range slices.Sorted(maps.Keys(p.Labels)) {
		o.Labels = append(o.Labels, api.Label{Key: key, Value: p.Labels[key]})
	}
	return &cacher.Update{ResourceVersion: o.ResourceVersion, Labels: o.Labels, Envelope: wire.AppendEnvelope(nil, &o)}
}

func versionOf(p *example.Pod) uint64 {
	rv, err := strconv.ParseUint(p.ResourceVersion, 10, 64)
	if err != nil {
		panic(err)
	}
	return rv
}

func (w *world) describe(ref store.Ref, rv api.ResourceVersion) string {
	arena := w.ours.Arena()
	return describe(string(arena.Key(ref)), rv.String(), arena.LabelsOf(ref).String(), arena.Envelope(ref).Field(2))
}

func (w *world) pick(words ...string) string { return words[w.random.Intn(len(words))] }

func (w *world) oneIn(n int) bool { return w.random.Intn(n) == 0 }

var namespaces = []string{"n1", "n1-a", "n10", "n2"}

func (w *world) key() string {
	if !w.namespaced {
		return "p" + strconv.Itoa(w.random.Intn(25))
	}
	return w.pick(namespaces...) + "/p" + strconv.Itoa(w.random.Intn(7))
}

// makePod stores and returns the next version of a pod.
func (w *world) makePod(key string) *example.Pod {
	w.rv += 1 + uint64(w.random.Intn(2))
	p := &example.Pod{}
	p.Name = api.Key(key).Name()
	if w.namespaced {
		p.Namespace = api.Key(key).Namespace()
	}
	p.ResourceVersion = strconv.FormatUint(w.rv, 10)
	p.Labels = map[string]string{}
	for _, label := range [][]string{{"app", "", "web", "db"}, {"canary", "", "yes"}, {"tier", "", "1", "2", "x"}} {
		if value := w.pick(label[1:]...); value != "" {
			p.Labels[label[0]] = value
		}
	}
	p.Status.Phase = example.PodPhase(w.pick("", "Running", "Failed"))
	p.Spec.NodeName = w.pick("", "a", "b")
	w.pods[key] = p
	return p
}

// change makes a change on both sides, and waits until it is delivered.
func (w *world) change() {
	w.t.Helper()
	key := w.key()
	w.mu.Lock()
	p, known := w.pods[key]
	deleted := known && w.oneIn(4)
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
		w.ours.Apply(w.put(p), w.now.UnixMilli())
		kind := watch.Added // both types have the same effect
		if w.oneIn(2) {
			kind = watch.Modified
		}
		w.theirs.send(watch.Event{Type: kind, Object: p.DeepCopy()})
	}
	if w.slow != nil {
		w.slow.settle(w)
	}
	w.compareAll()
}

func (w *world) progress() {
	w.mu.Lock()
	w.rv += uint64(w.random.Intn(3))
	w.mu.Unlock()
	w.ours.Progress(api.ResourceVersion(w.rv), w.now.UnixMilli())
	w.theirs.bookmark(w.rv)
}

// pass advances the time by d. If the jitter of a side would decide whether bookmarks are
// due, pass advances the time a little more.
func (w *world) pass(d time.Duration) {
	w.t.Helper()
	if s := w.slow; s != nil && !s.initial && !s.ending && w.now.Add(d).Sub(w.ticked) >= leastTick {
		w.readSlow()
	}
	w.now = w.now.Add(d)
	if since := w.now.Sub(w.ticked); since >= leastTick && since < mostTick {
		w.now = w.ticked.Add(mostTick)
	}
	tick := w.now.Sub(w.ticked) >= mostTick
	for _, p := range w.pairs {
		p.expire(w)
	}
	w.ours.Tick(w.now.UnixMilli())
	w.theirs.passes(w.now, tick, w.rv)
	if tick {
		w.ticked = w.now
	}
	w.compareAll()
}

// compareAll compares all watches except the slow one. It runs after every change, so none
// of these watches falls behind.
func (w *world) compareAll() {
	w.t.Helper()
	w.everything.compare(w)
	for _, p := range w.pairs {
		p.compare(w)
	}
}

// relist makes both sides list again. A relist ends the library's watches, so relist first
// stops all watches on both sides.
func (w *world) relist() {
	w.t.Helper()
	w.seen["a relist"]++
	w.readSlow()
	for _, p := range append(w.pairs, w.everything) {
		p.stop(w)
	}
	w.pairs = nil
	w.mu.Lock()
	for range w.random.Intn(10) {
		if key := w.key(); w.oneIn(3) {
			w.rv++
			delete(w.pods, key)
		} else {
			w.makePod(key)
		}
	}
	w.mu.Unlock()
	w.listOurs()
	w.theirs.relist()
	w.theirs.bookmark(w.rv)
	w.watchEverything()
}

// end stops every watch and compares its final events.
func (w *world) end() {
	w.t.Helper()
	w.readSlow()
	w.pass(time.Minute + mostTick)
	for _, p := range append(w.pairs, w.everything) {
		p.stop(w)
	}
}
