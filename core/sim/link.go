package sim

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/wire"
)

// message is one on its way.
type message struct {
	due  int64
	data []byte
}

// link is the network between one reader and the connectors: at most one
// stream, which carries whole messages in order and can break at any byte.
type link struct {
	reader    *reader
	target    *connector // that the next stream goes to
	connector *connector // of the stream that is open
	session   *session.Session
	opening   uint32
	stream    uint32
	since     int64 // of the stream
	up, down  []message
	woken     bool  // the session may have something to say
	wake      int64 // and at this time it has, too
	latency   int64
	room      int   // messages under way before the connector waits
	stalled   int64 // nothing moves before then
	slow      int64 // when the latency last was slowMillis or more
	silent    bool  // everything is lost and nobody is told
	breaks    int64 // when it breaks for certain; until then it is deaf or mute
	deaf      bool  // what comes down is lost; otherwise, what goes up
	tap       tap
}

// open connects, unless the connector is down.
func (l *link) answer() bool {
	w := l.reader.world
	if l.opening == 0 {
		return false
	}
	stream := l.opening
	l.opening = 0
	if w.now < l.target.downUntil {
		l.reader.step(&wire.StreamClosed{Stream: stream, Message: "connection refused"})
		return true
	}
	l.stream, l.connector, l.session, l.silent, l.since = stream, l.target, l.target.newSession(l), false, w.now
	l.tap.connected()
	l.reader.step(&wire.StreamOpened{Stream: stream, Token: "token"})
	return true
}

func (l *link) send(queue *[]message, data []byte) {
	if l.silent || l.breaks != 0 && l.deaf == (queue == &l.down) {
		return
	}
	due := l.reader.world.now + l.latency
	if n := len(*queue); n > 0 {
		due = max(due, (*queue)[n-1].due)
	}
	*queue = append(*queue, message{due: due, data: data})
}

// pull takes what the session has to say while there is room for it.
func (l *link) pull() bool {
	moved := false
	if l.wake != 0 && l.reader.world.now >= l.wake {
		l.woken = true
	}
	for l.session != nil && len(l.down) < l.room {
		data := l.session.Next(l.reader.world.setup.Message, l.reader.world.now)
		if data == nil {
			l.woken, l.wake = false, l.session.Wake()
			break
		}
		if !l.woken {
			l.reader.world.fail(ErrNotWoken, "reader %d: the session says %q", l.reader.id, data)
		}
		if len(data) < l.reader.world.setup.Message {
			l.woken, l.wake = false, l.session.Wake()
		}
		moved = true
		l.tap.sent(data)
		l.send(&l.down, data)
	}
	return moved
}

func (l *link) due(queue []message) bool {
	w := l.reader.world
	return len(queue) > 0 && w.now >= max(queue[0].due, l.stalled)
}

// timeout breaks a stream that has lost something.
func (l *link) timeout() bool {
	if l.breaks == 0 || l.reader.world.now < l.breaks || l.reader.busy() {
		return false
	}
	l.lose("no answer from the network")
	return true
}

// deliver hands over one message that has arrived.
func (l *link) deliver() bool {
	if l.due(l.up) {
		m := l.up[0]
		l.up = l.up[1:]
		l.tap.up(m.data)
		l.woken = true
		if err := l.session.Receive(m.data, l.reader.world.now); err != nil {
			l.reader.world.fail(ErrProtocol, "connector refused reader %d: %v", l.reader.id, err)
		}
		return true
	}
	if l.due(l.down) && !l.reader.busy() {
		m := l.down[0]
		l.down = l.down[1:]
		l.hand(m.data)
		return true
	}
	return false
}

// hand gives a message to the engine, scribbling over it afterwards.
func (l *link) hand(data []byte) {
	stream := l.stream
	if l.reader.overdue() || l.tap.isSchema(data) {
		// What was delivered before belongs to the source before, and an
		// engine whose patience is over does not take the message.
		l.reader.tick()
		l.reader.drain()
	}
	if l.stream != stream {
		return
	}
	l.tap.down(data)
	l.reader.step(&wire.StreamData{Stream: l.stream, Data: data})
	l.reader.heardOf()
}

// cut breaks the stream, in the middle of the next message if there is one.
func (l *link) cut(r *api.Rand) {
	if l.stream == 0 {
		return
	}
	if len(l.down) > 0 && !l.silent && !l.reader.busy() {
		data := l.down[0].data
		n := int(r.Int63n(int64(len(data))))
		l.reader.world.saw(CutInMessage)
		if multiKey(data) {
			l.reader.world.saw(RevisionCut)
		}
		switch part := data[:n:n]; {
		case n == 0:
		case isWhole(part): // cut between two frames: nobody can tell that it is not the message
			l.hand(part)
			l.reader.drain()
		default:
			l.reader.step(&wire.StreamData{Stream: l.stream, Data: part})
			l.reader.drain()
		}
	}
	l.lose("cut")
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
	}
}

// lose ends the stream and tells the engine.
func (l *link) lose(why string) {
	stream := l.stream
	l.forget()
	if stream != 0 {
		l.reader.step(&wire.StreamClosed{Stream: stream, Message: why})
	}
}

func (l *link) forget() {
	if l.session != nil {
		l.session.Close()
	}
	l.stream, l.session, l.connector, l.silent, l.breaks, l.up, l.down = 0, nil, nil, false, 0, nil, nil
}

func (l *link) nextEvent() int64 {
	now := l.reader.world.now
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
