package cacher

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	worlds = flag.Int("worlds", 30, "number of random sequences of operations")
	steps  = flag.Int("steps", 1000, "operations of each sequence")
	seed   = flag.Int64("seed", 1, "seed of the first sequence; each further sequence has the next number")
)

// step makes one random change or request.
func (w *world) step() {
	w.t.Helper()
	if w.oneIn(200) { // so that windows grow and shrink
		w.pace = []time.Duration{100 * time.Millisecond, 4 * time.Second, 30 * time.Second}[w.random.Intn(3)]
	}
	switch n := w.random.Intn(1000); {
	case n < 450:
		w.change()
	case n < 480:
		w.progress()
	case n < 600:
		w.pass(time.Duration(1+w.random.Intn(int(w.pace.Milliseconds()))) * time.Millisecond)
	case n < 620:
		w.pass(w.nextDeadline())
	case n < 740:
		w.watchSomething()
	case n < 800:
		w.stopOne()
	case n < 830:
		w.slowDown()
	case n < 950:
		w.listSomething()
	case n < 970:
		w.getSomething()
	case n < 994:
		w.waitForSomething()
	case n < 996:
		w.burst()
	case n < 998:
		w.quiet()
	case !w.hurried && w.oneIn(4):
		w.relist()
	}
}

// burst makes so many changes that the windows evict events or grow.
func (w *world) burst() {
	n := 50 + w.random.Intn(200)
	if w.oneIn(8) {
		n *= 4
	}
	for range n {
		w.change()
	}
}

// quiet advances the version and the time without changes.
func (w *world) quiet() {
	w.t.Helper()
	w.progress()
	for range 4 {
		w.watchSomething()
	}
	w.pass(time.Minute + mostTick)
}

// nextDeadline returns the time until the deadline of a watch, or up to three seconds
// less.
func (w *world) nextDeadline() time.Duration {
	for _, p := range w.pairs {
		if left := p.deadline.Sub(w.now); left > 0 {
			return max(left-time.Duration(w.random.Intn(4))*time.Second, time.Millisecond)
		}
	}
	return time.Minute
}

func (w *world) stopOne() {
	w.t.Helper()
	if len(w.pairs) > 0 {
		i := w.random.Intn(len(w.pairs))
		w.pairs[i].stop(w)
		w.pairs = slices.Delete(w.pairs, i, i+1)
	}
}

// selection returns a request with a random namespace and random selectors.
func (w *world) selection() request {
	r := request{bookmarks: w.oneIn(2)}
	if w.namespaced && w.oneIn(2) {
		r.namespace = w.pick("n1", "n1-a", "n10", "n2", "n3")
	}
	if w.oneIn(2) {
		r.labels = w.pick("app=web", "app!=web", "app in (web,db),!canary", "canary", "!app", "tier>1", "tier<2", "tier notin (1,x)",
			"app=web,app=db", " ", "app=", "app in ()", "a in (", ",", "app==db")
	}
	if w.oneIn(3) {
		fields := []string{"status.phase=Running", "status.phase!=Running", "metadata.name=p3", "metadata.name!=p3", "status.phase=",
			"spec.nodeName=a", "spec.nodeName=a,status.phase=Failed", "metadata.name=p1,metadata.name=p2", "=", ",", "a=b=c",
			"metadata.name="}
		if w.namespaced {
			fields = append(fields, "metadata.namespace=n1", "metadata.namespace!=n1", "metadata.name=p1,metadata.namespace=n10")
		}
		r.fields = w.pick(fields...)
	}
	return r
}

// version returns a random version: none, "0", the current version, an older version, or a
// version that exceeds the current one by at most the parameter future. Some of these
// versions never existed.
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
	return fmt.Sprint(w.rv - uint64(w.random.Intn(int(min(w.rv, 250)))))
}

func (w *world) match() metav1.ResourceVersionMatch {
	return metav1.ResourceVersionMatch(w.pick("", "", string(metav1.ResourceVersionMatchNotOlderThan), string(metav1.ResourceVersionMatchExact)))
}

func (w *world) tristate() *bool {
	v := w.oneIn(2)
	if w.oneIn(4) {
		return nil
	}
	return &v
}

func (w *world) watchRequest(future int) *request {
	r := w.selection()
	switch w.random.Intn(6) {
	case 0: // any options, which mostly contradict each other
		r.match = w.match()
		r.initial = w.tristate()
		r.rv = w.version(0)
	case 1, 2:
		r.match, r.initial = metav1.ResourceVersionMatchNotOlderThan, w.tristate()
		r.rv = w.version(0)
	default:
		r.rv = w.version(future)
	}
	if w.oneIn(3) {
		r.timeout = uint32([]int{1, 2, 3, 30, 61, 63, 100}[w.random.Intn(7)])
	}
	return &r
}

