package sim

import (
	"fmt"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/sim/check"
	"github.com/watchglass/watchglass/core/wire"
)

// edgeObject is a simulated Durable Object at the edge. Its engine reads from another
// object, or from one of several connectors while the others are on standby. It serves
// readers from its collections. An idle object may be evicted from memory. Its sockets
// stay open, its state is in storage, and the state of its readers is attached to their
// sockets. The next message wakes it.
type edgeObject struct {
	driver
	regional bool // reads from another object while it has readers
	held     [kinds]bool
	open     [kinds]uint32 // IDs of its collections; zero for one that is not open
	states   [kinds]wire.CollectionState
	stored   [kinds]*storedScope
	bodies   []leftOut // bodies to load on demand; the index is the name minus 1
	lacks    bool      // a body that the engine loaded was missing
	readers  []*attachment
	lastID   uint32
	rand     *lite.Rand

	steps   int   // number of inputs to the engine when it was last persisted
	since   int64 // time of the first unpersisted change; zero if there is none
	alarm   int64 // time of the next alarm
	awoke   int64
	chunk   *wire.SnapshotChunk // the response to the current request
	refused *api.Status
	// inspected is the last InspectReply.
	inspected inspected
}

// cutOffMillis is how long an edge object without a connection waits before it
// reports that it is disconnected.
const cutOffMillis = 3000

func newEdgeObject(w *world, name string, regional bool, r *lite.Rand) *edgeObject {
	o := &edgeObject{regional: regional, rand: lite.NewRand(r.Uint64())}
	o.world, o.name, o.onOutput, o.rouse, o.lost, o.settled = w, name, o.handleOutput, o.awaken, o.standBy, func() {}
	o.config = wire.Config{Seed: r.Uint64(), Client: name, MaxHistory: w.setup.Window, Credit: w.setup.Credit}
	if r.Int63n(5) == 0 && w.scarce {
		o.config.MaxBytes = 6000
	}
	o.held[pods], o.held[secrets] = true, r.Int63n(3) > 0
	return o
}

// awaken creates an engine from storage and continues with the open sockets. It
// opens a new session upstream.
func (o *edgeObject) awaken() {
	o.link.forget()
	o.link.opening, o.link.tap.scopes = 0, nil
	o.awoke, o.since, o.alarm = o.world.now, 0, 0
	o.open, o.states, o.bodies = [kinds]uint32{}, [kinds]wire.CollectionState{}, nil
	o.start()
	o.hold()
	for _, a := range o.readers {
		o.attach(a)
	}
	o.drain()
	o.steps = o.stepped
}

// hold opens the collections that the object should have, and closes all others.
func (o *edgeObject) hold() {
	for kind, held := range o.held {
		wanted := held && (!o.regional || len(o.readers) > 0)
		switch {
		case wanted && o.open[kind] == 0:
			o.lastID++
			o.open[kind] = o.lastID
			o.restore(kind)
		case !wanted && o.open[kind] != 0:
			o.step(&wire.CloseCollection{Collection: o.open[kind]})
			o.open[kind], o.states[kind] = 0, wire.CollectionState{}
		}
	}
}

// handleOutput processes the engine's output.
func (o *edgeObject) handleOutput(frame wire.Frame) {
	switch f := frame.(type) {
	case *wire.CollectionState:
		for kind, id := range o.open {
			if id == f.Collection {
				o.states[kind] = *f
				if givenUp(f) {
					o.world.saw(ObjectTooSmall)
				}
			}
		}
	case *wire.SendReader:
		if a := o.attachment(f.Reader); a != nil {
			if a.room <= 0 {
				o.world.fail(ErrCredit, "%s sends reader %d %d bytes without room", o.name, a.id, len(f.Data))
			}
			a.room -= int64(len(f.Data))
			a.out = append(a.out, append([]byte(nil), f.Data...))
			a.stirred, a.link.woken = true, true
		}
	case *wire.ReaderStalled:
		if a := o.attachment(f.Reader); a != nil {
			o.stall(a, f.Stalled)
		}
	case *wire.SavedReader:
		if a := o.attachment(f.Reader); a != nil {
			a.saved, a.stirred = append([]byte{}, f.Data...), false
		}
	case *wire.SnapshotChunk:
		f.Data = append([]byte(nil), f.Data...)
		f.ClusterID = string([]byte(f.ClusterID))
		o.chunk = f
	case *wire.InspectReply:
		o.inspected = readInspected(f)
	case *wire.ErrorReply:
		o.refused = f.Status
	case *wire.Rejected:
		o.refused = f.Status
	case *wire.CloseReader:
		o.world.fail(ErrProtocol, "%s disconnects reader %d: %v", o.name, f.Reader, f.Status)
	}
}

