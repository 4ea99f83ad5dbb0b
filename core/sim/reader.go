package sim

import (
	"fmt"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/core/sim/check"
	"github.com/watchglass/watchglass/core/wire"
)

type envelope = wire.Envelope

// progressMillis is the progress interval of sessions. staleMillis is the time after
// which a reader without progress must report that its data is stale.
const (
	progressMillis = 5000
	staleMillis    = 3 * progressMillis
)

// reader is a real engine, its link, and the program that uses it.
type reader struct {
	driver
	id     int
	lastID uint32

	collections []*collection
	watches     []*watch
	records     []*watch // ended watches
	views       []*view
	handles     []*handle
	requests    []*request
	resumes     []resume
	taken       []*taking
	stored      []*storedScope
	refused     int    // number of persisted states that were rejected
	corrupted   bool   // the last of them contained corrupt bodies
	trespassed  uint32 // ID of an open collection that the reader may not read; zero for none
	inspected   inspected
	unjudged    bool // the views were not checked after the last output
}

func (r *reader) open() {
	r.inspected = inspected{}
	r.start()
}

// reopen replaces the engine, like a page reload.
func (r *reader) reopen() {
	r.link.forget()
	r.link.opening = 0
	r.link.tap.scopes = nil
	r.records = append(r.records, r.watches...)
	r.collections, r.watches, r.views, r.handles, r.requests, r.taken = nil, nil, nil, nil, nil, nil
	r.trespassed = 0
	r.open()
}

func (r *reader) id32() uint32 {
	r.lastID++
	return r.lastID
}

// handleOutput processes the engine's output.
func (r *reader) handleOutput(frame wire.Frame) {
	switch f := frame.(type) {
	case *wire.CollectionState:
		r.collectionState(f)
	case *wire.WatchEvents:
		r.watchEvents(f)
	case *wire.WatchClosed:
		r.watchClosed(f)
	case *wire.ViewPatch:
		r.viewPatch(f)
	case *wire.Rejected:
		r.rejected(f)
	case *wire.ListReply:
		r.listReply(f)
	case *wire.CollectionError:
		r.collectionError(f)
	case *wire.ObjectReply:
		r.objectReply(f)
	case *wire.ErrorReply:
		if !r.snapshotFailed(f) {
			r.refusedRequest(f)
		}
	case *wire.SnapshotChunk:
		r.snapshotChunk(f)
	case *wire.ObjectChanged:
		r.objectChanged(f)
	case *wire.ObjectState:
		for _, h := range r.handles {
			if h.id == f.Handle {
				h.state = f.State
			}
		}
	case *wire.InspectReply:
		r.inspected = readInspected(f)
	}
}

func (r *reader) inspect() {
	r.step(&wire.Inspect{Request: r.id32()})
	r.drain()
	r.checkMemory(r.inspected, r.distinct())
	// If a watch ended twice, the engine would subtract it from the count twice (W7).
	if active, open := r.inspected["activeWatches"], r.inspected["watches"]; active < 0 || active > open {
		r.world.fail(ErrLeak, "reader %d: %d watches are active, and %d are open", r.id, active, open)
	}
}

// distinct returns the ID of one collection for each scope.
func (r *reader) distinct() (ids []uint32) {
	seen := map[*scope]bool{}
	for _, c := range r.collections {
		if s := r.scope(c); !seen[s] {
			seen[s] = true
			ids = append(ids, c.id)
		}
	}
	return ids
}

// collection is an open collection of the program.
type collection struct {
	id       uint32
	kind     int
	meta     bool
	rows     bool // requested rows first
	filter   check.Filter
	reported wire.CollectionState
	epoch    *epoch // epoch of the reported state
	opened   int64
}

func (r *reader) collection(id uint32) *collection {
	for _, c := range r.collections {
		if c.id == id {
			return c
		}
	}
	return nil
}

