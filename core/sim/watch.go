package sim

import (
	"fmt"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/sim/check"
	"github.com/watchglass/watchglass/core/wire"
)

// watch is a current or former watch of the program, with its deliveries.
type watch struct {
	check.Watch
	id         uint32
	open       wire.OpenWatch
	collection *collection
	epoch      *epoch
	kind       int
	started    bool
	granted    uint32
	end        api.WatchEnd
	status     *api.Status

	// last is the latest version received. It is zero during the initial events, which
	// are unordered, so none of them implies that earlier versions have arrived.
	last api.ResourceVersion
	// complete is the newest version up to which the program has received
	// everything. A watch ends between revisions, but a program may close it
	// inside one.
	complete api.ResourceVersion
	// follow means that the program reopens the watch when it ends. held is the
	// result of applying all deliveries.
	follow bool
	held   map[api.Key]api.ResourceVersion
	whole  bool // held started with the complete state
	// inherited means that part of held is from another engine, which may have had
	// good versions of objects that were faulty when the current engine started.
	inherited bool
	// drained means that a slow consumer was terminated with the end marker
	// queued.
	drained bool
	marked  bool
	// startedAt is when the watch started. offered is the version of the collection at a time
	// by which the watch was certainly offered a bookmark.
	startedAt int64
	offered   api.ResourceVersion
}

func (r *reader) watch(id uint32) *watch {
	for _, w := range r.watches {
		if w.id == id {
			return w
		}
	}
	return nil
}

// openWatch opens a watch on a collection.
func (r *reader) openWatch(c *collection, f wire.OpenWatch, follow bool, before *watch) {
	r.drain()
	f.Watch, f.Collection = r.id32(), c.id
	f.Previous = f.Watch%2 == 0
	rv, _ := api.ParseResourceVersion(f.ResourceVersion)
	w := &watch{id: f.Watch, open: f, collection: c, kind: c.kind, follow: follow, granted: f.Credit, held: map[api.Key]api.ResourceVersion{}}
	if before != nil {
		w.held, w.whole = before.held, before.whole
		w.inherited = before.inherited || before.collection != c
	}
	w.Name = fmt.Sprintf("reader %d watch %d %+v", r.id, w.id, f)
	w.Request = check.Request{
		Scope:  c.filter,
		Filter: check.Filter{Namespace: f.Namespace, Labels: f.LabelSelector, Fields: f.FieldSelector},
		Start:  check.FromState, Bookmarks: f.Bookmarks,
		Conflating: f.Policy == api.PolicyConflate, Kubernetes: f.Policy == api.PolicyTerminate, Limited: f.Credit > 0,
	}
	switch {
	case f.SendInitialEvents == api.True:
	case rv > 0:
		w.Start, w.ResourceVersion, w.last, w.complete = check.FromVersion, rv, rv, rv
	case f.SendInitialEvents == api.False:
		w.Start = check.FromNow
	}
	if w.Start == check.FromState {
		w.held, w.whole, w.inherited = map[api.Key]api.ResourceVersion{}, true, false
	}
	if c.ready() {
		w.Opened = c.reported.ResourceVersion
	}
	r.watches = append(r.watches, w)
	r.step(&f)
	r.drain()
	r.bind(w)
}

// bind records the state of the collection at the start of the watch.
func (r *reader) bind(w *watch) {
	c := w.collection
	if w.started && w.offered == 0 && r.world.now > w.startedAt+2500 {
		w.offered = c.reported.ResourceVersion
	}
	if w.started || !c.complete() && (w.open.Bodies || !c.bodiesLeft()) {
		return
	}
	r.startWatch(w)
}

// startWatch records the reported version as the latest version at which the
// watch may have started.
func (r *reader) startWatch(w *watch) {
	c := w.collection
	if rv, _ := api.ParseResourceVersion(w.open.ResourceVersion); w.open.SendInitialEvents == api.True && c.reported.ResourceVersion < rv {
		return
	}
	w.started, w.epoch, w.startedAt = true, c.epoch, r.world.now
	if w.Opened == 0 {
		w.Opened = c.epoch.first
	}
	w.Started = c.reported.ResourceVersion
}

