package sim

import (
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/wire"
)

// onLink returns an op that applies a network fault between a random engine and
// its server.
func onLink(f func(*driver, *lite.Rand)) func(*world, *lite.Rand) {
	return func(w *world, r *lite.Rand) {
		d := pick(r, w.drivers()...)
		if !d.busy() && d.engine != nil {
			d.drain()
			f(d, r)
			d.drain()
		}
	}
}

func cut(d *driver, r *lite.Rand) { d.link.cut(r) }

func duplicate(d *driver, _ *lite.Rand) { d.link.duplicate() }

func stall(d *driver, r *lite.Rand) { d.link.stalled = d.world.now + 500 + r.Int63n(20_000) }

func latency(d *driver, r *lite.Rand) {
	d.link.latency, d.link.room = pick[int64](r, 0, 5, 100, 3000), pick(r, 1, 4, 50)
}

func halfOpen(d *driver, _ *lite.Rand) {
	if d.fetches != nil {
		d.fetches.halfOpen()
	}
	if d.link.stream != 0 {
		d.link.silent, d.link.up, d.link.down = true, nil, nil
		d.world.saw(HalfOpen)
	}
}

// drop loses a random number of the last messages in one direction, and all later
// messages, until a timeout breaks the stream.
func drop(d *driver, r *lite.Rand) {
	l := &d.link
	if d.fetches != nil {
		d.fetches.drop(r)
	}
	if l.stream == 0 || l.breaks != 0 {
		return
	}
	l.breaks = d.world.now + pick[int64](r, 1000, 10_000, 40_000, 120_000)
	l.deaf = r.Int63n(2) == 0
	queue := &l.up
	if l.deaf {
		queue = &l.down
	}
	if n := len(*queue); n > 0 {
		*queue = (*queue)[:r.Int63n(int64(n))]
		d.world.saw(MessageDropped)
	}
}

// opTear commits a revision with several changes, and cuts a connection while the
// revision is in flight.
func (w *world) opTear(r *lite.Rand) {
	d := pick(r, w.drivers()...)
	before := d.link.latency
	d.link.latency = max(before, 100)
	w.opTransaction(r)
	w.settle()
	if !d.busy() && d.engine != nil {
		d.link.cut(r)
		d.drain()
	}
	d.link.latency = before
}

func failOver(d *driver, r *lite.Rand) {
	d.link.target = pick(r, d.link.servers...)
	if d.fetches != nil {
		d.fetches.target = pick(r, d.fetches.servers...)
	}
	d.link.cut(r)
}

func clock(d *driver, r *lite.Rand) {
	d.tick()
	by := pick[int64](r, 1000, 20_000, 3_600_000, -1000, -20_000, -3_600_000)
	d.skew, d.jumped = d.skew+by, true
	d.tick()
	if by > 0 {
		d.world.saw(ClockAhead)
	} else {
		d.world.saw(ClockBack)
	}
}

// busy suspends the program of a reader for a random time.
func busy(rd *reader, r *lite.Rand) { rd.busyUntil = rd.world.now + 100 + r.Int63n(20_000) }

func reopen(rd *reader, r *lite.Rand) { rd.reload(r.Int63n(3) > 0) }

func reconnect(d *driver, _ *lite.Rand) { d.step(&wire.Reconnect{}) }
