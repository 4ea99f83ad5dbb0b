package cacher

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/watcher"
)

// tale is what a watch has told: events in words, without periodic bookmarks,
// of which it is checked that nothing older follows.
type tale struct {
	events []string
	marked uint64 // version of the last bookmark
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
	if end {
		t.events = append(t.events, "BOOKMARK @"+api.ResourceVersion(rv).String())
	}
}

func (t *tale) end(how string) { t.events = append(t.events, how) }

// describe puts an object in words.
func describe(key, rv, labels, phase string) string {
	return key + "@" + rv + " {" + labels + "} " + phase
}

func describePod(p *example.Pod) string {
	return describe(keyOf(p), p.ResourceVersion, labels.Set(p.Labels).String(), string(p.Status.Phase))
}

// pair is one watch on both sides.
type pair struct {
	request *request
	refused string // before the stream
	ours    tale
	same    int              // how many events have been compared
	our     *watcher.Watcher // nil when refused

	mu      sync.Mutex
	theirs  tale
	their   watch.Interface // nil when refused
	stopped bool
}

// read takes what there is from our side.
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
			w.ours.Heap().Release(d.Content)
		}
		p.our.Run()
	}
	if p.our.Finished() {
		p.ours.end("CLOSED")
		p.our = nil
	}
	w.ours.Resume()
}

// follow reads the other side until its end.
func (p *pair) follow() {
	for e := range p.their.ResultChan() {
		object := e.Object
		if shared, ok := object.(runtime.CacheableObject); ok {
			object = shared.GetObject()
		}
		p.mu.Lock()
		switch o := object.(type) {
		case *metav1.Status:
			p.theirs.end("ERROR " + statusRefusal(*o))
			p.stopped = true // what follows is the end, as for every error
		case *example.Pod:
			if rv := versionOf(o); e.Type == watch.Bookmark {
				p.theirs.bookmark(rv, o.Annotations[metav1.InitialEventsAnnotationKey] == "true")
			} else {
				p.theirs.event(string(e.Type), rv, describePod(o))
			}
		default:
			p.theirs.end(fmt.Sprintf("%s %T", e.Type, o))
		}
		p.mu.Unlock()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.stopped {
		p.theirs.end("CLOSED")
	}
}

// compare waits until the other side has told as much as ours, and compares what
// is new.
func (p *pair) compare(w *world) {
	w.t.Helper()
	p.read(w)
	enough := func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.theirs.events) >= len(p.ours.events)
	}
	told := waited(enough)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !told || !slices.Equal(p.ours.events[p.same:], p.theirs.events[p.same:]) {
		w.t.Fatalf("watch %s\nafter %d events on which they agree, the library told\n  %s\nand we\n  %s", p.request, p.same,
			strings.Join(p.theirs.events[p.same:], "\n  "), strings.Join(p.ours.events[p.same:], "\n  "))
	}
	p.same = len(p.ours.events)
	for side, fault := range map[string]string{"the library": p.theirs.fault, "we": p.ours.fault} {
		if fault != "" {
			w.t.Fatalf("watch %s: %s: %s", p.request, side, fault)
		}
	}
}

// stop ends the watch on both sides.
func (p *pair) stop(w *world) {
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
	if p.their != nil {
		p.their.Stop()
	}
	if p.our != nil {
		w.ours.StopWatch(p.our)
		p.our = nil
	}
}

// startWatch starts a watch on both sides. Each side may wait for a version;
// meanwhile is called once both have been asked.
func (w *world) startWatch(r *request, waits bool, meanwhile func()) *pair {
	w.t.Helper()
	p := &pair{request: r}
	refused := w.ours.Watch(r.watchOptions(), func(started *watcher.Watcher, status *api.Status) {
		if p.our = started; status != nil {
			p.ours.end("ERROR " + ourRefusal(status))
		}
	})
	if refused != nil {
		p.refused = ourRefusal(refused)
	}
	var theirRefused string
	w.ask(waits, meanwhile, func() {
		ctx, key, opts, err := r.storageOptions(true)
		if err == nil {
			p.their, err = w.theirs.Watch(ctx, key, opts)
		}
		if err != nil {
			theirRefused = theirRefusal(err)
		}
	})
	if !r.sameRefusal(theirRefused, p.refused) {
		w.t.Fatalf("watch %s\nthe library refuses with %q, we with %q", r, theirRefused, p.refused)
	}
	if p.their != nil {
		go p.follow()
	}
	p.compare(w)
	return p
}

// ask calls the library. When it is known to wait, meanwhile is called then.
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
