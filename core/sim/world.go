package sim

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/body"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/wire"
)

// The violations that the simulator detects in addition to those of package
// check.
var (
	ErrPanic     = errors.New("panic: the engine or connector panicked")
	ErrProtocol  = errors.New("protocol: one side refused a message of the other")
	ErrWire      = errors.New("wire: a session split or overtook a revision")
	ErrBack      = errors.New("back: something went back in time")
	ErrStale     = errors.New("stale: a collection is silently stale")
	ErrReason    = errors.New("reason: a waiting reader does not receive the reason")
	ErrView      = errors.New("view: a view is not the filtered, sorted list")
	ErrList      = errors.New("list: a response differs from the state at its version")
	ErrObject    = errors.New("object: a handle does not show the object")
	ErrTimeout   = errors.New("timeout: a watch ran longer than its timeout")
	ErrCredit    = errors.New("credit: a delivery exceeds the granted credit")
	ErrConverge  = errors.New("converge: a reader did not reach the state of the source")
	ErrPrevious  = errors.New("previous: an update does not have the version that the watch delivered before it")
	ErrMemory    = errors.New("memory: usage exceeds the limits")
	ErrLeak      = errors.New("leak: an unused resource is still held")
	ErrNotWoken  = errors.New("not woken: a session has output and its reader was not woken")
	ErrEnd       = errors.New("end: a watch ended without a reason or with an impossible one")
	ErrDrain     = errors.New("drain: a slow watch lost the end of its initial events")
	ErrBody      = errors.New("body: an object has the body of another version, or none")
	ErrRestore   = errors.New("restore: the restored state differs from the stored one")
	ErrDisclosed = errors.New("disclosed: a reader was sent a part of an object that it may not read")
	ErrLoop      = errors.New("loop: the participants exchange messages endlessly")
)

// Setup configures a run. The seed determines the values of zero fields.
type Setup struct {
	Message    int // approximate bytes of a message
	History    int // events that a connector's history keeps
	Window     int // events that a reader's history keeps
	Credit     uint64
	Budget     uint64 // memory limit of a reader in bytes; 1 for the default
	Readers    int
	Connectors int
	Shape      Shape
	Single     bool // every revision is one change, as in Kubernetes
	Batched    bool // engines return output only after all input
	ViewWork   int  // see core.Engine.LimitViewWork; if negative, the default of package core
	// Engine creates the engine of a reader; the default is package core.
	Engine func(config []byte) (Engine, error)
	Codec  Codec
	Whole  bool // connectors send no body deltas
}

// Shape selects the programs between the readers and the source.
type Shape uint8

// The shapes of a world.
const (
	AnyShape   Shape = iota // chosen by the seed
	Connectors              // readers of connectors
	Edge                    // readers of edge objects, which connectors feed
	Direct                  // readers of Kubernetes itself
)

// ShapeOf returns the shape of a seed's world.
func ShapeOf(seed uint64) Shape {
	return pick(lite.NewRand(seed^0x5a9e), Connectors, Connectors, Edge, Direct)
}

// startMillis and firstVersion are large, so that no check passes only because values are
// near zero.
const (
	startMillis  = 1_000_000_000
	firstVersion = 1000
	// oldestMillis exceeds the sum of all delays of one hop: an undetected outage of the
	// source, lag, network, and twice three progress periods.
	oldestMillis = 90_000
	slowMillis   = 1000
	maxMoves     = 200_000
)

// world contains all participants of a run.
type world struct {
	setup      Setup
	now        int64
	lateMillis int64 // delay of a Tick that is requested for now, so that other input is processed first
	source     *source
	sources    []*source
	connectors []*connector
	objects    []*edgeObject
	kubes      []*kubeAPI
	readers    []*reader
	queued     []func() // pending actions of programs
	quiet      bool     // faults are over
	scarce     bool     // edge objects may have little memory
	lineage    uint64   // number of connector starts; delta epochs are derived from it
	planted    *planted
	codecs     [kinds]Codec
	encoders   [kinds]*body.Encoder
	compressed map[*cacher.Update]*cacher.Update
	result     *Result
}

// violation is the panic value that ends a run.
type violation struct{ err error }

func (w *world) fail(err error, format string, args ...any) {
	w.violate(fmt.Errorf("%w: %s", err, fmt.Sprintf(format, args...)))
}

func (w *world) violate(err error) { panic(violation{err}) }

func (w *world) saw(s Situation) { w.result.Seen[s]++ }

func (w *world) later(f func()) { w.queued = append(w.queued, f) }

