package sim

import (
	"fmt"
	"slices"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
)

// Op is one event of a simulation. Its seed decides the details, so the effect
// of an op does not depend on which other ops are removed.
type Op struct {
	Kind string
	Seed uint64
}

func (o Op) String() string { return fmt.Sprintf("%-18s %016x", o.Kind, o.Seed) }

// kindOfOp is a kind of op. weight determines how often programs contain it.
type kindOfOp struct {
	name   string
	weight int
	do     func(w *world, r *lite.Rand)
}

var opKinds = []kindOfOp{
	{"write", 36, (*world).opWrite},
	{"transaction", 10, (*world).opTransaction},
	{"burst", 6, (*world).opBurst},
	{"rewrite", 4, (*world).opRewrite},
	{"corrupt", 1, (*world).opCorrupt},
	{"compact", 3, (*world).opCompact},
	{"new-source", 1, (*world).opNewSource},
	{"relist", 3, (*world).opRelist},
	{"leader-loss", 3, (*world).opLeaderLoss},
	{"lag", 4, (*world).opLag},
	{"restart-connector", 3, (*world).opRestartConnector},
	{"connector-down", 2, (*world).opConnectorDown},
	{"cut", 5, onLink(cut)},
	{"tear", 3, (*world).opTear},
	{"drop", 3, onLink(drop)},
	{"half-open", 3, onLink(halfOpen)},
	{"stall", 3, onLink(stall)},
	{"latency", 4, onLink(latency)},
	{"duplicate", 3, onLink(duplicate)},
	{"fail-over", 5, onLink(failOver)},
	{"clock", 3, onLink(clock)},
	{"busy", 3, onReader(busy)},
	{"reopen", 2, onReader(reopen)},
	{"open-collection", 8, onReader(openCollection)},
	{"close-collection", 2, onReader(closeCollection)},
	{"open-rows", 8, (*world).opOpenRows},
	{"open-watch", 16, onReader(openWatch)},
	{"open-slow-watch", 3, onReader(openSlowWatch)},
	{"close-watch", 3, onReader(closeWatch)},
	{"grant", 8, onReader(grant)},
	{"open-view", 6, onReader(openView)},
	{"move-view", 4, onReader(moveView)},
	{"close-view", 1, onReader(closeView)},
	{"acquire", 5, onReader(acquire)},
	{"release", 2, onReader(release)},
	{"get-object", 8, onReader(getObject)},
	{"list", 5, onReader(list)},
	{"get", 2, onReader(get)},
	{"reconnect", 1, onLink(reconnect)},
	{"snapshot", 8, onReader(snapshot)},
	{"restore", 2, onReader(restore)},
	{"wait", 8, (*world).opWait},
	{"idle", 1, (*world).opIdle},
}

// Program returns the list of ops of a seed.
func Program(seed uint64) []Op {
	r := lite.NewRand(seed ^ 0x5eed)
	total := int64(0)
	possible := opKinds
	switch ShapeOf(seed) {
	case Edge:
		possible = slices.Concat(opKinds, edgeOps)
	case Direct:
		possible = slices.Concat(opKinds, kubeOps)
	}
	for _, k := range possible {
		total += int64(k.weight)
	}
	ops := []Op{{"open-collection", r.Uint64()}, {"open-watch", r.Uint64()}, {"open-view", r.Uint64()}}
	for range 40 + r.Int63n(120) {
		n := r.Int63n(total)
		for _, k := range possible {
			if n -= int64(k.weight); n < 0 {
				ops = append(ops, Op{k.name, r.Uint64()})
				break
			}
		}
	}
	return ops
}

// timed lists the ops whose effect depends on received data, such as the version to
// request or the watch to close.
var timed = []string{"open-watch", "open-slow-watch", "close-watch", "busy", "reopen", "snapshot", "restore", "open-rows"}

// WithoutTiming removes the ops whose effect depends on timing. Readers then end
// in the same state in every setup.
func WithoutTiming(ops []Op) []Op {
	return slices.DeleteFunc(slices.Clone(ops), func(op Op) bool { return slices.Contains(timed, op.Kind) })
}

// do executes an op after some time has passed.
func (w *world) do(op Op) {
	r := lite.NewRand(op.Seed)
	w.pass(pick[int64](r, 0, 0, 10, 100, 300, 1000) + r.Int63n(50))
	for _, k := range slices.Concat(opKinds, edgeOps, kubeOps) {
		if k.name == op.Kind {
			k.do(w, r)
			w.settle()
			return
		}
	}
	panic("no such op: " + op.Kind)
}

