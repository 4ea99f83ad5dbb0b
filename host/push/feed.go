package push

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/internal/closereason"
	"github.com/watchglass/watchglass/host/socket"
)

// controlTimeout limits the time to write a text message.
const controlTimeout = 10 * time.Second

// feed is one connection to an edge.
type feed struct {
	conn      *socket.Conn
	connector *connector.Connector
	object    object
	log       *slog.Logger
	session   atomic.Pointer[session] // nil before the first session; only serve changes it
	begun     bool                    // true after the edge has begun a session
}

// errNoFeed reports that the server implements the protocol for readers, not for
// feeds.
var errNoFeed = errors.New("the server is not the feed of an edge, because it treats the connector as a reader: give the URL of a feed, such as wss://edge.example.com/feed")

// serve executes the commands of the edge until the connection ends or ctx is done.
func (f *feed) serve(ctx context.Context, ping time.Duration) error {
	ws := f.conn.WebSocket()
	defer ws.CloseNow()
	defer f.conn.KeepAlive(ping)()
	defer context.AfterFunc(ctx, f.leave)()
	defer f.end()
	for {
		kind, message, err := ws.Read(context.Background())
		switch {
		case err != nil:
			return closedBy(err)
		case kind == websocket.MessageBinary && !f.begun:
			return errNoFeed
		case kind == websocket.MessageBinary:
			f.session.Load().deliver(message)
			continue
		}
		if err := f.execute(ctx, string(message)); err != nil {
			ws.Close(websocket.StatusProtocolError, closereason.Clip(err.Error()))
			return err
		}
	}
}

// closedBy returns the edge's reason for closing the connection, or err if it sent none.
func closedBy(err error) error {
	var closed websocket.CloseError
	if errors.As(err, &closed) && closed.Reason != "" {
		return fmt.Errorf("the edge closed the connection: %s", closed.Reason)
	}
	return err
}

// execute runs the command in a text message.
func (f *feed) execute(ctx context.Context, text string) error {
	number, found := strings.CutPrefix(text, "begin ")
	if _, err := strconv.ParseUint(number, 10, 64); !found || err != nil {
		return fmt.Errorf("malformed message from the edge: %q, expected begin and a number", closereason.Clip(text))
	}
	f.begun = true
	f.end()
	if err := f.say("begun " + number); err != nil {
		return err
	}
	f.log.Info("feeding the edge", "session", number)
	s := newSession(f.conn)
	f.session.Store(s)
	go func() {
		defer close(s.over)
		err := f.connector.ServeShard(ctx, s, f.object.resources, f.object.shard)
		if s.stopped() || ctx.Err() != nil {
			return
		}
		f.log.Warn("a session with the edge ended", "session", number, "reason", err)
		if err := f.say("ended " + number + " " + fmt.Sprint(err)); err != nil {
			f.conn.WebSocket().CloseNow()
		}
	}()
	return nil
}

func (f *feed) say(text string) error {
	ctx, cancel := context.WithTimeout(context.Background(), controlTimeout)
	defer cancel()
	return f.conn.WriteText(ctx, text)
}

// end ends the running session, if any, and waits until that session sends no more
// messages.
func (f *feed) end() {
	if s := f.session.Swap(nil); s != nil {
		s.stop()
		<-s.over
	}
}

// leave waits until the running session, if any, has sent its closing status, and then
// closes the connection.
func (f *feed) leave() {
	if s := f.session.Load(); s != nil {
		<-s.over
	}
	f.conn.WebSocket().Close(websocket.StatusGoingAway, "the connector is shutting down")
}

// session is the connector's side of a session. It is a connector.MessageConn over a socket
// that stays open after the session.
type session struct {
	conn *socket.Conn
	in   chan []byte
	quit chan struct{} // closed when the feed ends the session
	over chan struct{} // closed when the session sends no more messages
}

func newSession(conn *socket.Conn) *session {
	return &session{conn: conn, in: make(chan []byte), quit: make(chan struct{}), over: make(chan struct{})}
}

// deliver passes a message of the edge to the session. It drops the message if the session
// is nil or over.
func (s *session) deliver(message []byte) {
	if s == nil {
		return
	}
	select {
	case s.in <- message:
	case <-s.over:
	}
}

func (s *session) stop() { close(s.quit) }

func (s *session) stopped() bool {
	select {
	case <-s.quit:
		return true
	default:
		return false
	}
}

// Read implements connector.MessageConn.
func (s *session) Read(ctx context.Context) ([]byte, error) {
	select {
	case message := <-s.in:
		return message, nil
	case <-s.quit:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements connector.MessageConn.
func (s *session) Write(ctx context.Context, message []byte) error {
	return s.conn.Write(ctx, message)
}

// Close implements connector.MessageConn. The socket stays open for the next session.
func (s *session) Close(error) error {
	s.conn.Release()
	return nil
}
