package core

import (
	"slices"
	"strconv"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/reflector"
	"github.com/watchglass/watchglass/core/wire"
)

type connectionPhase uint8

const (
	disconnected connectionPhase = iota // no connection is needed
	backingOff                          // until attemptAt
	opening                             // sent OpenStream
	greeting                            // sent Hello
	connected                           // received Welcome
)

const (
	// openMillis limits the time that the program takes to open a stream, and the
	// time that the connector takes to respond to Hello.
	openMillis = 30_000
	// silentPeriods is the number of progress intervals without any frame after which a
	// connection is considered dead.
	silentPeriods = 3
	// cutOffMillis is how long the connection may be down before attached readers are
	// notified. Usually, another connector takes over before then.
	cutOffMillis = 3000
	// maxDictionaries limits the number of dictionaries on one connection.
	// maxDictionaryBytes limits their total size, to an average of 64 KiB per
	// dictionary.
	maxDictionaries    = 1 << 10
	maxDictionaryBytes = 64 << 20
)

// connection is the stream to the connector, which all collections share.
type connection struct {
	engine       *Engine
	phase        connectionPhase
	stream       uint32
	subscription uint32
	attemptAt    int64
	deadline     int64 // the next frame must arrive before this time
	progress     int64 // interval of progress reports, in milliseconds
	backoff      reflector.Backoff
	dictionaries []wire.Dictionary
	send         []byte
	changes      []wire.Change // buffer for the changes of the next message
	growth       int           // bytes of decompressed blocks since the memory limit was enforced
	assembly     wire.Assembly // the start of a fragmented message
	server       string        // software version of the last connector
	// cutOff is when attached readers are notified that there is no connection.
	// It is zero while connected and after the notification.
	cutOff int64
	// reconnects counts the streams opened after the first. refusals counts the
	// streams that the connector or a protocol error ended. corrupt counts the messages
	// whose checksum did not match.
	reconnects, refusals, corrupt uint64
}

func newConnection(e *Engine) *connection {
	return &connection{engine: e, backoff: reflector.NewBackoff(e.rand)}
}

// need opens a connection if there is none. Before the first Tick, it only schedules
// an attempt, because the engine does not know the time yet.
func (c *connection) need() {
	switch {
	case c.phase != disconnected:
	case c.engine.now == 0:
		c.phase, c.attemptAt = backingOff, 0
	default:
		c.open()
	}
}

func (c *connection) open() {
	if c.phase == disconnected || c.stream == 0 {
		c.cutOff = c.engine.now + cutOffMillis
	}
	if c.stream > 0 {
		c.reconnects++
	}
	c.stream++
	c.phase, c.deadline = opening, c.engine.now+openMillis
	for _, b := range c.engine.sharedCollections {
		b.reflector.Opening()
	}
	c.engine.out = (&wire.OpenStream{Stream: c.stream}).Append(c.engine.out)
}

// close closes the stream, if there is one.
func (c *connection) close(why *api.Status) {
	if c.phase >= opening {
		c.engine.out = (&wire.CloseStream{Stream: c.stream, Message: why.Message}).Append(c.engine.out)
	}
	c.lost(why)
}

// lost resets the state of the stream, and disconnects the collections with why as
// the reason.
func (c *connection) lost(why *api.Status) {
	if c.phase == connected {
		c.cutOff = c.engine.now + cutOffMillis
	}
	c.phase = disconnected
	c.dictionaries, c.send, c.subscription, c.assembly = nil, nil, 0, wire.Assembly{}
	for _, b := range c.engine.sharedCollections {
		b.reflector.Disconnected(why)
		b.reflector.Outgoing()
	}
}

// retry closes the stream and schedules another attempt with backoff, but not
// before the time that the connector requested (rule R9).
func (c *connection) retry(why *api.Status) {
	c.close(why)
	c.backOff()
	c.attemptAt = max(c.attemptAt, c.engine.now+int64(why.RetryAfterSeconds)*1000)
}

func (c *connection) backOff() {
	c.phase, c.attemptAt = backingOff, c.backoff.Next(c.engine.now)
}