func (r *reader) watchEvents(f *wire.WatchEvents) {
	w := r.watch(f.Watch)
	if w == nil {
		r.world.fail(ErrProtocol, "reader %d: events of watch %d, which is not open", r.id, f.Watch)
		return
	}
	r.bind(w)
	if c := w.collection; !w.started && c.rows && c.ready() && !w.open.Bodies {
		r.startWatch(w) // bodies are omitted, although the state reports a different reason
	}
	if w.granted > 0 && w.Limited {
		if uint32(len(f.Events)) > w.granted {
			r.world.fail(ErrCredit, "%s: %d events, and credit for %d", w.Name, len(f.Events), w.granted)
		}
	}
	for i := range f.Events {
		r.watchEvent(w, &f.Events[i])
	}
	if !w.Limited {
		w.complete = w.last // without a limit, every delivery has complete revisions
	}
}

func (r *reader) watchEvent(w *watch, f *wire.WatchEvent) {
	if w.Limited && w.granted > 0 {
		w.granted--
	}
	e := check.Event{Type: f.Type, ResourceVersion: f.Item.ResourceVersion, Batch: r.batch}
	if f.Type == api.Bookmark {
		e.End = f.Item.Flags&api.EndOfInitialEvents != 0
		w.last, w.complete = e.ResourceVersion, e.ResourceVersion
		if e.End {
			r.endMarker(w, e.ResourceVersion)
		}
	} else {
		e.Key = api.Key(string([]byte(f.Item.Envelope.Key())))
		e.Object = versionOf(schemaOf(w.kind), r.schema(w.kind), e.ResourceVersion, f.Item.Labels, f.Item.Envelope)
		e.Unknown = f.Item.Flags&api.FinalStateUnknown != 0
		r.checkPrevious(w, e, f.Previous)
		w.apply(e)
		r.checkBody(w.kind, &f.Item, f.Type == api.Deleted, w.open.Bodies)
	}
	w.Events = append(w.Events, e)
}

// checkPrevious checks that an update carries the version that the watch delivered before
// it, if the program requested previous versions. A watch from a past version has not
// itself delivered the first previous version of an object.
func (r *reader) checkPrevious(w *watch, e check.Event, previous *wire.Item) {
	if asked := w.open.Previous && e.Type == api.Modified; asked != (previous != nil) {
		r.world.fail(ErrPrevious, "%s: %s of %s at %d: previous %v", w.Name, e.Type, e.Key, e.ResourceVersion, previous)
		return
	}
	if previous == nil {
		return
	}
	held := w.held[e.Key]
	if key := previous.Envelope.Key(); key != e.Key || held != 0 && !w.inherited && previous.ResourceVersion != held {
		r.world.fail(ErrPrevious, "%s: %s at %d follows %d, and its previous version is %s at %d",
			w.Name, e.Key, e.ResourceVersion, held, key, previous.ResourceVersion)
	}
	r.checkBody(w.kind, previous, false, w.open.Bodies)
}

// apply updates the data as a simple client would.
func (w *watch) apply(e check.Event) {
	if e.Type == api.Deleted {
		delete(w.held, e.Key)
	} else {
		w.held[e.Key] = e.ResourceVersion
	}
	if w.Start == check.FromState && w.last == 0 {
		return // the initial events are unordered
	}
	if e.ResourceVersion > w.last {
		w.complete = w.last
	}
	w.last = e.ResourceVersion
}

func (r *reader) endMarker(w *watch, rv api.ResourceVersion) {
	w.marked = true
	if w.Limited && rv < w.collection.reported.ResourceVersion {
		r.world.saw(EndMarkerRace)
	}
}

func (r *reader) watchClosed(f *wire.WatchClosed) {
	w := r.watch(f.Watch)
	if w == nil {
		r.world.fail(ErrProtocol, "reader %d: end of watch %d, which is not open", r.id, f.Watch)
		return
	}
	w.end, w.status = f.End, f.Status
	r.checkEnd(w)
	if w.drained && w.marked && w.end == api.WatchEndSlowConsumer {
		r.world.saw(GracefulDrain)
	}
	r.checkDrained(w)
	r.forgetWatch(w)
	if w.follow {
		r.world.later(func() { r.reopenWatch(w) })
	}
}

