package core

import (
	"slices"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/objcache"
	"github.com/watchglass/watchglass/core/owners"
	"github.com/watchglass/watchglass/core/wire"
)

// Decoder appends the plain JSON of a body to dst. The dictionary is the one the
// body was compressed with, or nil. For a body with codec Delta, base is the plain
// JSON of the version that the delta applies to. The core never decodes bodies
// itself; the program supplies the codec.
type Decoder func(dst []byte, body api.Body, dictionary, base []byte) ([]byte, error)

const (
	defaultMaxBytes   = 512 << 20
	defaultMaxHistory = 1024
	defaultCredit     = 4 << 20
	// readyBytes is the approximate maximum size of the output of one Ready. The next
	// Ready returns the rest.
	readyBytes = 1 << 20
	// lingerMillis is how long a collection without users is retained.
	lingerMillis = 5000
)

// Loader returns the body of a persisted chunk, or nil if the body no longer exists.
// The argument name is the field Body of the chunk's RestoreChunk frame, and length is
// the size of the body in bytes. The engine does not use the body after the next call
// of the Loader.
type Loader func(name, length uint32) []byte

// Engine is the client side of Kubernetes watches for one origin.
type Engine struct {
	cfg    wire.Config
	decode Decoder
	load   Loader // nil if all chunks include their bodies
	rand   *lite.Rand

	now  int64 // never goes back
	tick int64 // the last time given to Tick
	skew int64 // now minus tick, the total by which the clock went back

	origin            origin
	sharedCollections []*sharedCollection
	complete          []*sharedCollection // collections without selectors and with bodies
	collections       []*collection
	used              uint64 // bytes of all objects when the memory limit was last checked
	watches           watches
	views             []*liveView
	viewWork          int
	viewWorkLeft      int          // until the next Tick
	owners            owners.Graph // empty unless a view needs it
	snapshots         []*openSnapshot
	readers           []*attached
	objects           *objcache.Cache
	handles           []*handle
	bodyWaits         []bodyWait

	out   []byte // frames for the next Ready
	ready []byte // the output of the last Ready
	woken int64  // time of the last WakeAt
	due   bool   // a Tick has reached woken

	message []byte // buffer for a message to an attached reader
	scratch []byte // buffer for a decoded body
	packed  []byte // buffer for the packed base of a body
	base    []byte // buffer for a decoded base
	plain   []byte
}

// New returns an engine for a connector, or for the Kubernetes API that the
// Config names. The argument config is one encoded wire.Config frame, and decode may
// be nil if the program never requests bodies.
func New(config []byte, decode Decoder) (*Engine, error) {
	t, payload, rest, err := wire.Next(config)
	if err != nil {
		return nil, err
	}
	if t != wire.TypeConfig || len(rest) > 0 {
		return nil, api.Protocol("an engine opens with exactly one Config frame")
	}
	e := &Engine{decode: decode, viewWork: viewWork, viewWorkLeft: viewWork}
	if err := e.cfg.Parse(payload); err != nil {
		return nil, err
	}
	e.cfg.Client = string([]byte(e.cfg.Client))
	if e.cfg.MaxBytes == 0 {
		e.cfg.MaxBytes = defaultMaxBytes
	}
	if e.cfg.MaxHistory == 0 {
		e.cfg.MaxHistory = defaultMaxHistory
	}
	if e.cfg.Credit == 0 {
		e.cfg.Credit = defaultCredit
	}
	e.rand = lite.NewRand(e.cfg.Seed)
	e.cfg.Kubernetes = string([]byte(e.cfg.Kubernetes))
	if e.cfg.Kubernetes == "" {
		e.origin = newConnection(e)
	} else {
		e.origin = newKubernetes(e)
	}
	e.objects = objcache.New(objcache.Config{}, objectSources{e})
	return e, nil
}

// LoadWith sets the Loader for bodies that RestoreChunk omits. Call it before you open
// a collection to restore.
func (e *Engine) LoadWith(load Loader) { e.load = load }

// Step processes one or more frames with commands or results of I/O. If a frame is
// invalid, Step applies no frame and returns an error that identifies it. All other
// failures of commands are reported by frames from Ready.
func (e *Engine) Step(frames []byte) error {
	var parsed []wire.Frame
	err := wire.FromProgram.Each(frames, func(_ wire.Type, f wire.Frame) error {
		parsed = append(parsed, f)
		return nil
	})
	if err == nil {
		for _, f := range parsed {
			e.apply(f)
		}
	}
	return err
}

// Tick sets the time in milliseconds since the epoch.
func (e *Engine) Tick(nowMillis int64) {
	if nowMillis < e.tick {
		e.skew += e.tick - nowMillis
	}
	e.tick = nowMillis
	e.now = nowMillis + e.skew
	e.viewWorkLeft, e.due = e.viewWork, e.due || e.woken != 0 && e.woken <= e.now
	e.origin.tick()
	for _, b := range e.sharedCollections {
		b.reflector.Tick(e.now)
		b.cacher.Tick(e.now)
	}
	e.objects.Tick(e.now)
	for _, v := range e.views {
		if v.view != nil {
			v.view.Tick(e.now)
		}
	}
	e.dropIdle()
}

// Ready returns frames for the program, or nil if there is nothing to do now.
// Until Advance it returns the same frames again.
func (e *Engine) Ready() []byte {
	if len(e.ready) > 0 {
		return e.ready
	}
	e.resetCorrupt()
	e.objects.Settle()
	e.answerBodyWaits()
	e.origin.flush()
	for _, c := range e.collections {
		c.report(e)
	}
	for _, x := range slices.Clone(e.snapshots) {
		if len(e.out) < readyBytes {
			x.report(e)
		}
	}
	e.ready, e.out = e.out, e.ready[:0]
	e.ready = e.reportWatches(e.ready)
	unfinished := e.buildJoins()
	e.followOwners()
	unfinished = e.buildViews() || unfinished
	for _, v := range e.views {
		e.ready = v.report(e, e.ready)
	}
	for _, h := range e.handles {
		if len(e.ready) < readyBytes {
			e.ready = h.report(e, e.ready)
		}
	}
	for _, r := range e.readers {
		e.ready = r.report(e, e.ready)
	}
	e.ready = e.appendWake(e.ready, unfinished)
	if len(e.ready) == 0 {
		return nil
	}
	return e.ready
}

// Advance releases the output of the last Ready.
func (e *Engine) Advance() { e.ready = e.ready[:0] }

// appendWake appends a WakeAt if the time of the next Tick has changed. If work is
// unfinished, it requests a Tick for the current time.
func (e *Engine) appendWake(out []byte, unfinished bool) []byte {
	next := earlier(e.origin.nextTick(), e.objects.NextTick())
	for _, b := range e.sharedCollections {
		next = earlier(next, b.nextTick())
	}
	for _, v := range e.views {
		if v.view != nil {
			next = earlier(next, v.view.NextTick())
		}
	}
	for i := range e.bodyWaits {
		next = earlier(next, e.bodyWaits[i].until)
	}
	for _, r := range e.readers {
		if r.room > 0 {
			next = earlier(next, r.wakeAt)
		}
	}
	if unfinished {
		next = e.now
	}
	if next == e.woken && !(unfinished && e.due) {
		return out
	}
	e.woken, e.due = next, false
	return (&wire.WakeAt{Millis: e.outside(next)}).Append(out)
}

// outside converts a time of the engine to the clock of Tick. Zero stays zero.
func (e *Engine) outside(millis int64) int64 {
	if millis == 0 {
		return 0
	}
	return millis - e.skew
}

// earlier returns the earlier of two times; zero means never.
func earlier(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