// move performs the possible steps of the object, and reports whether there were any. A
// message for an evicted object wakes it. The message itself is lost, because the object
// starts a new session upstream.
func (o *edgeObject) move() bool {
	if o.engine == nil {
		moved := o.link.pull()
		if !o.link.due(o.link.down) && (o.alarm == 0 || o.world.now < o.alarm) {
			return moved
		}
		o.awaken()
	}
	o.hold()
	moved := o.driver.move()
	if o.keepAt() != 0 && o.world.now >= o.keepAt() {
		o.persist()
		return true
	}
	return moved
}

func (o *edgeObject) nextEvent() int64 {
	if o.engine == nil {
		return earlier(o.link.nextEvent(), o.alarm, o.world.now)
	}
	return earlier(o.driver.nextEvent(), o.keepAt(), o.world.now)
}

// sleep evicts the object from memory, unless it has a connection to another object.
func (o *edgeObject) sleep() {
	if o.engine == nil || o.regional && (o.link.stream != 0 || o.link.opening != 0) {
		return
	}
	o.persist()
	o.keepReaders()
	o.engine, o.alarm = nil, o.wake
	o.world.saw(ObjectSlept)
}

// restart drops the engine and all sockets. The storage usually survives.
func (o *edgeObject) restart() {
	if o.rand.Int63n(4) == 0 {
		o.stored = [kinds]*storedScope{}
		o.world.saw(StorageLost)
	}
	o.engine = nil
	o.world.hangUp(o, "the object restarts")
	o.readers = nil
	o.awaken()
	o.world.saw(ObjectRestarted)
}

// standBy connects to the next connector immediately after a connection is lost.
func (o *edgeObject) standBy() {
	if len(o.link.servers) < 2 || o.regional {
		return
	}
	for i, s := range o.link.servers {
		if s == o.link.target {
			o.link.target = o.link.servers[(i+1)%len(o.link.servers)]
			break
		}
	}
	o.step(&wire.Reconnect{})
	o.world.saw(StandbyTookOver)
}

func (o *edgeObject) at(kind int) (*source, api.ResourceVersion) {
	for _, s := range o.link.tap.scopes {
		if s.kind == kind && s.source != nil {
			return s.source, o.states[kind].ResourceVersion
		}
	}
	return nil, 0
}

func (o *edgeObject) blind() int64 {
	last := max(o.link.blind(), o.awoke+oldestMillis)
	for _, s := range o.link.tap.scopes {
		last = max(last, s.asked+staleMillis)
	}
	return last + staleMillis
}

// failing returns the time from which the object reports that it or its upstream
// is disconnected, or zero.
func (o *edgeObject) failing() int64 {
	l := &o.link
	switch {
	case o.engine == nil:
		return 0
	case l.stream == 0:
		return max(l.lostAt, o.awoke) + cutOffMillis
	case l.silent || l.breaks != 0 || l.server.failing() == 0:
		return 0
	}
	return max(l.server.failing(), l.since, l.stalled, l.slow+slowMillis)
}

func (o *edgeObject) levels() int64 { return 1 + o.link.target.levels() }

