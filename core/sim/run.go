package sim

import (
	"fmt"
	"maps"
	"slices"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/sim/check"
	"github.com/watchglass/watchglass/core/wire"
)

// Result contains the program of a run, the violation that ended it, and data for
// comparing runs.
type Result struct {
	Seed  uint64
	Ops   []Op
	Done  int // executed ops
	Seen  Coverage
	Err   error
	Final string // the final data of the readers
	// Trace is a hash of all output of engines and servers, in order.
	Trace uint64
	// Watches contains the validated watches.
	Watches []Judged
}

// Judged is a watch with the log that it was validated against.
type Judged struct {
	Source string
	Kind   int // kind of the resource
	Log    *check.Log
	*check.Watch
}

// trace adds output to the hash of the run (FNV-1a).
func (w *world) trace(out []byte) {
	for _, b := range out {
		w.result.Trace = (w.result.Trace ^ uint64(b)) * 1099511628211
	}
}

// Run executes ops in the world of a seed, ends the faults, and checks the
// result.
func Run(seed uint64, ops []Op, setup Setup) *Result {
	result := &Result{Seed: seed, Ops: ops}
	w := newWorld(seed, setup, result)
	result.Err = w.guard(func() {
		for _, op := range ops {
			w.do(op)
			result.Done++
		}
		w.heal(lite.NewRand(seed))
		w.judge()
		result.Final = w.final()
		w.close()
	})
	return result
}

// heal ends all faults and waits until the system is idle.
func (w *world) heal(r *lite.Rand) {
	w.source.heal(r, w.now)
	for _, c := range w.connectors {
		c.lag, c.cutOff, c.downUntil = 0, 0, 0
	}
	for _, d := range w.drivers() {
		d.busyUntil = 0
		d.link.allowance.pause = 0
		d.link.latency, d.link.stalled, d.link.room = 0, 0, 4
		d.link.bodies.changed = 0
	}
	for _, k := range w.kubes {
		k.trouble = 0
	}
	w.pass(10_000)
	for _, rd := range w.readers {
		for _, v := range rd.views {
			v.paused = false
		}
		rd.grantViews()
		for _, watch := range slices.Clone(rd.watches) {
			if watch.Limited && rd.watch(watch.id) == watch {
				rd.grant(watch, 1<<20)
			}
		}
	}
	w.pass(150_000)
	// Make a last change, which every reader must receive.
	w.opTransaction(r)
	w.pass(30_000)
	for _, rd := range w.readers {
		for _, c := range rd.collections {
			if c.rows && !c.meta {
				rd.listBodies(c)
			}
		}
	}
	for _, rd := range w.readers {
		for _, watch := range rd.watches {
			if watch.Limited && watch.granted < 1000 {
				rd.grant(watch, 1<<20)
			}
		}
	}
	w.pass(30_000)
	for _, rd := range w.readers {
		if slices.ContainsFunc(rd.collections, func(c *collection) bool { return dropped(&c.reported) }) {
			w.pass(90_000) // a read above found a corrupt list, and the delay before the next list is at most a minute
			break
		}
	}
}

// judge compares all data with the source, and validates the deliveries of all
// watches.
func (w *world) judge() {
	w.quiet = true
	for _, o := range w.objects {
		o.judge()
	}
	for _, rd := range w.readers {
		if rd.unjudged {
			w.fail(ErrConverge, "reader %d still evaluates objects for views", rd.id)
		}
		for _, c := range rd.collections {
			rd.judgeCollection(c)
		}
		for _, watch := range rd.watches {
			rd.judgeWatch(watch)
		}
		for _, h := range rd.handles {
			rd.judgeHandle(h)
		}
		if n := len(rd.requests); n > 0 {
			w.fail(ErrConverge, "reader %d: %d requests were never answered: %+v", rd.id, n, *rd.requests[0])
		}
		rd.judge()
	}
}

// refused reports whether this engine or one upstream has closed the collection
// because of its memory limit.
func (c *collection) refused() bool { return givenUp(&c.reported) }

func (r *reader) judgeCollection(c *collection) {
	w := r.world
	if c.refused() {
		return
	}
	if c.reported.State != api.StateLive || c.epoch.source != w.source || c.reported.ResourceVersion != w.source.rv {
		w.fail(ErrConverge, "reader %d, collection %d is %v at version %d, and the source is at %d: %v",
			r.id, c.id, c.reported.State, c.reported.ResourceVersion, w.source.rv, c.reported.Status)
	}
	if !c.complete() && c.reported.Status == nil {
		w.fail(ErrConverge, "reader %d, collection %d has %d bodies for %d objects", r.id, c.id, c.reported.Bodies, c.reported.Objects)
	}
	want := len(w.source.logs[c.kind].List(w.source.rv, c.filter.Match))
	if int(c.reported.Objects) != want {
		w.fail(ErrConverge, "reader %d, collection %d has %d objects, and should have %d", r.id, c.id, c.reported.Objects, want)
	}
	for _, v := range r.views {
		if v.collection == c {
			r.checkView(v)
		}
	}
}

