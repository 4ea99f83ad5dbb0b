package cacher

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/util/flowcontrol"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/watcher"
)

// tale is the formatted output of a watch.
type tale struct {
	events []string
	marked uint64 // resource version of the last bookmark
	fault  string
}

func (t *tale) event(kind string, rv uint64, what string) {
	if rv <= t.marked {
		t.fault = kind + " " + what + " came after a bookmark that promised it"
	}
	t.events = append(t.events, kind+" "+what)
}

func (t *tale) bookmark(rv uint64, end bool) {
	if rv < t.marked {
		t.fault = "bookmarks go back"
	}
	t.marked = rv
	text := "BOOKMARK @" + api.ResourceVersion(rv).String()
	if end {
		text += endOfInitial
	}
	t.events = append(t.events, text)
}

// endOfInitial marks the bookmark after the initial events.
const endOfInitial = ", the end of the initial events"

func (t *tale) end(how string) { t.events = append(t.events, how) }

// describe formats an object.
func describe(key, rv, labels, phase string) string {
	return key + "@" + rv + " {" + labels + "} " + phase
}

func describePod(p *example.Pod) string {
	return describe(keyOf(p), p.ResourceVersion, labels.Set(p.Labels).String(), string(p.Status.Phase))
}

// pair contains two watches with the same request: one of core/cacher, and one of the
// watch cache of kube-apiserver.
type pair struct {
	request *request
	refused string // error before the stream began
	ours    tale
	same    int              // number of events that were equal
	our     *watcher.Watcher // nil when refused or ended

	deadline time.Time
	cancel   context.CancelFunc
	begun    *begun
	their    watch.Interface
	pause    chan struct{} // the consumer stops reading at one value, and resumes at the next

	mu      sync.Mutex
	theirs  tale
	over    bool // the library sends no more events
	stopped bool // set by the consumer
}

// begun signals that the library has delivered the initial events.
type begun struct {
	once sync.Once
	done chan struct{}
}

func (b *begun) Signal() { b.once.Do(func() { close(b.done) }) }
func (b *begun) Wait()   { <-b.done }

// timed is a context that reports a deadline but is not canceled at the deadline, because
// time is virtual.
type timed struct {
	context.Context
	deadline time.Time
}

func (t timed) Deadline() (time.Time, bool) { return t.deadline, !t.deadline.IsZero() }

// read reads all pending output of core/cacher.
func (p *pair) read(w *world) {
	if p.our == nil {
		return
	}
	p.our.Run()
	for d, ok := p.our.Take(); ok; d, ok = p.our.Take() {
		rv := uint64(d.ResourceVersion)
		if d.Type == api.Bookmark {
			p.ours.bookmark(rv, d.Flags&api.EndOfInitialEvents != 0)
		} else {
			p.ours.event(d.Type.String(), rv, w.describe(d.Content, d.ResourceVersion))
			w.ours.Arena().Release(d.Content)
		}
		p.our.Run()
	}
	if p.our.Ending().Reason == api.WatchEndHistoryLost {
		p.leaveLost(w)
		return
	}
	if p.our.Finished() {
		p.ours.end("CLOSED")
		w.ours.Watches().Stop(p.our)
		p.our = nil
		return
	}
	w.ours.Watches().Resume()
}

// leaveLost stops the library's side of a watch that core/cacher has ended with a 410
// (rule H9). The watch started from a future version that never occurred, and the library
// would continue to wait.
func (p *pair) leaveLost(w *world) {
	w.t.Helper()
	if from, newest := p.our.Watermark(), w.ours.ResourceVersion(); from <= newest {
		w.t.Fatalf("watch %s: its history is lost at %d, and the newest version is %d", p.request, from, newest)
	}
	w.seen["a watch from a lost history"]++
	w.ours.Watches().Stop(p.our)
	p.our = nil
	p.holds(func() bool { p.stopped = true; return true })
	p.cancel()
	p.their.Stop()
	p.waitForEnd(w)
}

// follow reads the library's side until the watch ends.
func (p *pair) follow() {
	for {
		select {
		case <-p.pause:
			<-p.pause
		case e, more := <-p.their.ResultChan():
			p.mu.Lock()
			if more {
				p.observe(e)
			} else if p.over = true; !p.stopped {
				p.theirs.end("CLOSED")
			}
			p.mu.Unlock()
			if !more {
				return
			}
		}
	}
}

func (p *pair) observe(e watch.Event) {
	object := e.Object
	if shared, ok := object.(runtime.CacheableObject); ok {
		object = shared.GetObject()
	}
	switch o := object.(type) {
	case *metav1.Status:
		p.theirs.end("ERROR " + statusRefusal(*o))
		p.stopped = true // an error is always the last event
	case *example.Pod:
		if rv := versionOf(o); e.Type == watch.Bookmark {
			p.theirs.bookmark(rv, o.Annotations[metav1.InitialEventsAnnotationKey] == "true")
		} else {
			p.theirs.event(string(e.Type), rv, describePod(o))
		}
	default:
		p.theirs.end(fmt.Sprintf("%s %T", e.Type, o))
	}
}

