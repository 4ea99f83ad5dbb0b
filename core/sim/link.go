package sim

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// message is one on its way.
type message struct {
	due  int64
	data []byte
}

// server is what a link can lead to.
type server interface {
	// accept begins a session, or returns nil when connections are refused.
	accept(*link) peer
	// at is how far the server is with a resource, and in which history; nil when
	// it has none of it.
	at(kind int) (*source, api.ResourceVersion)
	// blind is until when it may hear nothing new without having noticed.
	blind() int64
	// failing is since when it knows that it hears nothing; zero when it does not.
	failing() int64
	// levels are those between its readers and the source.
	levels() int64
}

// peer is a server's side of a stream.
type peer interface {
	Receive(message []byte, now int64) error
	Next(limit int, now int64) []byte
	Wake() int64
	Close()
}

// link is the network between one engine and its servers: at most one
// stream, which carries whole messages in order and can break at any byte.
type link struct {
	driver   *driver
	servers  []server // that it may lead to
	target   server   // that the next stream goes to
	server   server   // of the stream that is open
	session  peer
	opening  uint32
	stream   uint32
	since    int64 // of the stream
	lostAt   int64 // when the last one ended
	up, down []message
	woken    bool  // the session may have something to say
	wake     int64 // and at this time it has, too
	latency  int64
	room     int   // messages under way before the server waits
	stalled  int64 // nothing moves before then
	slow     int64 // when the latency last was slowMillis or more
	silent   bool  // everything is lost and nobody is told
	breaks   int64 // when it breaks for certain; until then it is deaf or mute
	deaf     bool  // what comes down is lost; otherwise, what goes up
	growth   int   // the most that a message that came down adds to what the engine holds, in bytes
	tap      tap
}

// answer opens the stream that was asked for, unless the server is down.
func (l *link) answer() bool {
	if l.opening == 0 {
		return false
	}
	stream := l.opening
	l.opening = 0
	accepted := l.target.accept(l)
	if accepted == nil {
		l.driver.step(&wire.StreamClosed{Stream: stream, Message: "connection refused"})
		return true
	}
	l.stream, l.server, l.session, l.silent, l.since = stream, l.target, accepted, false, l.driver.world.now
	l.tap.connected()
	l.driver.step(&wire.StreamOpened{Stream: stream, Token: "token"})
	return true
}

func (l *link) send(queue *[]message, data []byte) {
	if l.breaks != 0 && l.deaf == (queue == &l.down) {
		l.driver.world.saw(MessageDropped)
		return
	}
	if l.silent {
		return
	}
	due := l.driver.world.now + l.latency
	if l.latency > 0 {
		l.driver.world.saw(MessageDelayed)
	}
	if n := len(*queue); n > 0 {
		due = max(due, (*queue)[n-1].due)
	}
	*queue = append(*queue, message{due: due, data: data})
}

// pull takes what the session has to say while there is room for it.
func (l *link) pull() bool {
	moved := false
	if l.wake != 0 && l.driver.world.now >= l.wake {
		l.woken = true
	}
	for l.session != nil && len(l.down) < l.room {
		data := l.session.Next(l.driver.world.setup.Message, l.driver.world.now)
		if data == nil {
			l.woken, l.wake = false, l.session.Wake()
			break
		}
		if !l.woken {
			l.driver.world.fail(ErrNotWoken, "%s: the session says %q", l.driver.name, data)
		}
		moved = true
		l.driver.world.trace(data)
		l.growth = max(l.growth, l.driver.world.growth(data, l.tap.sent(data)))
		l.send(&l.down, data)
		if len(data) < l.driver.world.setup.Message {
			l.woken, l.wake = false, l.session.Wake()
			break
		}
	}
	return moved
}

func (l *link) due(queue []message) bool {
	w := l.driver.world
	return len(queue) > 0 && w.now >= max(queue[0].due, l.stalled)
}

// timeout breaks a stream that has lost something.
func (l *link) timeout() bool {
	if l.breaks == 0 || l.driver.world.now < l.breaks || l.driver.busy() {
		return false
	}
	l.lose("no answer from the network")
	return true
}

// take is the next message of a queue.
func (l *link) take(queue *[]message) message {
	m := (*queue)[0]
	*queue = (*queue)[1:]
	if m.due < l.stalled {
		l.driver.world.saw(Stalled)
	}
	return m
}

// deliver hands over one message that has arrived.
func (l *link) deliver() bool {
	if l.due(l.up) {
		m := l.take(&l.up)
		l.tap.up(m.data)
		l.woken = true
		if err := l.session.Receive(m.data, l.driver.world.now); err != nil {
			l.driver.world.fail(ErrProtocol, "the server refused %s: %v", l.driver.name, err)
		}
		return true
	}
	if l.due(l.down) && !l.driver.busy() {
		m := l.take(&l.down)
		if m.due < l.driver.busyUntil {
			l.driver.world.saw(SlowReader)
		}
		l.hand(m.data)
		return true
	}
	return false
}