// checkEnd checks that the reason for the end is possible for the watch, and that a 410
// accompanies the end unless the end is normal. A stalling watch may be overtaken only
// under the conditions of couldBeOvertaken.
func (r *reader) checkEnd(w *watch) {
	policy, possible := w.open.Policy, false
	switch w.end {
	case api.WatchEndTimeout:
		possible = w.open.TimeoutSeconds > 0 && w.status == nil
	case api.WatchEndRefused:
		possible = w.status != nil && len(w.Events) == 0
	case api.WatchEndSlowConsumer:
		possible = policy == api.PolicyTerminate && w.Limited
	case api.WatchEndOvertaken:
		switch policy {
		case api.PolicyTerminate:
			possible = w.Limited || r.relisted(w) > 0
		case api.PolicyConflate:
			possible = w.Limited
		case api.PolicyStall:
			possible = w.Limited && r.couldBeOvertaken(w)
		}
		if policy == api.PolicyStall {
			r.world.saw(WatchOvertaken)
		}
	case api.WatchEndHistoryLost, api.WatchEndCorrupt:
		possible = true
	}
	if w.end > api.WatchEndRefused && w.status != nil {
		possible = possible && w.status.Code == api.CodeGone && w.status.Cause == w.end.String()
	}
	if w.end > api.WatchEndTimeout && w.status == nil {
		possible = false
	}
	if !possible {
		r.world.fail(ErrEnd, "%s: ended as %v, with %v, after %d events", w.Name, w.end, w.status, len(w.Events))
	}
	if w.status != nil && w.status.Code == api.CodeGone && w.end != api.WatchEndSlowConsumer {
		r.world.saw(WatchExpired)
	}
}

// leastHistory is the minimum number of events in the history of a reader.
const leastHistory = 4

// couldBeOvertaken reports whether two relists, or more changes of the kind than the
// smallest history holds, followed the last delivered event. Undelivered changes in the
// revision of that event count as well.
func (r *reader) couldBeOvertaken(w *watch) bool {
	log := w.epoch.source.logs[w.kind]
	begun := log.ChangesAfter(max(w.last, 1) - 1)
	for _, e := range w.Events {
		if e.ResourceVersion == w.last && e.Type != api.Bookmark {
			begun--
		}
	}
	changes := max(log.ChangesAfter(w.last), begun) // the deletions of a relist share a version, and are no changes of that version
	return r.relisted(w) > 1 || changes > min(r.config.MaxHistory, leastHistory)
}

// relisted counts the relists with changes that the watch may not have delivered.
func (r *reader) relisted(w *watch) (relists int) {
	e := w.epoch
	if e == nil { // the state has not confirmed the start of the watch
		e = r.scope(w.collection).epoch
	}
	for _, relist := range e.relists {
		if relist.To >= w.last {
			relists++
		}
	}
	return relists
}

// leastQueue is the minimum queue capacity of a watch, in events.
const leastQueue = 10

// checkDrained checks a watch that was terminated for slowness with a bookmark queued
// after its initial events. Before its end, the watch must have delivered all of these
// events and the marker. The bookmark is queued if the queue had room at the first tick.
func (r *reader) checkDrained(w *watch) {
	if w.end != api.WatchEndSlowConsumer || w.Start != check.FromState || !w.Bookmarks || w.marked ||
		w.offered == 0 || w.epoch != w.collection.epoch {
		return
	}
	log := w.epoch.source.logs[w.kind]
	waiting := log.TaintedChanges(w.Opened, w.offered)
	for _, e := range check.Expected(log, &w.Request, w.epoch.relists, w.Opened) {
		if e.ResourceVersion <= w.offered {
			waiting++
		}
	}
	if waiting < leastQueue {
		r.world.fail(ErrDrain, "%s: ended after %d events, with the marker due", w.Name, len(w.Events))
	}
}