// holds evaluates a condition under the lock, because the goroutine of follow changes the
// state.
func (p *pair) holds(what func() bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return what()
}

// compare waits until the library has delivered as many events as core/cacher, and
// compares the events since the last call.
func (p *pair) compare(w *world) {
	w.t.Helper()
	p.read(w)
	observed := waited(func() bool {
		return p.holds(func() bool { return len(p.theirs.events) >= len(p.ours.events) })
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	if !observed || !slices.Equal(p.ours.events[p.same:], p.theirs.events[p.same:]) {
		w.t.Fatalf("watch %s\nafter %d equal events, the library observes\n  %s\nand watchglass observes\n  %s", p.request, p.same,
			strings.Join(p.theirs.events[p.same:], "\n  "), strings.Join(p.ours.events[p.same:], "\n  "))
	}
	p.same = len(p.ours.events)
	for side, fault := range map[string]string{"the library": p.theirs.fault, "we": p.ours.fault} {
		if fault != "" {
			w.t.Fatalf("watch %s: %s: %s", p.request, side, fault)
		}
	}
}

// stop ends the watch on both sides, and compares the remaining events.
func (p *pair) stop(w *world) {
	w.t.Helper()
	p.compare(w)
	p.holds(func() bool { p.stopped = true; return true })
	p.cancel()
	p.their.Stop()
	p.waitForEnd(w)
	p.compare(w)
	if p.our != nil {
		w.ours.Watches().Stop(p.our)
		p.our = nil
	}
}

func (p *pair) waitForEnd(w *world) {
	w.t.Helper()
	w.theirs.waitFor("the end of a watch", func() bool { return p.holds(func() bool { return p.over }) })
}

// expire ends the library's watch at its deadline, as kube-apiserver does.
func (p *pair) expire(w *world) {
	w.t.Helper()
	if !p.deadline.IsZero() && !p.deadline.After(w.now) && !p.holds(func() bool { return p.over }) {
		w.seen["a watch that times out"]++
		p.cancel()
		p.waitForEnd(w)
	}
}

// startWatch starts a watch on both sides. If waits is true, it calls meanwhile once both
// sides have received the request and wait for a version.
func (w *world) startWatch(r *request, waits bool, meanwhile func()) *pair {
	w.t.Helper()
	p := w.ourWatch(r)
	w.theirWatch(p, waits, meanwhile)
	p.follows(w)
	return p
}

// follows starts reading the library's side, waits for the end of the initial events, and
// compares the events so far.
func (p *pair) follows(w *world) {
	w.t.Helper()
	go p.follow()
	w.theirs.waitFor("the end of the initial events", func() bool {
		return p.live() || p.holds(func() bool { return p.over })
	})
	p.compare(w)
}

// live reports whether the library has delivered the initial events.
func (p *pair) live() bool {
	select {
	case <-p.begun.done:
		return true
	default:
		return false
	}
}

func (w *world) ourWatch(r *request) *pair {
	p := &pair{request: r, begun: &begun{done: make(chan struct{})}, pause: make(chan struct{})}
	if r.timeout > 0 {
		p.deadline = w.now.Add(time.Duration(r.timeout) * time.Second)
	}
	options, refused := r.watchOptions()
	if refused != nil {
		p.refused = ourRefusal(refused)
		return p
	}
	refused = w.ours.Watch(options, func(started *watcher.Watcher, status *api.Status) {
		if p.our = started; status != nil {
			p.ours.end("ERROR " + ourRefusal(status))
		}
	})
	if refused != nil {
		p.refused = ourRefusal(refused)
	}
	return p
}

// theirWatch starts the library's side of a watch, but does not read it.
func (w *world) theirWatch(p *pair, waits bool, meanwhile func()) {
	w.t.Helper()
	var refused string
	w.ask(waits, meanwhile, func() {
		ctx, key, opts, err := w.storageOptions(p.request, true)
		ctx, p.cancel = context.WithCancel(flowcontrol.WithInitializationSignal(timed{ctx, p.deadline}, p.begun))
		if err == nil {
			p.their, err = w.theirs.Watch(ctx, key, opts)
		}
		if err != nil {
			refused = theirRefusal(err)
		}
	})
	if !p.request.sameRefusal(refused, p.refused) {
		w.t.Fatalf("watch %s\nthe library refuses with %q, we with %q", p.request, refused, p.refused)
	}
	if p.their == nil {
		none := make(chan watch.Event)
		close(none)
		p.their, p.stopped = watch.NewProxyWatcher(none), true
	}
}

// ask runs a call of the library. If waits is true, ask calls meanwhile as soon as the
// library waits for a version.
func (w *world) ask(waits bool, meanwhile, call func()) {
	w.t.Helper()
	if !waits {
		call()
		return
	}
	before := w.theirs.clock.waits.Load()
	over := make(chan struct{})
	go func() {
		defer close(over)
		call()
	}()
	w.theirs.waitFor("the wait for a version from the future", func() bool { return w.theirs.clock.waits.Load() > before })
	meanwhile()
	w.theirs.waitFor("the end of a wait", func() bool {
		select {
		case <-over:
			return true
		default:
			return false
		}
	})
}