// judgeWatch checks that applying all events of a watch gives the current state.
func (r *reader) judgeWatch(watch *watch) {
	w := r.world
	if !watch.started || watch.collection.refused() || watch.epoch.source != w.source {
		return
	}
	if watch.Limited && watch.granted < 1000 {
		return
	}
	watch.Complete = w.source.rv
	if !watch.whole {
		return
	}
	log := w.source.logs[watch.kind]
	want := log.List(w.source.rv, func(key api.Key, o *check.Object) bool {
		return watch.Scope.Match(key, o) && watch.Filter.Match(key, o)
	})
	held := maps.Clone(watch.held)
	ok := true
	for _, item := range want {
		ok = ok && (held[item.Key] == item.Object.ResourceVersion || watch.inherited && log.Tainted(item.Key))
		delete(held, item.Key)
	}
	for key := range held {
		ok = ok && watch.inherited && log.Tainted(key)
	}
	if !ok {
		w.fail(ErrConverge, "%s: a client that applied all events has %v, and the source has %v", watch.Name, watch.held, want)
	}
}

func (r *reader) judgeHandle(h *handle) {
	w := r.world
	if h.onDemand || w.setup.Budget > 1 || w.scarcity() {
		return
	}
	o := w.source.logs[h.kind].At(h.key, w.source.rv)
	if !h.known || h.state != api.StateLive || h.exists != (o != nil) || o != nil && h.rv != o.ResourceVersion {
		w.fail(ErrConverge, "reader %d, object %s: %v, known %v, exists %v at %d as of %d; it is %v",
			r.id, h.key, h.state, h.known, h.exists, h.rv, h.at, o)
	}
}

// final returns the data of the readers, for comparing runs.
func (w *world) final() string {
	s := fmt.Sprintf("source %s at %d\n", w.source.name, w.source.rv)
	for _, rd := range w.readers {
		for _, c := range rd.collections {
			s += fmt.Sprintf("reader %d collection %v %d %v\n", rd.id, c.filter, c.reported.Objects, c.reported.State)
		}
		for _, v := range rd.views {
			open := v.open
			open.View, open.Collection = 0, 0
			if open.Anchor != "" {
				open.Offset = 0
			}
			s += fmt.Sprintf("reader %d view %v: %d\n", rd.id, open, v.total)
			if open.Anchor != "" {
				continue // the window depends on the times of patches
			}
			for _, row := range v.rows {
				s += fmt.Sprintln(" ", row)
			}
		}
		for _, watch := range rd.watches {
			if watch.Start == check.FromState {
				s += fmt.Sprintf("reader %d watch %v\n", rd.id, watch.Filter)
				for _, key := range slices.Sorted(maps.Keys(watch.held)) {
					s += fmt.Sprintln(" ", key, watch.held[key])
				}
			}
		}
	}
	return s
}

// checkSubscriptions checks that each connector serves no more subscriptions than its
// readers have open.
func (w *world) checkSubscriptions() {
	open := map[server]int64{}
	for _, o := range w.objects {
		o.inspect()
		open[o.link.server] += o.inspected["subscriptions"]
	}
	for _, rd := range w.readers {
		rd.inspect()
		open[rd.link.server] += rd.inspected["subscriptions"]
	}
	for _, c := range w.connectors {
		if int64(c.open) > open[c] {
			w.fail(ErrLeak, "connector %d serves %d subscriptions, and its readers have %d", c.id, c.open, open[c])
		}
	}
}

// close shuts everything down and checks for leaks.
func (w *world) close() {
	for _, rd := range w.readers {
		rd.withdraw()
		for _, watch := range slices.Clone(rd.watches) {
			rd.forgetWatch(watch)
			rd.step(&wire.CloseWatch{Watch: watch.id})
		}
		for _, v := range rd.views {
			rd.step(&wire.CloseView{View: v.id})
		}
		rd.views = nil
		for _, h := range slices.Clone(rd.handles) {
			rd.release(h)
		}
		for _, t := range rd.taken {
			rd.step(&wire.NextChunk{Request: t.id, Stop: true})
		}
		rd.taken = nil
	}
	w.pass(10_000)
	w.checkSubscriptions()
	for _, c := range w.connectors {
		c.restart() // so that readers relist and retain no earlier state
	}
	w.opWrite(lite.NewRand(1))
	w.pass(90_000)
	for _, rd := range w.readers {
		rd.inspect()
		for _, c := range rd.collections {
			rd.checkVersions(rd.inspected, c.id)
		}
		for _, c := range slices.Clone(rd.collections) {
			rd.closeCollection(c)
		}
	}
	w.pass(20_000)
	for _, rd := range w.readers {
		rd.checkEmpty()
	}
	for _, o := range slices.Backward(w.objects) {
		o.close()
	}
	for _, c := range w.connectors {
		c.checkArenas()
		if c.open != 0 {
			w.fail(ErrLeak, "connector %d: %d subscriptions were never released", c.id, c.open)
		}
	}
}

func (r *reader) checkEmpty() {
	r.inspect()
	for _, name := range []string{"collections", "subscriptions", "watches", "activeWatches", "views", "objects", "objects.references", "objects.watches", "snapshots"} {
		if n := r.inspected[name]; n != 0 {
			r.world.fail(ErrLeak, "reader %d: %d %s are left", r.id, n, name)
		}
	}
	if r.link.stream != 0 || r.link.opening != 0 {
		r.world.fail(ErrLeak, "reader %d keeps its connection although no collection is open", r.id)
	}
	if r.wake != 0 {
		r.world.fail(ErrLeak, "reader %d requests a wake-up at %d although no collection is open", r.id, r.wake)
	}
	if r.fetches != nil && len(r.fetches.open) > 0 {
		r.world.fail(ErrLeak, "reader %d waits for %d responses although no collection is open", r.id, len(r.fetches.open))
	}
}
