package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// loop owns an instance and mirrors its open resources. Only the goroutine of run
// accesses the fields below the line. Other goroutines send functions to that goroutine
// through the channel in the field calls.
type loop struct {
	config   Config
	module   *Module
	ctx      context.Context // done when the client closes
	cancel   context.CancelCauseFunc
	calls    chan call
	arrivals chan arrival
	tasks    sync.WaitGroup // the goroutines of streams

	// ---

	epoch    time.Time // start of the clock
	instance *Instance // nil between a failure and the next start
	restart  restart
	wake     time.Time // time of the engine's next tick; zero for never
	lastID   uint32

	streams     map[uint32]*stream
	collections map[uint32]*Collection
	watches     map[uint32]*Watch
	views       map[uint32]*View
	handles     map[uint32]*ObjectHandle
	requests    map[uint32]*pending
	grants      []byte // grants for the patches applied since the last step
}

// call is a function that another goroutine has sent to the loop.
type call struct {
	run  func(l *loop) error
	done chan error // has room for the result
}

// pending is a request that has no response yet.
type pending struct {
	id   uint32
	take func(reply any)
	done chan error // has room for the result
}

func newLoop(config Config, module *Module) *loop {
	l := &loop{
		config: config, module: module,
		epoch: time.Now(),
		calls: make(chan call), arrivals: make(chan arrival),
		streams: map[uint32]*stream{}, collections: map[uint32]*Collection{},
		watches: map[uint32]*Watch{}, views: map[uint32]*View{}, handles: map[uint32]*ObjectHandle{}, requests: map[uint32]*pending{},
	}
	l.ctx, l.cancel = context.WithCancelCause(context.Background())
	return l
}

// now returns the time of a monotonic clock. The clock starts at the system's time and
// ignores later changes to the system's clock.
func (l *loop) now() time.Time { return l.epoch.Add(time.Since(l.epoch)) }

func (l *loop) run() {
	defer l.shutdown()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		timer.Reset(l.idle(l.now()))
		select {
		case k := <-l.calls:
			k.done <- k.run(l)
		case a := <-l.arrivals:
			l.arrived(a)
		case <-timer.C:
			l.timeout()
		case <-l.ctx.Done():
			return
		}
	}
}

// maxIdle is the time between ticks while there is no deadline.
const maxIdle = time.Minute

// idle returns the time until the next deadline, or maxIdle if there is none.
func (l *loop) idle(now time.Time) time.Duration {
	next := l.wake
	if l.instance == nil {
		next = l.restart.at
	}
	if next.IsZero() {
		return maxIdle
	}
	return max(next.Sub(now), 0)
}

func (l *loop) timeout() {
	if l.instance != nil {
		l.wake = time.Time{}
		_ = l.step(nil)
		return
	}
	if !l.now().Before(l.restart.at) {
		if err := l.start(); err != nil {
			l.failed(err)
		}
	}
}

// settle runs all ticks that are due. It thereby completes work that the engine has split
// across several ticks.
func (l *loop) settle() {
	for l.instance != nil && !l.wake.IsZero() && !l.wake.After(l.now()) {
		l.timeout()
	}
}

// start creates an instance and reopens the resources of the program in it. After an
// error there is no instance.
func (l *loop) start() error {
	instance, err := l.module.NewInstance(context.WithoutCancel(l.ctx))
	if err != nil {
		return err
	}
	config := wire.Config{
		Seed: rand.Uint64(), Client: l.config.Client, MaxBytes: l.config.MaxBytes, MaxHistory: l.config.MaxHistory,
	}
	if err := instance.Open(config.Append(nil)); err != nil {
		_ = instance.Close(context.WithoutCancel(l.ctx))
		return err
	}
	l.instance, l.wake = instance, time.Time{}
	l.restart.started(l.now())
	l.reopen()
	return nil
}