// schema returns the schema of a kind as the reader receives it.
func (r *reader) schema(kind int) api.Schema {
	schema := schemaOf(kind)
	if r.fetches != nil {
		schema.Fields = catalog.Find(schema.Resource).Fields
	}
	return schema
}

// sourceName returns the cluster ID under which the reader sees a source.
func (r *reader) sourceName(s *source) string {
	if r.fetches != nil {
		return "kube-" + s.name
	}
	return s.name
}

func (r *reader) scope(c *collection) *scope {
	return r.link.tap.scope(resourceNames[c.kind], c.filter, c.meta)
}

// complete reports whether the engine has reported that it has all bodies.
func (c *collection) complete() bool {
	return c.ready() && (c.meta || c.reported.Bodies == c.reported.Objects)
}

// bodiesLeft reports whether the engine has reported that it omits bodies because of
// its memory limit. The next list requests bodies again.
func (c *collection) bodiesLeft() bool {
	s := c.reported.Status
	return c.ready() && c.reported.State != api.StateClosed && s != nil && s.Code == api.CodeTooLarge
}

// ready reports whether the engine has reported a state of the current epoch.
func (c *collection) ready() bool { return c.reported.ResourceVersion != 0 && c.epoch.source != nil }

// dropped reports whether a collection waits to list again because bodies of its last list
// were corrupt.
func dropped(f *wire.CollectionState) bool {
	return f.State == api.StateConnecting && f.ResourceVersion == 0 && corruptBodies(f.Status)
}

func (r *reader) collectionState(f *wire.CollectionState) {
	c := r.collection(f.Collection)
	if f.Collection == r.trespassed {
		r.caught(f)
	}
	if c == nil {
		return
	}
	// The engine may drop a list before reporting the list.
	unreported := r.scope(c).ready && dropped(f) && !dropped(&c.reported)
	if c.epoch == r.scope(c).epoch && f.ResourceVersion == 0 && corruptBodies(f.Status) && (c.reported.ResourceVersion != 0 || unreported) {
		if c.reported.ResourceVersion > r.scope(c).rv {
			r.link.tap.keep(r.scope(c)) // the engine reported the list before it read a corrupt body
		}
		r.scope(c).renew()
		r.world.saw(ListCorrupt)
	}
	e := r.scope(c).epoch
	// A direct engine does not recognize versions of a different cluster before
	// a list, and a list may be from a different cluster than expected.
	restarted := r.fetches != nil && f.ResourceVersion == 0 && e.source != nil && (e.source != r.world.source || e.source != r.scope(c).named)
	if c.epoch == e && f.ResourceVersion < c.reported.ResourceVersion && !restarted {
		r.world.fail(ErrBack, "reader %d, collection %d: from version %d to %d", r.id, c.id, c.reported.ResourceVersion, f.ResourceVersion)
	}
	if givenUp(f) {
		r.world.saw(BudgetReached)
		r.link.tap.keep(r.scope(c))
	}
	if f.Status != nil && strings.Contains(f.Status.Message, "which is missing") {
		r.world.fail(ErrProtocol, "reader %d, collection %d: %v", r.id, c.id, f.Status)
	}
	r.noteBodies(f.Status)
	if f.State == api.StateStale {
		r.world.saw(ReportedStale)
	}
	if reported := f.LastProgressMillis; !r.jumped && r.fetches == nil && reported > e.progressAt {
		r.world.fail(ErrStale, "reader %d, collection %d reports progress at %d, and it was at %d", r.id, c.id, reported, e.progressAt)
	}
	c.reported, c.epoch = *f, e
	if c.bodiesLeft() {
		r.world.saw(BodiesLeft)
	}
}

// judgeHeld checks the program's data after all output was processed.
func (r *reader) judgeHeld() {
	if r.grantViews() && r.drain() {
		return // drain has called judgeHeld for the same data
	}
	for _, w := range r.watches {
		r.bind(w)
	}
	r.resume()
	if r.unjudged = r.late || r.overdue(); !r.unjudged {
		r.checkViews() // otherwise the engine still evaluates objects for views
	}
}

