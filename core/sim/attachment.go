package sim

import "github.com/watchglass/watchglass/core/wire"

// attachment is a reader's socket at an edge object, with the persisted state of
// its session.
type attachment struct {
	object  *edgeObject
	id      uint32
	link    *link
	out     [][]byte // messages from the engine that are not in flight yet
	room    int64    // bytes that the socket still accepts
	saved   []byte
	stirred bool // the session received or sent a message since its state was persisted
	stalled bool // the reader does not accept pending data
}

func (o *edgeObject) attachment(id uint32) *attachment {
	for _, a := range o.readers {
		if a.id == id {
			return a
		}
	}
	return nil
}

func (o *edgeObject) accept(l *link) peer {
	if o.engine == nil {
		o.awaken()
	}
	o.lastID++
	a := &attachment{object: o, id: o.lastID, link: l}
	o.readers = append(o.readers, a)
	o.attach(a)
	return a
}

// attach starts or continues the session of a reader.
func (o *edgeObject) attach(a *attachment) {
	a.stirred = a.saved == nil
	if len(a.saved) > 0 {
		o.world.saw(SavedReaderResumed)
	}
	a.room = pick[int64](o.rand, 1, 3000, 16<<20)
	o.step(&wire.AttachReader{
		Reader: a.id, Allowed: []wire.ReaderScope{{Resource: "*", Namespace: a.link.driver.right}}, ProgressMillis: progressMillis,
		Room: uint64(a.room), Saved: a.saved, Stalled: a.stalled,
	})
	o.drain()
}

// stall records that a reader stopped or resumed accepting data. Two consecutive
// calls must not report the same state.
func (o *edgeObject) stall(a *attachment, stalled bool) {
	if a.stalled == stalled {
		o.world.fail(ErrProtocol, "%s reports the same stall state of reader %d twice: %v", o.name, a.id, stalled)
	}
	a.stalled = stalled
	if stalled {
		o.world.saw(ReaderStalled)
	}
}

func (a *attachment) Receive(message []byte, _ int64) error {
	if a.object.engine == nil {
		a.object.awaken()
	}
	a.stirred = true
	a.object.step(&wire.ReaderMessage{Reader: a.id, Data: message})
	a.object.drain()
	return nil
}

// Next removes and returns the oldest message, or returns nil if there is none. It grants
// the engine as many bytes as the message has.
func (a *attachment) Next(int, int64) []byte {
	if len(a.out) == 0 {
		return nil
	}
	message := a.out[0]
	a.out = a.out[1:]
	if a.object.engine != nil {
		a.room += int64(len(message))
		a.object.step(&wire.GrantReader{Reader: a.id, Bytes: uint64(len(message))})
	}
	return message
}

func (a *attachment) More() bool { return len(a.out) > 0 }

func (a *attachment) Wake() int64 {
	if len(a.out) > 0 {
		return a.object.world.now
	}
	return 0
}

func (a *attachment) Close() {
	o := a.object
	o.readers = without(o.readers, a)
	if o.engine != nil {
		o.step(&wire.DetachReader{Reader: a.id})
		o.drain()
	}
}