// step advances the clock, passes frames to the engine, and handles the output. The
// frames may be empty. Without an instance, step does nothing. It returns an error only
// if the engine refuses the frames. It does not return a failure of the instance, because
// the next instance opens the same resources.
func (l *loop) step(frames []byte) error {
	if l.instance == nil {
		return nil
	}
	return l.handled(l.advance(frames))
}

// command is like step, but does not advance the clock.
func (l *loop) command(frames []byte) error {
	if l.instance == nil {
		return nil
	}
	return l.handled(l.instance.Step(frames))
}

func (l *loop) advance(frames []byte) error {
	err := l.instance.Tick(l.now().UnixMilli())
	if err == nil && len(frames) > 0 {
		err = l.instance.Step(frames)
	}
	return err
}

// handled handles the output after a call to the engine that returned err. It returns err
// if the engine refused the input, and nil otherwise.
func (l *loop) handled(err error) error {
	var refusal *api.Status
	if errors.Is(err, ErrPoisoned) || err != nil && !errors.As(err, &refusal) {
		l.failed(err)
		return nil
	}
	l.pump()
	return err
}

// pump processes output until there is none, and sends the pending grants of views.
func (l *loop) pump() {
	for l.instance != nil {
		out, err := l.instance.Ready()
		switch {
		case err != nil:
		case len(out) > 0:
			if err = l.handle(out); err == nil {
				err = l.instance.Advance()
			}
		case len(l.grants) > 0:
			err = l.instance.Step(l.grants)
			l.grants = l.grants[:0]
		default:
			return
		}
		if err != nil {
			l.failed(err)
		}
	}
}

// arrived passes the event of a stream to the engine, unless the engine has closed
// the stream.
func (l *loop) arrived(a arrival) {
	s := a.stream
	if l.streams[s.id] != s {
		return
	}
	var frame []byte
	switch a.kind {
	case streamOpened:
		frame = (&wire.StreamOpened{Stream: s.id, Token: l.config.Token}).Append(nil)
	case dataArrived:
		frame = (&wire.StreamData{Stream: s.id, Data: a.data}).Append(nil)
	case streamClosed:
		delete(l.streams, s.id)
		l.config.Logger.Info("connection closed", "error", a.err)
		frame = (&wire.StreamClosed{Stream: s.id, Message: a.err.Error()}).Append(nil)
		defer l.unconnected(a.err)
	}
	if err := l.step(frame); err != nil {
		s.end(err) // the engine receives the end as an event
	}
}

// unconnected sets the reason for the missing connection in the status of all
// collections.
func (l *loop) unconnected(err error) {
	for _, c := range l.collections {
		c.unconnected(err)
	}
}

// request registers p and sends its command. It gives p a number if p has none.
func (l *loop) request(p *pending, command func(id uint32) []byte) error {
	if l.instance == nil {
		return restarting()
	}
	if p.id == 0 {
		p.id = l.newID()
	}
	l.requests[p.id] = p
	err := l.step(command(p.id))
	if err != nil {
		delete(l.requests, p.id)
	}
	return err
}

// exchange sends a command that the engine answers immediately, without advancing the
// clock.
func (l *loop) exchange(command func(id uint32) []byte, take func(reply any)) error {
	p := &pending{id: l.newID(), take: take, done: make(chan error, 1)}
	l.requests[p.id] = p
	defer delete(l.requests, p.id)
	if err := l.command(command(p.id)); err != nil {
		return err
	}
	select {
	case err := <-p.done:
		return err
	default:
		return restarting() // there is no instance, or it failed
	}
}

// newID returns a number for a resource that the program opens. Numbers are not reused: a
// client never needs all four billion.
func (l *loop) newID() uint32 {
	l.lastID++
	return l.lastID
}

// shutdown ends all resources and waits for the goroutines.
func (l *loop) shutdown() {
	for _, c := range l.collections {
		l.dropCollection(c, ErrClosed)
	}
	for _, h := range l.handles {
		h.newest.finish(ErrClosed)
	}
	l.tasks.Wait()
	if err := l.module.Close(context.Background()); err != nil {
		l.config.Logger.Warn("closing the module", "error", err)
	}
}