func (r *reader) checkViews() {
	r.unjudged = false
	for _, v := range r.views {
		r.checkView(v)
	}
}

// checkFresh checks that a live collection had progress within three periods and shows no
// data older than the sum of all delays. For three periods, the response to a
// subscription counts as progress even if the connector is disconnected. On a slow link,
// each message of a long backlog counts as progress. If a subscription survives an outage
// of the source, each message after the outage also counts as progress.
func (r *reader) checkFresh() {
	if r.busy() {
		return
	}
	if r.unjudged && !r.late {
		r.checkViews() // the Ticks that were due produced no output
	}
	w := r.world
	oldest := oldestMillis * r.link.target.levels()
	r.checkHandles()
	r.checkTimeouts()
	r.checkReads()
	for _, c := range r.collections {
		r.checkReason(c)
		if c.reported.State != api.StateLive {
			continue
		}
		if !c.ready() {
			w.fail(ErrStale, "reader %d, collection %d is live, and has no state", r.id, c.id)
		}
		r.checkProgress(fmt.Sprint("collection ", c.id), c.epoch.progressAt)
		settled := w.now > max(c.epoch.asked+r.patience(), r.link.blind())
		if settled && c.epoch.source == w.source && c.reported.ResourceVersion < w.versionAt(w.now-oldest) {
			w.fail(ErrStale, "reader %d, collection %d is live at version %d, and the source was at %d more than %d ms ago",
				r.id, c.id, c.reported.ResourceVersion, w.versionAt(w.now-oldest), oldest)
		}
	}
}

// checkHandles checks that each live object had recent progress in one of three
// collections: its own, the collection of its namespace, or the collection of all
// namespaces.
func (r *reader) checkHandles() {
	for _, h := range r.handles {
		if h.state != api.StateLive {
			continue
		}
		namespace := h.key.Namespace()
		own := r.scopeOf(h.kind, check.Filter{Namespace: namespace, Fields: "metadata.name=" + h.key.Name()})
		if r.fetches != nil && !own.ready {
			continue // the simulator cannot determine which lists caused the identity request
		}
		progress := max(own.progressAt, r.scopeOf(h.kind, check.Filter{}).progressAt, r.scopeOf(h.kind, check.Filter{Namespace: namespace}).progressAt)
		r.checkProgress("object "+string(h.key), progress)
	}
}

func (r *reader) scopeOf(kind int, f check.Filter) *scope {
	return r.link.tap.scope(resourceNames[kind], f, false)
}

// checkReason checks that a reader reports the reason if it waits or is stale because
// its server has lost the source. A connector sends the error of the source, but
// withholds it from a reader of one namespace. While a program is suspended, or waits for
// its next attempt, it receives no reason.
func (r *reader) checkReason(c *collection) {
	w, l := r.world, &r.link
	if l.server == nil || l.silent || l.breaks != 0 || c.reported.State != api.StateConnecting && c.reported.State != api.StateStale {
		return
	}
	failing := l.server.failing()
	since := max(failing, l.since, c.opened, l.stalled, l.slow+slowMillis, r.busyUntil, c.reported.NextAttemptMillis-r.skew)
	if failing == 0 || w.now <= since+staleMillis*l.server.levels() {
		return
	}
	status := c.reported.Status
	_, own := l.server.(*connector)
	behind := status != nil && status.Code == api.CodeGatewayTimeout // the connector was restarted and has an older version than the reader
	reason := lostLeader
	if c.filter.Namespace != "" {
		reason = "the reason is withheld"
	}
	if status == nil || own && !behind && !strings.Contains(status.Message, reason) {
		w.fail(ErrReason, "reader %d, collection %d is %v: %v", r.id, c.id, c.reported.State, status)
	}
	w.saw(ReasonSent)
	if !own {
		w.saw(ReasonPassedOn)
	}
}