// hand gives a message to the engine, scribbling over it afterwards.
func (l *link) hand(data []byte) {
	stream := l.stream
	if l.driver.overdue() || l.tap.isSchema(data) {
		// What was delivered before belongs to the source before, and an
		// engine whose patience is over does not take the message.
		l.driver.tick()
		l.driver.drain()
	}
	if l.stream != stream {
		return
	}
	l.tap.down(data)
	must(wire.Split(data, fragmentSize(data), func(piece []byte) error {
		l.driver.step(&wire.StreamData{Stream: l.stream, Data: piece})
		return nil
	}))
	l.driver.heardOf()
}

// fragmentSize cuts some messages into three or four fragments, and most not at all.
func fragmentSize(data []byte) int {
	if len(data)%5 == 0 {
		return 1 + len(data)/4
	}
	return len(data)
}

// cut breaks the stream, in the middle of the next message if there is one.
func (l *link) cut(r *api.Rand) {
	if l.driver.fetches != nil {
		l.driver.fetches.cut()
	}
	if l.stream == 0 {
		return
	}
	if len(l.down) > 0 && !l.silent && !l.driver.busy() {
		data := l.down[0].data
		part := data[:r.Int63n(int64(len(data)))]
		l.noteCut(data, len(part))
		switch part = part[:len(part):len(part)]; {
		case len(part) == 0:
		case len(data)%5 == 0: // cut between two fragments
			f := wire.Fragment{Rest: uint64(len(data) - len(part)), Data: part}
			l.driver.step(&wire.StreamData{Stream: l.stream, Data: f.Append(nil)})
			l.driver.world.saw(CutInFragments)
			l.driver.drain()
		case isWhole(part): // cut between two frames: nobody can tell that it is not the message
			l.hand(part)
			l.driver.drain()
		default:
			l.driver.step(&wire.StreamData{Stream: l.stream, Data: part})
			l.driver.drain()
		}
	}
	l.lose("cut")
}

// noteCut counts what a message is cut in: a frame, and one with a revision of
// several changes.
func (l *link) noteCut(data []byte, at int) {
	for rest := data; len(rest) > 0; {
		t, payload, next, err := wire.Next(rest)
		must(err)
		from, to := len(data)-len(rest), len(data)-len(next)
		if from < at && at < to {
			l.driver.world.saw(CutInMessage)
			if t == wire.TypeEvents && multiKey(payload) {
				l.driver.world.saw(RevisionCut)
			}
		}
		rest = next
	}
}

// isWhole reports whether a part of a message ends with a frame.
func isWhole(part []byte) bool {
	for len(part) > 0 {
		_, _, rest, err := wire.Next(part)
		if err != nil {
			return false
		}
		part = rest
	}
	return true
}

// duplicate repeats the newest message under way.
func (l *link) duplicate() {
	if n := len(l.down); n > 0 && !l.silent {
		l.down = append(l.down, l.down[n-1])
		l.driver.world.saw(MessageRepeated)
	}
}

// lose ends the stream and tells the engine. One that is out of memory opens
// another when it wakes.
func (l *link) lose(why string) {
	stream := l.stream
	l.forget()
	switch {
	case stream == 0:
	case l.driver.engine == nil:
		l.driver.rouse()
	default:
		l.driver.step(&wire.StreamClosed{Stream: stream, Message: why})
		if l.driver.lost != nil {
			l.driver.lost()
		}
	}
}

func (l *link) forget() {
	if l.session != nil {
		l.session.Close()
		l.lostAt = l.driver.world.now
	}
	if l.driver.fetches != nil {
		l.driver.fetches.open = nil
	}
	l.stream, l.session, l.server, l.silent, l.breaks, l.up, l.down = 0, nil, nil, false, 0, nil, nil
}

// blind is until when what comes over the link may be old without anybody having
// noticed.
func (l *link) blind() int64 {
	last := max(l.slow+oldestMillis, l.target.blind())
	if f := l.driver.fetches; f != nil {
		for _, k := range f.servers {
			last = max(last, k.blind())
		}
	}
	return last
}

func (l *link) nextEvent() int64 {
	now := l.driver.world.now
	var next int64
	for _, queue := range [][]message{l.up, l.down} {
		if len(queue) > 0 {
			next = earlier(next, max(queue[0].due, l.stalled), now)
		}
	}
	next = earlier(next, l.breaks, now)
	if l.session != nil && len(l.down) < l.room {
		next = earlier(next, l.session.Wake(), now)
	}
	return next
}
