package sim

import (
	"fmt"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/sim/check"
	"github.com/watchglass/watchglass/core/wire"
)

// edgeObject is an object at the edge: an engine that connectors feed, one at a
// time while the others stand by, or that reads from another object; and that
// serves readers out of what it holds. When it is quiet it may be taken out of
// memory. Its sockets stay, what it held is in storage, and how far its readers
// are is with their sockets; the next message wakes it.
type edgeObject struct {
	driver
	regional bool // it reads from another, for as long as it has readers
	held     [kinds]bool
	open     [kinds]uint32 // its collections; zero for one that is not open
	states   [kinds]wire.CollectionState
	stored   [kinds]*kept
	bodies   []leftOut // by their names less one
	lacks    bool      // one of them was not there
	readers  []*attachment
	lastID   uint32
	rand     *api.Rand

	steps   int   // of the engine when it was kept last
	since   int64 // when it first was ahead of what is kept; zero while it is not
	alarm   int64 // when it is to be awake again
	awoke   int64
	chunk   *wire.SnapshotChunk // the answer to the present question
	refused *api.Status
	// inspected is the last answer to what it holds.
	inspected inspected
}

// cutOffMillis is how long an object does without a connector before it says so.
const cutOffMillis = 3000

func newEdgeObject(w *world, name string, regional bool, r *api.Rand) *edgeObject {
	o := &edgeObject{regional: regional, rand: api.NewRand(r.Uint64())}
	o.world, o.name, o.told, o.rouse, o.lost, o.settled = w, name, o.hear, o.awaken, o.standBy, func() {}
	o.config = wire.Config{Seed: r.Uint64(), Client: name, MaxHistory: w.setup.Window, Credit: w.setup.Credit}
	if r.Int63n(5) == 0 && w.scarce {
		o.config.MaxBytes = 6000
	}
	o.held[pods], o.held[secrets] = true, r.Int63n(3) > 0
	return o
}

// awaken opens an engine with what was kept, and goes on with the sockets that
// are open: upstream in a new session.
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

// hold opens the collections that the object is to have, and closes the others.
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

// hear takes what the engine says.
func (o *edgeObject) hear(t wire.Type, payload []byte) {
	switch t {
	case wire.TypeCollectionState:
		f := parse(payload, &wire.CollectionState{})
		for kind, id := range o.open {
			if id == f.Collection {
				o.states[kind] = *f
				if givenUp(f) {
					o.world.saw(ObjectTooSmall)
				}
			}
		}
	case wire.TypeSendReader:
		f := parse(payload, &wire.SendReader{})
		if a := o.attachment(f.Reader); a != nil {
			if a.room <= 0 {
				o.world.fail(ErrCredit, "%s sends reader %d %d bytes, and there is no room", o.name, a.id, len(f.Data))
			}
			a.room -= int64(len(f.Data))
			a.out = append(a.out, append([]byte(nil), f.Data...))
			a.stirred, a.link.woken = true, true
		}
	case wire.TypeReaderStalled:
		f := parse(payload, &wire.ReaderStalled{})
		if a := o.attachment(f.Reader); a != nil {
			o.stall(a, f.Stalled)
		}
	case wire.TypeKeptReader:
		f := parse(payload, &wire.KeptReader{})
		if a := o.attachment(f.Reader); a != nil {
			a.kept, a.stirred = append([]byte{}, f.Data...), false
		}
	case wire.TypeSnapshotChunk:
		f := parse(payload, &wire.SnapshotChunk{})
		f.Data = append([]byte(nil), f.Data...)
		f.Source = string([]byte(f.Source))
		o.chunk = f
	case wire.TypeInspectReply:
		o.inspected = readInspected(payload)
	case wire.TypeErrorReply:
		o.refused = parse(payload, &wire.ErrorReply{}).Status
	case wire.TypeRejected:
		o.refused = parse(payload, &wire.Rejected{}).Status
	case wire.TypeCloseReader:
		f := parse(payload, &wire.CloseReader{})
		o.world.fail(ErrProtocol, "%s sends reader %d away: %v", o.name, f.Reader, f.Status)
	}
}

