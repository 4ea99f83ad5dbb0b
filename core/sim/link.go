package sim

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/wire"
)

// message is a message in flight.
type message struct {
	due  int64
	data []byte
}

// server is a possible target of a link.
type server interface {
	// accept starts a session, or returns nil to reject the connection.
	accept(*link) peer
	// at returns the source and the version of a resource at the server. The source is
	// nil if the server does not have the resource.
	at(kind int) (*source, api.ResourceVersion)
	// blind returns the time until which the server may miss data without detecting it.
	blind() int64
	// failing returns the time at which the server detected that it is disconnected,
	// or zero.
	failing() int64
	// levels returns the number of hops to the source.
	levels() int64
}

// peer is the server's side of a stream.
type peer interface {
	Receive(message []byte, now int64) error
	Next(limit int, now int64) []byte
	More() bool
	Wake() int64
	Close()
}

// link is the network between one engine and its servers. It has at most one stream,
// which transports complete messages in order and can break at any byte.
type link struct {
	driver   *driver
	servers  []server // possible targets
	target   server   // server of the next stream
	server   server   // server of the open stream
	session  peer
	opening  uint32
	stream   uint32
	since    int64 // start of the stream
	lostAt   int64 // end of the last stream
	up, down []message
	woken    bool  // the session may have output
	wake     int64 // the session has output at this time
	latency  int64
	room     int   // number of messages in flight at which the server waits
	stalled  int64 // nothing moves before this time
	slow     int64 // when the latency last was slowMillis or more
	silent   bool  // all data is lost, without notification
	breaks   int64 // time at which the stream breaks; until then all data in one direction is lost
	deaf     bool  // the downstream direction is lost; otherwise the upstream direction
	growth   int   // the most bytes that one received message adds to the engine's memory
	bodies   bodyFaults
	tap      tap
	// allowance limits the evaluations of the session, if its server is a connector.
	allowance allowance
	starved   bool // the session waits for evaluations
}

// answer responds to a request for a stream, and reports whether there was one. It opens
// the stream, or refuses it if the server is down.
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

// pull sends the session's output while there is room, and reports whether it sent any.
func (l *link) pull() bool {
	moved := false
	if l.wake != 0 && l.driver.world.now >= l.wake {
		l.woken = true
	}
	for l.session != nil && len(l.down) < l.room {
		granted := l.mayEvaluate()
		data := l.session.Next(l.driver.world.setup.Message, l.driver.world.now)
		if data == nil && !granted {
			break
		}
		if data == nil && l.woken && l.allowance.spent() {
			continue
		}
		if data == nil {
			l.rest()
			break
		}
		if !l.woken {
			l.driver.world.fail(ErrNotWoken, "%s: the session has the output %q", l.driver.name, data)
		}
		moved = true
		l.driver.world.trace(data)
		l.growth = max(l.growth, l.driver.world.growth(data, l.tap.sent(data)))
		l.send(&l.down, data)
		if !granted {
			l.driver.world.saw(SentWhileStarved)
		}
		if !l.session.More() && !l.allowance.spent() {
			l.rest()
			break
		}
	}
	return moved
}

// mayEvaluate reports whether the session may evaluate selectors. Otherwise the
// session sends only frames that need no evaluations.
func (l *link) mayEvaluate() bool {
	if l.woken && !l.allowance.grant(l.driver.world.now) {
		l.starved = true
		l.driver.world.saw(Starved)
		return false
	}
	return true
}

// rest is called when a session has nothing to send.
func (l *link) rest() {
	if l.starved {
		l.driver.world.saw(CaughtUp)
	}
	l.starved, l.woken, l.wake = false, false, l.session.Wake()
}

func (l *link) due(queue []message) bool {
	w := l.driver.world
	return len(queue) > 0 && w.now >= max(queue[0].due, l.stalled)
}

// timeout breaks a stream that has lost data once its timeout has passed, and reports
// whether it did.
func (l *link) timeout() bool {
	if l.driver.busy() || !passed(l.breaks, l.driver.world.now) && !passed(l.bodies.lostTo, l.driver.world.now) {
		return false
	}
	l.bodies.lostTo = 0
	l.lose("no response from the network")
	return true
}

func passed(at, now int64) bool { return at != 0 && now >= at }

// take removes and returns the next message of a queue.
func (l *link) take(queue *[]message) message {
	m := (*queue)[0]
	*queue = (*queue)[1:]
	if m.due < l.stalled {
		l.driver.world.saw(Stalled)
	}
	return m
}

// deliver delivers one message that has arrived, and reports whether there was one.
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
		if checksumAt(m.data) == len(m.data) {
			l.driver.world.fail(ErrProtocol, "%s received the message %q without a Checksum", l.driver.name, m.data)
		}
		if m.due < l.driver.busyUntil {
			l.driver.world.saw(SlowReader)
		}
		l.hand(m.data)
		return true
	}
	return false
}

// hand passes a message to the engine and overwrites the buffer afterwards.
func (l *link) hand(data []byte) {
	stream := l.stream
	if l.driver.overdue() || l.tap.isSchema(data) {
		// Earlier output belongs to the previous source, so it is processed first.
		// If the engine has timed out, it ignores the message.
		l.driver.tick()
		l.driver.drain()
	}
	if l.stream != stream {
		return
	}
	data, ok := l.bodies.apply(data)
	if !ok {
		l.lose("a part of the data was lost")
	}
	if len(data) == 0 || l.change(data) {
		return
	}
	l.tap.down(data)
	must(wire.Split(data, fragmentSize(data), func(piece []byte) error {
		l.driver.step(&wire.StreamData{Stream: l.stream, Data: piece})
		return nil
	}))
	l.driver.messageProcessed()
}

// fragmentSize returns the size of the fragments of a message. Some messages have
// three or four fragments, and most are not split.
func fragmentSize(data []byte) int {
	if len(data)%5 == 0 {
		return 1 + len(data)/4
	}
	return len(data)
}

// cut breaks the stream, inside the next message if there is one.
func (l *link) cut(r *lite.Rand) {
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
		case isWhole(part): // cut between two frames, which is undetectable
			l.hand(part)
			l.driver.drain()
		default:
			l.driver.step(&wire.StreamData{Stream: l.stream, Data: part})
			l.driver.drain()
		}
	}
	l.lose("cut")
}

// noteCut records whether the cut is inside a frame, and whether that frame contains
// several changes of one revision.
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

// isWhole reports whether a part of a message ends at a frame boundary.
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

// duplicate repeats the newest message in flight.
func (l *link) duplicate() {
	if n := len(l.down); n > 0 && !l.silent {
		l.down = append(l.down, l.down[n-1])
		l.driver.world.saw(MessageRepeated)
	}
}

// lose ends the stream and notifies the engine. An evicted engine opens another
// stream when it wakes.
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
	l.bodies.missed = false
}

// blind returns the time until which the engine may be unable to detect that data on the
// link is old.
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
	next = earlier(next, l.bodies.lostTo, now)
	if l.session != nil && len(l.down) < l.room {
		next = earlier(next, l.session.Wake(), now)
		if l.woken && l.allowance.spent() {
			next = earlier(next, l.allowance.next, now)
		}
	}
	return next
}
