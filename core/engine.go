package core

import (
	"slices"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/objcache"
	"github.com/watchglass/watchglass/core/wire"
)

// Decoder turns a body into plain JSON, appended to dst. The dictionary is the
// one the body was made with, nil for none; base is the plain JSON that a body of
// codec Delta is the difference from. The core never looks into a body itself;
// the program around it brings the codec.
type Decoder func(dst []byte, body api.Body, dictionary, base []byte) ([]byte, error)

const (
	defaultMaxBytes   = 512 << 20
	defaultMaxHistory = 1024
	defaultCredit     = 4 << 20
	// readyBytes is about how much one Ready returns; the rest waits for the
	// next.
	readyBytes = 1 << 20
	// lingerMillis is how long a collection that nobody has open is kept.
	lingerMillis = 5000
)

// Loader returns the body of a chunk that was left out when it was handed in, by
// the name that it had in RestoreChunk, and nil if it is not there any more. It has
// that many bytes, which the engine reads before it calls again.
type Loader func(name, length uint32) []byte

// Engine is the whole reader's side for one origin.
type Engine struct {
	cfg    wire.Config
	decode Decoder
	load   Loader // nil where nothing is left out
	rand   *api.Rand

	now  int64 // never goes back
	tick int64 // the last time told
	skew int64 // how far now is ahead of tick, from clocks that went back

	origin      origin
	backings    []*backing
	whole       []*backing // those without selectors and with bodies
	collections []*collection
	used        uint64 // bytes of objects when last looked at
	watches     watches
	views       []*liveView
	exports     []*export
	readers     []*attached
	objects     *objcache.Cache
	handles     []*handle

	out   []byte // frames for the next Ready
	ready []byte // what the last Ready returned
	woken int64  // the last WakeAt

	message []byte // to an attached reader, on its way out
	scratch []byte // a body on its way from compressed to plain
	base    []byte // what it is the difference from
	plain   []byte
	patch   wire.ViewPatch
}

// New opens an engine on a connector, or on a Kubernetes API that it reads itself
// if the Config names one. config is one wire.Config frame; decode may be nil for
// an engine that never hands out bodies.
func New(config []byte, decode Decoder) (*Engine, error) {
	t, payload, rest, err := wire.Next(config)
	if err != nil {
		return nil, err
	}
	if t != wire.TypeConfig || len(rest) > 0 {
		return nil, api.Protocol("an engine opens with exactly one Config frame")
	}
	e := &Engine{decode: decode}
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
	e.rand = api.NewRand(e.cfg.Seed)
	e.cfg.Kubernetes = string([]byte(e.cfg.Kubernetes))
	if e.cfg.Kubernetes == "" {
		e.origin = newConnection(e)
	} else {
		e.origin = newKubernetes(e)
	}
	e.objects = objcache.New(objcache.Config{}, objectSources{e})
	return e, nil
}

// LoadWith says where what RestoreChunk leaves out is to be had.
func (e *Engine) LoadWith(load Loader) { e.load = load }

// Step takes commands and results of I/O, one or more whole frames. An error
// names the frame and what is wrong with it; nothing was applied then. Whatever
// else can go wrong with a command comes as a frame out of Ready.
func (e *Engine) Step(frames []byte) error {
	if err := each(frames, func(t wire.Type, payload []byte) error { return decodeCommand(t, payload, nil) }); err != nil {
		return err
	}
	return each(frames, func(t wire.Type, payload []byte) error { return decodeCommand(t, payload, e) })
}

func each(frames []byte, f func(wire.Type, []byte) error) error {
	for len(frames) > 0 {
		t, payload, rest, err := wire.Next(frames)
		if err != nil {
			return err
		}
		if err := f(t, payload); err != nil {
			return err
		}
		frames = rest
	}
	return nil
}

// Tick tells the time in milliseconds since the epoch.
func (e *Engine) Tick(nowMillis int64) {
	if nowMillis < e.tick {
		e.skew += e.tick - nowMillis
	}
	e.tick = nowMillis
	e.now = nowMillis + e.skew
	e.origin.tick()
	for _, b := range e.backings {
		b.reflector.Tick(e.now)
		b.cacher.Tick(e.now)
	}
	e.objects.Tick(e.now)
	e.dropIdle()
}

// Ready returns frames for the program, or nil when there is nothing more to
// do now. Until Advance it returns the same again.
func (e *Engine) Ready() []byte {
	if len(e.ready) > 0 {
		return e.ready
	}
	e.renewDamaged()
	e.objects.Settle()
	e.origin.flush()
	for _, c := range e.collections {
		c.report(e)
	}
	for _, x := range slices.Clone(e.exports) {
		if len(e.out) < readyBytes {
			x.report(e)
		}
	}
	e.ready, e.out = e.out, e.ready[:0]
	e.ready = e.reportWatches(e.ready)
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
	e.ready = e.appendWake(e.ready)
	if len(e.ready) == 0 {
		return nil
	}
	return e.ready
}

// Advance gives the memory of the last Ready back.
func (e *Engine) Advance() { e.ready = e.ready[:0] }

// appendWake asks for the next Tick if that is another time than last asked.
func (e *Engine) appendWake(out []byte) []byte {
	next := earlier(e.origin.nextTick(), e.objects.NextTick())
	for _, b := range e.backings {
		next = earlier(next, b.nextTick())
	}
	for _, r := range e.readers {
		if r.room > 0 {
			next = earlier(next, r.wakeAt)
		}
	}
	if next == e.woken {
		return out
	}
	e.woken = next
	return (&wire.WakeAt{Millis: e.outside(next)}).Append(out)
}

// outside converts a time of the engine to the clock of Tick; zero stays zero.
func (e *Engine) outside(millis int64) int64 {
	if millis == 0 {
		return 0
	}
	return millis - e.skew
}

// earlier is the smaller of two times, of which zero means never.
func earlier(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
