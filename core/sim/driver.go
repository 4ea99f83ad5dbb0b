package sim

import (
	"strings"

	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/wire"
)

// driver runs an engine, simulates its clock and its connection, and serves its requests
// for I/O.
type driver struct {
	world     *world
	name      string
	config    wire.Config
	engine    Engine
	link      link
	right     string   // the only namespace that the engine may read; "" means all
	fetches   *fetches // requests of an engine that reads Kubernetes directly; otherwise nil
	skew      int64    // offset of the engine's clock
	jumped    bool     // the clock has jumped
	wake      int64    // time of the requested tick, on the world's clock
	late      bool     // the tick was requested for now, and is delayed by world.lateMillis
	busyUntil int64
	batch     int
	// onOutput processes one frame of output; settled is called after all output was processed.
	onOutput func(wire.Frame)
	settled  func()
	// rouse creates a new engine if the engine is nil because it was evicted from memory. lost,
	// if not nil, is called after the stream breaks.
	rouse, lost func()
	stepped     int   // number of inputs to the engine
	steppedAt   int64 // time of the last input
}

// start replaces the engine with a new one.
func (d *driver) start() {
	open := d.world.setup.Engine
	if open == nil || d.fetches != nil {
		open = d.world.setup.native
	}
	engine, err := open(d.config.Append(nil))
	must(err)
	d.engine, d.wake, d.late = engine, 0, false
	d.tick()
}

// lead sets the possible servers of the driver, and chooses the one to connect to first.
func (d *driver) lead(servers []server, r *lite.Rand) {
	d.link = link{driver: d, servers: servers, target: pick(r, servers...), room: 4}
	d.link.tap.link = &d.link
}

// move performs the possible steps of the link and the engine, and reports whether there
// were any.
func (d *driver) move() bool {
	l := &d.link
	if l.latency >= slowMillis {
		l.slow = d.world.now
	}
	moved := !d.busy() && l.answer()
	moved = l.timeout() || moved
	moved = l.pull() || moved
	moved = l.deliver() || moved
	if d.fetches != nil {
		moved = d.fetches.move() || moved
	}
	return d.run() || moved
}

func (d *driver) busy() bool { return d.world.now < d.busyUntil }

func (d *driver) tick() { d.engine.Tick(d.world.now + d.skew) }

type frame interface{ Append([]byte) []byte }

// step passes a frame to the engine and overwrites the buffer afterwards.
func (d *driver) step(f frame) {
	d.tick()
	d.stepped, d.steppedAt = d.stepped+1, d.world.now
	data := f.Append(nil)
	if err := d.engine.Step(data); err != nil {
		d.world.fail(ErrProtocol, "%s refused %T: %v", d.name, f, err)
	}
	for i := range data {
		data[i] = 0xee
	}
}

// run ticks the engine when a tick is due, and processes the output of the engine. It
// reports whether there was output.
func (d *driver) run() bool {
	if d.busy() {
		return false
	}
	if d.overdue() {
		d.wake, d.late = 0, false
		d.tick()
	}
	return d.drain()
}

func (d *driver) overdue() bool { return d.wake != 0 && d.world.now >= d.wake }

func (d *driver) drain() bool {
	moved := false
	for out := d.engine.Ready(); out != nil; out = d.engine.Ready() {
		moved = true
		d.batch++
		d.world.trace(out)
		frames(wire.FromEngine, append([]byte(nil), out...), d.output)
		d.engine.Advance()
	}
	d.link.tap.spoiled = nil
	if moved {
		d.settled()
	}
	return moved
}

func (d *driver) output(frame wire.Frame) {
	l := &d.link
	switch f := frame.(type) {
	case *wire.WakeAt:
		d.wake, d.late = 0, false
		if at := f.Millis - d.skew; f.Millis != 0 {
			d.late = at <= d.world.now && d.world.lateMillis > 0
			if d.wake = max(at, d.world.now); d.late {
				d.wake += d.world.lateMillis
			}
		}
	case *wire.OpenStream:
		l.forget()
		l.opening = f.Stream
	case *wire.CloseStream:
		if d.fetches != nil {
			d.fetches.abandon(f.Stream)
			return
		}
		l.forget()
		l.opening = 0
	case *wire.Fetch:
		d.fetches.ask(f.Stream, strings.Clone(f.Path))
	case *wire.SendStream:
		if f.Stream != l.stream {
			d.world.fail(ErrProtocol, "%s sends on stream %d, and %d is open", d.name, f.Stream, l.stream)
			return
		}
		l.tap.asked(f.Data)
		l.send(&l.up, f.Data)
	default:
		d.onOutput(f)
	}
}

func parse[F interface{ Parse([]byte) error }](payload []byte, f F) F {
	must(f.Parse(payload))
	return f
}

// messageProcessed processes the engine's output after each message, unless
// Setup.Batched delays it.
func (d *driver) messageProcessed() {
	if !d.world.setup.Batched {
		d.drain()
	}
}

// patience returns how long an engine may report data as live without receiving a message.
func (d *driver) patience() int64 {
	if d.fetches != nil {
		return 3 * directPeriod
	}
	return staleMillis
}

// checkProgress checks that a live collection had progress within three periods.
func (d *driver) checkProgress(what string, at int64) {
	if silence := d.world.now - at; silence > d.patience() {
		d.world.fail(ErrStale, "%s, %s is live, and had no progress for %d ms", d.name, what, silence)
	}
}

func (d *driver) nextEvent() int64 {
	now := d.world.now
	next := earlier(d.link.nextEvent(), d.busyUntil, now)
	if d.wake != 0 {
		next = earlier(next, d.wake, now)
	}
	if d.fetches != nil {
		next = earlier(next, d.fetches.nextEvent(), now)
	}
	return next
}