func (c *connection) tick() {
	now := c.engine.now
	switch {
	case c.phase == backingOff && now >= c.attemptAt:
		c.open()
	case c.phase >= opening && c.silentAt() != 0 && now >= c.silentAt():
		c.retry(api.Unavailable("the connector sent no message for too long"))
	}
	if c.cutOff != 0 && now >= c.cutOff {
		c.cutOff = 0
		for _, b := range c.engine.sharedCollections {
			b.cacher.Upstream().Fail(api.Unavailable("the server has no connection to its connector"))
		}
	}
}

func (c *connection) nextTick() int64 {
	switch c.phase {
	case backingOff:
		return earlier(c.attemptAt, c.cutOff)
	case disconnected:
		return 0
	}
	return earlier(c.silentAt(), c.cutOff)
}

// silentAt returns the time at which the engine closes the connection if no message
// arrives. It returns zero, meaning never, while no subscription is open, because the
// connector then reports no progress. The next subscription starts a new period.
func (c *connection) silentAt() int64 {
	if c.phase != connected {
		return c.deadline
	}
	var asked int64
	for _, b := range c.engine.sharedCollections {
		asked = earlier(asked, b.reflector.Asked())
	}
	if asked == 0 {
		return 0
	}
	return max(c.deadline, asked+silentPeriods*c.progress)
}

func (c *connection) connected() bool { return c.phase == connected }

func (c *connection) period() int64 { return c.progress }

func (c *connection) leave(b *sharedCollection) { c.send = append(c.send, b.reflector.Outgoing()...) }

func (c *connection) retryAt() int64 {
	if c.phase != backingOff {
		return 0
	}
	return c.attemptAt
}

func (c *connection) reconnect() {
	if c.phase == backingOff {
		c.open()
	}
}

func (c *connection) fetched(*wire.Fetched) {}

func (c *connection) inspect(add func(string, int)) {
	add("reconnects", int(c.reconnects))
	add("refusals", int(c.refusals))
	add("corruptMessages", int(c.corrupt))
}

func (c *connection) opened(f *wire.StreamOpened) {
	if f.Stream != c.stream || c.phase != opening {
		return
	}
	e := c.engine
	c.phase, c.deadline = greeting, e.now+openMillis
	c.send = (&wire.Hello{Version: wire.Version, Token: f.Token, Client: e.cfg.Client}).Append(c.send)
}

func (c *connection) closed(f *wire.StreamClosed) {
	if f.Stream == c.stream && c.phase >= opening {
		why := "the connection to the connector is gone"
		if f.Message != "" {
			why += ": " + f.Message
		}
		c.lost(api.Unavailable(why))
		c.backOff()
	}
}

// data processes a message from the connector. A message that cannot be parsed has no
// effect. Any message that violates the protocol closes the stream.
func (c *connection) data(f *wire.StreamData) {
	if f.Stream != c.stream || c.phase < greeting {
		return
	}
	c.growth = 0
	message, err := c.join(f.Data)
	var frames []upstreamFrame
	if err == nil {
		frames, err = c.parseMessage(message)
	}
	if err == nil {
		c.received()
		err = c.apply(frames)
	}
	if err != nil {
		c.refusals++
		c.retry(api.AsStatus(wire.WithReleases(err, c.server, c.engine.cfg.Client)))
	}
}

// join returns the message that data completes, or nil if fragments are missing. While
// fragments arrive, the connector cannot report progress, so join extends the deadlines
// of all subscriptions.
func (c *connection) join(data []byte) (message []byte, err error) {
	fragmented := c.assembly.Pending()
	message, err = c.assembly.Join(data)
	if fragmented || c.assembly.Pending() {
		for _, b := range c.engine.sharedCollections {
			b.reflector.Delayed()
		}
	}
	return message, err
}

// upstreamFrame is a parsed frame from the connector.
type upstreamFrame struct {
	wire.Frame
	subscription uint32 // for frames of a subscription
	size         int
}