// standstillMillis is the longest wait for a blocked watch (rule C26).
const standstillMillis = 100

// checkTimeouts checks that an unblocked watch ends at its timeout, unless the
// engine's clock went back.
func (r *reader) checkTimeouts() {
	if r.jumped {
		return
	}
	for _, w := range r.watches {
		over := w.startedAt + int64(w.open.TimeoutSeconds)*1000 + standstillMillis
		if w.started && !w.Limited && w.open.TimeoutSeconds > 0 && r.world.now > over {
			r.world.fail(ErrTimeout, "%s: it is %d ms over", w.Name, r.world.now-over)
		}
	}
}

func (r *reader) forgetWatch(w *watch) {
	r.records = append(r.records, w)
	r.watches = without(r.watches, w)
}

// reopenWatch reopens an ended watch like a client: from the last version
// received, or from the state if that version is gone.
func (r *reader) reopenWatch(w *watch) {
	if r.collection(w.collection.id) != w.collection {
		return
	}
	f := w.open
	f.ResourceVersion, f.Match, f.SendInitialEvents = "", api.MatchUnset, api.Unset
	orderly := w.end == api.WatchEndTimeout || w.end == api.WatchEndSlowConsumer
	if w.last != 0 && orderly && w.epoch == w.collection.epoch {
		f.ResourceVersion = w.last.String()
		r.world.saw(WatchResumed)
	}
	if f.Credit > 0 {
		f.Credit = 20
	}
	r.openWatch(w.collection, f, true, w)
}

// noteTerminated marks the watches that may have been terminated, if the count of
// terminated watches has increased.
func (r *reader) noteTerminated() {
	before := r.terminated()
	r.inspect()
	if r.terminated() <= before {
		return
	}
	r.world.saw(OverflowTerminated)
	for _, w := range r.watches {
		if w.started && w.Limited && w.open.Policy == api.PolicyTerminate && w.Start == check.FromState && w.Bookmarks && !w.marked {
			w.drained = true
		}
	}
}

func (r *reader) terminated() (n int64) {
	for _, c := range r.collections {
		n += r.inspected.of(c.id, "terminatedWatches")
	}
	return n
}

// judge validates all deliveries of the reader's watches, individually and
// relative to other watches of the same collection.
func (r *reader) judge() {
	var epochs []*epoch
	of, slow := map[*epoch][]*check.Watch{}, map[*epoch]bool{}
	all := append(r.records[:len(r.records):len(r.records)], r.watches...)
	for _, w := range all {
		if w.epoch == nil {
			continue
		}
		if of[w.epoch] == nil {
			epochs = append(epochs, w.epoch)
		}
		w.Relists = w.epoch.relists
		of[w.epoch] = append(of[w.epoch], &w.Watch)
		slow[w.epoch] = slow[w.epoch] || w.Limited && w.open.Policy == api.PolicyTerminate
		if w.Conflating && w.Limited && w.skipped() {
			r.world.saw(Conflated)
		}
	}
	for _, e := range epochs {
		for _, w := range of[e] {
			w.Beside = slow[e]
			r.world.result.Watches = append(r.world.result.Watches, Judged{e.source.name, e.kind, e.source.logs[e.kind], w})
		}
		if err := check.All(e.source.logs[e.kind], of[e]...); err != nil {
			r.world.violate(err)
		}
	}
}

// skipped reports whether the watch skipped a revision before its last event.
func (w *watch) skipped() bool {
	var last api.ResourceVersion
	seen := map[api.ResourceVersion]bool{}
	for _, e := range w.Events {
		seen[e.ResourceVersion] = true
		last = max(last, e.ResourceVersion)
	}
	for _, e := range check.Expected(w.epoch.source.logs[w.kind], &w.Request, w.epoch.relists, w.Started) {
		if e.ResourceVersion < last && !seen[e.ResourceVersion] {
			return true
		}
	}
	return false
}

func without[T comparable](list []T, v T) []T {
	var kept []T
	for _, x := range list {
		if x != v {
			kept = append(kept, x)
		}
	}
	return kept
}