// move lets happen what can happen. What comes for an object that is out of
// memory wakes it, and is of a session that is over by then.
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
		o.keep()
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

// sleep takes the object out of memory. One that holds a connection of its own
// is not.
func (o *edgeObject) sleep() {
	if o.engine == nil || o.regional && (o.link.stream != 0 || o.link.opening != 0) {
		return
	}
	o.keep()
	o.keepReaders()
	o.engine, o.alarm = nil, o.wake
	o.world.saw(ObjectSlept)
}

// restart loses the engine and all sockets; the storage stays, more often than
// not.
func (o *edgeObject) restart() {
	if o.rand.Int63n(4) == 0 {
		o.stored = [kinds]*kept{}
		o.world.saw(StorageLost)
	}
	o.engine = nil
	o.world.hangUp(o, "the object restarts")
	o.readers = nil
	o.awaken()
	o.world.saw(ObjectRestarted)
}

// standBy lets the next connector take over at once.
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

// failing: an object says so that has been without a stream for a moment, and
// passes on what it is told.
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

// checkFresh: nor is an object silently stale.
func (o *edgeObject) checkFresh() {
	for kind, id := range o.open {
		if id != 0 && o.engine != nil && o.states[kind].State == wire.Live {
			o.checkHeard(resourceNames[kind], o.link.tap.scope(resourceNames[kind], check.Filter{}, false).heard)
		}
	}
}

// judge: an object that has readers, or is fed, is where the source is.
func (o *edgeObject) judge() {
	if o.engine == nil {
		o.awaken()
		o.world.pass(30_000)
	}
	for _, a := range o.readers {
		if a.stalled {
			o.world.fail(ErrConverge, "%s still says that reader %d lets data wait", o.name, a.id)
		}
	}
	for kind, id := range o.open {
		want := len(o.world.source.state[kind])
		if s := &o.states[kind]; id != 0 && !givenUp(s) && (s.State != wire.Live || s.ResourceVersion != o.world.source.rv || int(s.Objects) != want) {
			o.world.fail(ErrConverge, "%s: %s is %+v, and the source is at %d with %d objects", o.name, resourceNames[kind], *s, o.world.source.rv, want)
		}
	}
}

func (o *edgeObject) inspect() {
	o.step(&wire.Inspect{Request: 1})
	o.drain()
}

// checkHeld: what the object holds keeps to its bounds.
func (o *edgeObject) checkHeld() {
	o.inspect()
	var ids []uint32
	for kind, id := range o.open {
		if id != 0 {
			ids = append(ids, id)
		}
		if o.states[kind].State == wire.Live { // and none of a new list is there
			o.checkVersions(o.inspected, id)
		}
	}
	o.checkMemory(o.inspected, ids)
}

// close ends what the object holds, and looks for what is left.
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

// edgeOps are what happens to objects at the edge.
var edgeOps = []kindOfOp{
	{"evict", 8, onObject((*edgeObject).sleep)},
	{"evict-behind", 4, (*world).opEvictBehind},
	{"restart-object", 4, onObject((*edgeObject).restart)},
}

func onObject(f func(*edgeObject)) func(*world, *api.Rand) {
	return func(w *world, r *api.Rand) {
		if len(w.objects) > 0 {
			f(pick(r, w.objects...))
		}
	}
}

// opEvictBehind takes an object out of memory whose readers have not had all of it.
func (w *world) opEvictBehind(r *api.Rand) {
	burst := api.NewRand(r.Uint64()) // the same in every shape
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

// buildEdge makes homes, which connectors feed, and regions, which read from
// homes, and returns what readers may connect to.
func (w *world) buildEdge(connectors []server, r *api.Rand) []server {
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