func (w *world) watchSomething() {
	w.t.Helper()
	w.register(w.startWatch(w.watchRequest(4), false, nil))
}

// register counts the outcome of a new watch, and adds a started watch to the pairs.
func (w *world) register(p *pair) {
	w.t.Helper()
	if p.our == nil {
		w.seen["a watch refused"]++
		if len(p.ours.events) > 0 && strings.HasPrefix(p.ours.events[0], "ERROR 410") {
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

func (w *world) listRequest() *request {
	r := w.selection()
	if w.oneIn(2) && !r.pins() {
		r.limit = uint32(1 + w.random.Intn(6))
	}
	r.rv, r.match = w.version(0), w.match()
	return &r
}

func (w *world) listSomething() {
	w.t.Helper()
	r := w.listRequest()
	if w.oneIn(12) {
		rv := int64(w.random.Intn(int(w.rv)+1)) - 1
		r.next = makeToken(rv, w.pick("n1/p3\x00", "/p2\x00", "p1", "", "../n1", "n1//p", "n2/./p", "n1/p3"))
		if r.rv == "0" {
			r.limit = 0 // the library would ignore the limit
		}
		w.list(r, false, nil)
		return
	}
	if r.match == metav1.ResourceVersionMatchExact {
		w.seen["an exact list"]++
	}
	w.pages(*r)
}

// waitForSomething requests a future version. Then changes reach this version, or the
// request times out.
func (w *world) waitForSomething() {
	w.t.Helper()
	r := w.selection()
	r.labels, r.fields = w.pick("", "app=web"), ""
	r.rv = fmt.Sprint(w.rv + 1 + uint64(w.random.Intn(6)))
	meanwhile := func() {
		w.seen["a wait that ends"]++
		if w.oneIn(3) { // wait as long as possible; a slow watch would use some of the time
			w.readSlow()
			w.pass(3*time.Second - time.Millisecond)
		}
		for target, _ := strconv.ParseUint(r.rv, 10, 64); w.rv < target; {
			if w.oneIn(4) {
				w.progress()
			}
			if w.rv < target {
				w.change()
			}
		}
	}
	if w.oneIn(3) {
		meanwhile = func() {
			w.seen["a wait in vain"]++
			w.pass(3 * time.Second)
		}
	}
	switch w.random.Intn(5) {
	case 0, 1:
		yes := true
		r.match, r.initial = metav1.ResourceVersionMatchNotOlderThan, &yes
		w.register(w.startWatch(&r, true, meanwhile))
	case 2:
		w.get(w.key(), r.rv, true, meanwhile)
	default:
		r.match = w.match()
		w.list(&r, true, meanwhile)
	}
}

// beginAsked sends requests before the first list. The library rejects these requests, and
// core/cacher waits. The results of core/cacher must equal the results of the library
// after the list.
func (w *world) beginAsked() {
	w.t.Helper()
	var watches []*pair
	for range w.random.Intn(4) {
		p := w.ourWatch(w.watchRequest(0))
		if p.our != nil || len(p.ours.events) > 0 {
			w.t.Fatalf("watch %s: delivered %q before the first list", p.request, p.ours.events)
		}
		watches = append(watches, p)
		w.seen["a watch before the first list"]++
	}
	type asked struct {
		*request
		ours *answer
	}
	var lists []asked
	for range w.random.Intn(4) {
		a := asked{w.listRequest(), new(answer)}
		w.ourList(a.request, func(ours answer) { *a.ours = ours })
		lists = append(lists, a)
	}
	w.begin()
	for _, p := range watches {
		w.theirWatch(p, false, nil)
		p.follows(w)
		w.register(p)
	}
	for _, a := range lists {
		theirs := w.theirList(a.request)
		w.sameAnswer(a.request, a.ours, &theirs)
		w.seen["a list before the first list"]++
	}
}

// common lists situations that must each occur at least once in a run of ten or more worlds.
var common = []string{
	"a watch started", "a watch refused", "a watch too old", "a watch from the past", "a wait that ends", "a wait in vain",
	"a watch that times out", "a slow watch that catches up", "a slow watch that is ended", "a slow watch that is drained",
	"a list served", "a list refused", "a further page", "a page of the latest state", "an exact list", "a relist",
	"an object", "no such object", "a watch before the first list", "a list before the first list",
}

func TestRandomRequestsHaveTheSameResults(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	t.Run("seed", func(t *testing.T) {
		for i := range *worlds {
			t.Run(strconv.FormatInt(*seed+int64(i), 10), func(t *testing.T) {
				t.Parallel()
				w := newSeededWorld(t, *seed+int64(i))
				w.beginAsked()
				for range *steps {
					w.step()
				}
				w.end()
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
	for _, what := range common {
		if *worlds >= 10 && seen[what] == 0 {
			t.Errorf("%s never happened", what)
		}
	}
}