func newWorld(seed uint64, setup Setup, result *Result) *world {
	r := lite.NewRand(seed)
	def := func(have *int, from ...int) {
		if n := pick(r, from...); *have == 0 {
			*have = n
		}
	}
	def(&setup.Message, 200, 700, 4096)
	def(&setup.History, 4, 16, 64, 200)
	def(&setup.Window, 4, 16, 100, 1024)
	def(&setup.Readers, 1, 2, 3)
	def(&setup.Connectors, 1, 2, 3)
	if credit := pick(r, 300, 3000, 1<<20); setup.Credit == 0 {
		setup.Credit = uint64(credit)
	}
	scarce := setup.Budget == 0
	if budget := pick(r, 1, 1, 1, 1, 1, 6000); setup.Budget == 0 {
		setup.Budget = uint64(budget)
	}
	setup.Batched = r.Int63n(4) == 0 || setup.Batched
	if setup.ViewWork == 0 {
		setup.ViewWork = []int{0, 1, 100, 400}[seed%4]
	}
	w := &world{setup: setup, now: startMillis, result: result, scarce: scarce}
	w.planted, w.compressed = newPlanted(), map[*cacher.Update]*cacher.Update{}
	if seed%8 >= 4 {
		w.lateMillis = 20
	}
	w.chooseCodec(seed)
	w.source = newSource("h1", firstVersion, setup.Codec.Padding, w.planted)
	w.sources = []*source{w.source}
	for range r.Int63n(30) {
		kind, key := w.source.randomKey(r)
		w.source.commit(w.now, []change{w.source.randomChange(r, kind, key)})
	}
	asking := lite.NewRand(seed ^ 0xa5c5)
	for i := range setup.Connectors {
		c := &connector{world: w, id: i, asks: asking.Int63n(2) == 0}
		c.start()
		w.connectors = append(w.connectors, c)
	}
	servers := make([]server, len(w.connectors))
	for i, c := range w.connectors {
		servers[i] = c
	}
	if setup.Shape == Edge || setup.Shape == AnyShape && ShapeOf(seed) == Edge {
		servers = w.buildEdge(servers, lite.NewRand(seed^0xed6e))
	}
	if setup.Shape == Direct || setup.Shape == AnyShape && ShapeOf(seed) == Direct {
		w.setup.Single = true
		w.buildKubes(lite.NewRand(seed ^ 0xd17e))
	}
	for i := range setup.Readers {
		rd := &reader{id: i}
		rd.world, rd.name, rd.onOutput, rd.settled = w, fmt.Sprintf("reader %d", i), rd.handleOutput, rd.judgeHeld
		rd.config = wire.Config{Seed: r.Uint64(), Client: "sim", MaxHistory: setup.Window, Credit: setup.Credit}
		if setup.Budget > 1 {
			rd.config.MaxBytes = setup.Budget
		}
		rd.right = rightOf(seed, i)
		rd.lead(servers, r)
		if len(w.kubes) > 0 {
			rd.readKubernetes(lite.NewRand(seed + uint64(i)))
		}
		rd.open()
		w.readers = append(w.readers, rd)
	}
	for i, d := range w.drivers() {
		d.link.allowance = allowanceOf(seed, i)
	}
	return w
}

// sourceNamed returns the source with the given cluster ID, as connectors and direct
// engines report it, or nil.
func (w *world) sourceNamed(name string) *source {
	name = strings.TrimPrefix(name, "kube-")
	for _, s := range w.sources {
		if s.name == name {
			return s
		}
	}
	return nil
}

// drivers returns the drivers of all engines.
func (w *world) drivers() []*driver {
	var all []*driver
	for _, o := range w.objects {
		all = append(all, &o.driver)
	}
	for _, r := range w.readers {
		all = append(all, &r.driver)
	}
	return all
}

// hangUp breaks all streams and requests to a server.
func (w *world) hangUp(s server, why string) {
	for _, d := range w.drivers() {
		if d.link.server == s {
			d.link.lose(why)
		}
	}
	for _, k := range w.kubes {
		if server(k.connector) == s {
			k.next = 0
			for _, rd := range w.readers {
				rd.fetches.hangUp(k)
			}
		}
	}
}

// guard runs f. It returns the violation or the panic that ends f, or nil.
func (w *world) guard(f func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case violation:
			err = p.err
		default:
			err = fmt.Errorf("%w: %v\n%s", ErrPanic, p, stack())
		}
	}()
	f()
	return nil
}

func stack() string {
	lines := strings.Split(string(debug.Stack()), "\n")
	return strings.Join(lines[:min(len(lines), 30)], "\n")
}

// settle performs all steps that are possible at the current time.
func (w *world) settle() {
	for range maxMoves {
		if !w.move() {
			for _, o := range w.objects {
				o.checkFresh()
			}
			for _, r := range w.readers {
				r.checkFresh()
			}
			return
		}
	}
	w.fail(ErrLoop, "after %d moves at one time there is still work", maxMoves)
}

func (w *world) move() bool {
	moved := false
	for _, c := range w.connectors {
		moved = c.pull() || moved
	}
	for _, k := range w.kubes {
		k.follow()
	}
	for _, o := range w.objects {
		moved = o.move() || moved
	}
	for _, rd := range w.readers {
		moved = rd.move() || moved
	}
	queued := w.queued
	w.queued = nil
	for _, f := range queued {
		f()
	}
	return moved || len(queued) > 0
}

// pass advances the time, and performs all steps that become possible meanwhile.
func (w *world) pass(millis int64) {
	end := w.now + millis
	for {
		w.settle()
		next := int64(0)
		for _, c := range w.connectors {
			next = earlier(next, c.nextEvent(), w.now)
		}
		for _, o := range w.objects {
			next = earlier(next, o.nextEvent(), w.now)
		}
		for _, rd := range w.readers {
			next = earlier(next, rd.nextEvent(), w.now)
		}
		if next == 0 || next > end {
			break
		}
		w.now = next
	}
	w.now = end
	w.settle()
}

// versionAt returns the version that the source had at a time.
func (w *world) versionAt(millis int64) api.ResourceVersion {
	rv := w.source.first()
	for i := len(w.source.revisions) - 1; i >= 0; i-- {
		if w.source.revisions[i].at <= millis {
			return w.source.revisions[i].rv
		}
	}
	return rv
}