// parseMessage parses a whole message before any frame is applied.
func (c *connection) parseMessage(message []byte) (frames []upstreamFrame, err error) {
	if !wire.Intact(message) {
		c.corrupt++
		return nil, errCorruptMessage()
	}
	for len(message) > 0 {
		t, payload, rest, err := wire.Next(message)
		if err != nil {
			return nil, err
		}
		f, err := c.parseUpstream(t, payload)
		if err != nil {
			return nil, err
		}
		if f != nil {
			frames = append(frames, upstreamFrame{f, wire.Subscription(payload), len(message) - len(rest)})
		}
		message = rest
	}
	return frames, nil
}

func errCorruptMessage() *api.Status {
	return api.Internal("a message from the connector is corrupt: its checksum does not match; a proxy on the way may change data")
}

func (c *connection) apply(frames []upstreamFrame) error {
	stream := c.stream
	for _, f := range frames {
		if c.stream != stream || c.phase < greeting {
			return nil // an earlier frame ended the stream
		}
		if err := c.applyUpstream(f); err != nil {
			return err
		}
	}
	return nil
}

func (c *connection) received() {
	if c.phase == connected {
		c.deadline = c.engine.now + silentPeriods*c.progress
	}
}

// Limits of one message to the connector. They are well below the connector's default
// limits max-message-frames and max-message-bytes.
const (
	maxSendFrames = 512
	maxSendBytes  = 256 << 10
)

// flush sends the output of all collections, in messages that a connector accepts.
func (c *connection) flush() {
	if c.phase < greeting {
		return
	}
	for _, b := range c.engine.sharedCollections {
		c.send = append(c.send, b.reflector.Outgoing()...)
	}
	for rest := c.send; len(rest) > 0; {
		end := messageEnd(rest)
		c.engine.out = (&wire.SendStream{Stream: c.stream, Data: rest[:end]}).Append(c.engine.out)
		rest = rest[end:]
	}
	c.send = c.send[:0]
}

// messageEnd returns the length of the leading frames that fit in one message. It includes
// at least one frame, and never separates a ChooseColumns from the Subscribe that follows
// it.
func messageEnd(frames []byte) int {
	end := 0
	for n, next := 0, 0; n < maxSendFrames && next < len(frames); n++ {
		t, _, rest, _ := wire.Next(frames[next:]) // no error, because the engine encoded the frames
		next = len(frames) - len(rest)
		if end > 0 && next > maxSendBytes {
			break
		}
		if t != wire.TypeChooseColumns {
			end = next
		}
	}
	return end
}

func (c *connection) nextSubscription() uint32 {
	c.subscription++
	return c.subscription
}

func (c *connection) welcome(f *wire.Welcome) error {
	if c.phase != greeting {
		return api.Protocol("received a second Welcome")
	}
	if f.Version != wire.Version {
		return wire.OtherVersion(wire.SubprotocolPrefix + strconv.FormatUint(uint64(f.Version), 10))
	}
	const maxPeriod = 1 << 31
	c.cutOff, c.server = 0, wire.Release(f.Server)
	c.phase, c.progress = connected, int64(min(max(f.ProgressMillis, 1), maxPeriod))
	c.received()
	for _, b := range c.engine.sharedCollections {
		b.connect(c.engine)
	}
	return nil
}

func (c *connection) dictionary(f *wire.Dictionary) error {
	if f.ID == 0 {
		return api.Protocol("dictionary 0 is reserved")
	}
	sent := len(f.Data)
	for _, d := range c.dictionaries {
		sent += len(d.Data)
	}
	switch {
	case len(c.dictionaries) == maxDictionaries:
		return api.Protocol("one connection has more than 1024 dictionaries")
	case sent > maxDictionaryBytes:
		return api.Protocol("the dictionaries of one connection exceed 64 MiB")
	}
	c.dictionaries = append(c.dictionaries, wire.Dictionary{ID: f.ID, Data: slices.Clone(f.Data)})
	return nil
}

func (c *connection) findDictionary(id uint32) ([]byte, error) {
	if id == 0 {
		return nil, nil
	}
	for _, d := range c.dictionaries {
		if d.ID == id {
			return d.Data, nil
		}
	}
	return nil, api.Protocol("a schema names a dictionary that was not sent")
}
