package coretest

import (
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/wire"
)

// answer is the network's response to an engine that opens a stream.
type answer uint8

const (
	accepting answer = iota
	refusing
	pending // no response yet
)

// network models at most one stream between the engine and a session, and the messages in
// flight on it.
type network struct {
	answer  answer
	refusal string
	limit   int // approximate maximum size of a message, in bytes

	opening uint32 // the stream that waits for a response, or zero
	stream  uint32 // the open stream, or zero
	session *session.Session

	held    bool
	tapped  bool // print how bodies are encoded
	corrupt bool // the next block of bodies arrives corrupt
	losing  bool // blocks of bodies do not arrive
	old     bool // the connector does not know the frames that were added to the protocol later
	silent  bool // the open stream drops all messages silently
	// The network replaces the bytes "from" with the bytes "to" in the next message that
	// contains "from". It does nothing while "from" is empty.
	from, to []byte
	queue    []message
}

type message struct {
	up   bool // from the engine to the connector
	last bool // the connector closes the stream
	data []byte
}

// move performs one pending action, such as the delivery of a message. It reports whether
// an action was pending.
func (h *harness) move() (bool, error) {
	n := &h.network
	if h.chunkWanted {
		return true, h.askChunk()
	}
	if len(h.patched) > 0 {
		view := h.patched[0]
		h.patched = h.patched[1:]
		return true, h.toEngine(&wire.GrantView{View: view})
	}
	if n.opening != 0 && n.answer != pending {
		return true, h.answerOpening()
	}
	h.pull()
	if n.held || len(n.queue) == 0 {
		return false, nil
	}
	return true, h.deliver()
}

func (h *harness) answerOpening() error {
	n := &h.network
	stream := n.opening
	n.opening = 0
	if n.answer == refusing {
		return h.toEngine(&wire.StreamClosed{Stream: stream, Message: n.refusal})
	}
	n.stream, n.session, n.silent = stream, session.New(h.connector.session, h.connector), false
	return h.toEngine(&wire.StreamOpened{Stream: stream, Token: "token"})
}

// pull sends the pending output of the session.
func (h *harness) pull() {
	n := &h.network
	if n.session == nil {
		return
	}
	for data := n.session.Next(n.limit, h.now); data != nil; data = n.session.Next(n.limit, h.now) {
		n.send(message{data: data})
	}
}

func (n *network) send(m message) {
	if !n.silent {
		n.queue = append(n.queue, m)
	}
}

// deliver delivers the oldest message in flight.
func (h *harness) deliver() error {
	n := &h.network
	m := n.queue[0]
	n.queue = n.queue[1:]
	switch {
	case m.last:
		return h.lose("the connector closed the stream")
	case !m.up:
		if n.tapped {
			h.printer.travel(m.data, label)
		}
		if n.corrupt || n.losing {
			m.data = n.changeBodies(m.data)
		}
		return h.toEngine(&wire.StreamData{Stream: n.stream, Data: n.change(m.data)})
	}
	if n.old {
		hideNewFrames(m.data)
	}
	err := n.session.Receive(m.data, h.now)
	scribble(m.data)
	if err != nil {
		h.pull()
		n.send(message{last: true})
	}
	return nil
}

// hideNewFrames changes the type of each ChooseColumns frame to an unknown one, because
// an old connector does not know these frames.
func hideNewFrames(message []byte) {
	for len(message) > 0 {
		t, _, rest, err := wire.Next(message)
		if err != nil {
			return // the session reports the error
		}
		if t == wire.TypeChooseColumns {
			message[0] = 0xff
		}
		message = rest
	}
}

// forget drops the stream and all messages in flight.
func (n *network) forget() {
	if n.session != nil {
		n.session.Close()
	}
	n.stream, n.session, n.queue, n.silent = 0, nil, nil, false
}

// lose ends the stream and informs the engine.
func (h *harness) lose(why string) error {
	stream := h.network.stream
	h.network.forget()
	h.network.losing = false
	if stream == 0 {
		return nil
	}
	return h.toEngine(&wire.StreamClosed{Stream: stream, Message: why})
}