func (w *world) opWrite(r *lite.Rand) {
	for range 1 + r.Int63n(3) {
		kind, key := w.source.randomKey(r)
		w.source.commit(w.now, []change{w.source.randomChange(r, kind, key)})
	}
}

func (w *world) opTransaction(r *lite.Rand) {
	var changes []change
	taken := map[string]bool{}
	for range 2 + r.Int63n(8) {
		kind, key := w.source.randomKey(r)
		if id := resourceNames[kind] + string(key); !taken[id] {
			taken[id] = true
			changes = append(changes, w.source.randomChange(r, kind, key))
		}
	}
	if w.setup.Single {
		for i := range changes {
			w.source.commit(w.now, changes[i:i+1:i+1])
		}
		return
	}
	w.source.commit(w.now, changes)
}

func (w *world) opBurst(r *lite.Rand) {
	for range 10 + r.Int63n(40) {
		w.opWrite(r)
	}
}

// opRewrite changes one object many times, including its labels.
func (w *world) opRewrite(r *lite.Rand) {
	key := keyOf(pods, int(r.Int63n(24)))
	for range 5 + r.Int63n(15) {
		w.source.commit(w.now, []change{{kind: pods, key: key, put: w.source.randomPut(r, pods, key)}})
		w.pass(r.Int63n(30))
	}
}

func (w *world) opCorrupt(r *lite.Rand) {
	kind, key := w.source.randomKey(r)
	own := w.source.sentinel(kind, key)
	fault := pick(r, api.Internal("the object cannot be read: "+own), api.TooLarge("the object is too large: "+own))
	w.source.commit(w.now, []change{{kind: kind, key: key, fault: fault}})
}

func (w *world) opCompact(r *lite.Rand) {
	s := w.source
	if n := len(s.revisions); n > 0 {
		s.compacted = max(s.compacted, s.revisions[r.Int63n(int64(n))].rv)
	}
}

// opNewSource replaces the database with a different one, whose versions may overlap with those
// of the old one.
func (w *world) opNewSource(r *lite.Rand) {
	name := fmt.Sprintf("h%d", len(w.sources)+1)
	s := newSource(name, pick(r, firstVersion, w.source.rv, w.source.rv/2+1, w.source.rv+500), w.setup.Codec.Padding, w.planted)
	w.source = s
	w.sources = append(w.sources, s)
	for _, rd := range w.readers {
		if rd.fetches != nil {
			rd.fetches.hangUp(nil)
		}
	}
	for range 1 + r.Int63n(20) {
		w.opWrite(r)
	}
}

func (w *world) connector(r *lite.Rand) *connector { return pick(r, w.connectors...) }

func (w *world) opRelist(r *lite.Rand) {
	c := w.connector(r)
	for _, f := range c.feeds {
		f.broken = true
	}
}

func (w *world) opLeaderLoss(r *lite.Rand) {
	c := w.connector(r)
	c.cutOff = w.now + pick[int64](r, 3000, 12_000, 40_000, 150_000)
	if r.Int63n(2) == 0 {
		c.fail()
	}
	w.saw(LeaderLost)
}

// hopelessMillis is a lag so long that readers must report stale data.
const hopelessMillis = 2*oldestMillis + 30_000

func (w *world) opLag(r *lite.Rand) {
	c := w.connector(r)
	c.lag = pick[int64](r, 0, 0, 200, 2000, 15_000)
	if !c.asks || r.Int63n(3) > 0 {
		return
	}
	c.lag = hopelessMillis
	for begun := w.now; w.now < begun+2*hopelessMillis; w.pass(5000) {
		w.opWrite(r)
	}
}

func (w *world) opRestartConnector(r *lite.Rand) {
	c := w.connector(r)
	c.restart()
	c.lag = pick[int64](r, 0, c.lag, 2000, 15_000)
	w.saw(ConnectorRestarted)
}

func (w *world) opConnectorDown(r *lite.Rand) {
	c := w.connector(r)
	c.restart()
	c.downUntil = w.now + pick[int64](r, 1000, 10_000, 60_000)
}

func (w *world) opWait(r *lite.Rand) { w.pass(1000 + r.Int63n(40_000)) }

// opIdle reads an object, lets it become idle, and reads it again.
func (w *world) opIdle(r *lite.Rand) {
	onReader(func(rd *reader, r *lite.Rand) {
		h := rd.acquire(r, true)
		rd.getObject(h)
		w.pass(6*60_000 + r.Int63n(2*60_000))
		if rd.inspect(); slices.Contains(rd.handles, h) {
			rd.getObject(h)
		}
	})(w, r)
}