// checkFresh checks that the collections that the object reports as live had recent
// progress.
func (o *edgeObject) checkFresh() {
	for kind, id := range o.open {
		if id != 0 && o.engine != nil && o.states[kind].State == api.StateLive {
			o.checkProgress(resourceNames[kind], o.link.tap.scope(resourceNames[kind], check.Filter{}, false).progressAt)
		}
	}
}

// judge checks that the object reports no reader as stalled, and that its open collections
// are up to date.
func (o *edgeObject) judge() {
	if o.engine == nil {
		o.awaken()
		o.world.pass(30_000)
	}
	for _, a := range o.readers {
		if a.stalled {
			o.world.fail(ErrConverge, "%s still reports that reader %d is stalled", o.name, a.id)
		}
	}
	for kind, id := range o.open {
		want := len(o.world.source.state[kind])
		if s := &o.states[kind]; id != 0 && !givenUp(s) && (s.State != api.StateLive || s.ResourceVersion != o.world.source.rv || int(s.Objects) != want) {
			o.world.fail(ErrConverge, "%s: %s is %+v, and the source is at %d with %d objects", o.name, resourceNames[kind], *s, o.world.source.rv, want)
		}
	}
}

func (o *edgeObject) inspect() {
	o.step(&wire.Inspect{Request: 1})
	o.drain()
}

// checkHeld checks that the object stays within its limits.
func (o *edgeObject) checkHeld() {
	o.inspect()
	var ids []uint32
	for kind, id := range o.open {
		if id != 0 {
			ids = append(ids, id)
		}
		if o.states[kind].State == api.StateLive { // and no new list is in progress
			o.checkVersions(o.inspected, id)
		}
	}
	o.checkMemory(o.inspected, ids)
}

// close releases everything the object holds, and checks for leaks.
func (o *edgeObject) close() {
	o.held = [kinds]bool{}
	o.hold()
	o.world.pass(90_000)
	if o.engine == nil {
		o.awaken()
	}
	o.inspect()
	for _, name := range []string{"collections", "subscriptions", "readers", "snapshots"} {
		if n := o.inspected[name]; n != 0 {
			o.world.fail(ErrLeak, "%s: %d %s are left", o.name, n, name)
		}
	}
}

// edgeOps are the ops on edge objects.
var edgeOps = []kindOfOp{
	{"evict", 8, onObject((*edgeObject).sleep)},
	{"evict-behind", 4, (*world).opEvictBehind},
	{"restart-object", 4, onObject((*edgeObject).restart)},
}

func onObject(f func(*edgeObject)) func(*world, *lite.Rand) {
	return func(w *world, r *lite.Rand) {
		if len(w.objects) > 0 {
			f(pick(r, w.objects...))
		}
	}
}

// opEvictBehind evicts an object whose readers have unsent data.
func (w *world) opEvictBehind(r *lite.Rand) {
	burst := lite.NewRand(r.Uint64()) // so that the burst is the same in every shape
	if len(w.objects) == 0 {
		w.opBurst(burst)
		return
	}
	o := pick(r, w.objects...)
	for _, a := range o.readers {
		a.link.stalled, a.link.room = w.now+5000, 1
	}
	w.opBurst(burst)
	w.pass(100)
	o.sleep()
}

// buildEdge creates the edge objects: homes, which read from connectors, and regions,
// which read from homes. It returns the servers for readers.
func (w *world) buildEdge(connectors []server, r *lite.Rand) []server {
	var servers []server
	build := func(name string, regional bool, from []server) {
		o := newEdgeObject(w, name, regional, r)
		o.lead(from, r)
		o.awaken()
		w.objects = append(w.objects, o)
		servers = append(servers, o)
	}
	for i := range 1 + r.Int63n(2) {
		build(fmt.Sprintf("home %d", i), false, connectors)
	}
	homes := servers[:len(servers):len(servers)]
	for i := range r.Int63n(3) {
		build(fmt.Sprintf("region %d", i), true, homes)
	}
	if r.Int63n(3) == 0 {
		servers = append(servers, connectors...)
	}
	return servers
}
