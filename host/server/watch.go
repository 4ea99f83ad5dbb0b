package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/connector"
)

// pongTimeout is longer than a connector takes to give up on a message, because
// a ping waits for the message before it.
const pongTimeout = connector.DefaultWriteTimeout + 15*time.Second

// watch upgrades to a WebSocket and serves one reader.
func (s *Server) watch(w http.ResponseWriter, r *http.Request) {
	if code, err := s.checkUpgrade(r); err != nil {
		s.config.Logger.Debug("connection refused", "remote", r.RemoteAddr, "code", code, "error", err)
		w.Header().Set("Upgrade", "websocket")
		http.Error(w, err.Error(), code)
		return
	}
	if !s.enter() {
		http.Error(w, "the server is shutting down", http.StatusServiceUnavailable)
		return
	}
	defer s.serving.Done()
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		Subprotocols:       []string{wire.Subprotocol},
		InsecureSkipVerify: true, // the origin was checked above
	})
	if err != nil {
		s.config.Logger.Debug("WebSocket handshake failed", "remote", r.RemoteAddr, "error", err)
		return
	}
	ws.SetReadLimit(s.config.MaxMessageBytes)
	s.serve(ws, r)
}

// checkUpgrade says what is wrong with a request, for a person with curl.
func (s *Server) checkUpgrade(r *http.Request) (code int, err error) {
	if !hasToken(r.Header, "Upgrade", "websocket") {
		return http.StatusUpgradeRequired, errors.New("this is a WebSocket endpoint: connect with subprotocol " + wire.Subprotocol)
	}
	if err := s.origins.check(r); err != nil {
		return http.StatusForbidden, err
	}
	if !hasToken(r.Header, "Sec-WebSocket-Protocol", wire.Subprotocol) {
		return http.StatusBadRequest, errors.New("the WebSocket subprotocol must be " + wire.Subprotocol)
	}
	return 0, nil
}

func hasToken(h http.Header, name, token string) bool {
	return slices.ContainsFunc(h.Values(name), func(line string) bool {
		return slices.ContainsFunc(strings.Split(line, ","), func(t string) bool {
			return strings.EqualFold(strings.TrimSpace(t), token)
		})
	})
}

func (s *Server) serve(ws *websocket.Conn, r *http.Request) {
	log := s.config.Logger.With("remote", r.RemoteAddr)
	log.Debug("reader connected", "userAgent", r.UserAgent())
	begun := time.Now()

	pinging, stop := context.WithCancel(context.Background())
	pinged := make(chan struct{})
	go func() {
		defer close(pinged)
		s.keepAlive(pinging, ws)
	}()
	err := s.config.Connector.Serve(s.stopping, &conn{ws: ws})
	stop()
	<-pinged
	log.Debug("reader disconnected", "after", time.Since(begun), "reason", err)
}

// keepAlive drops a connection whose other side is gone without a word.
func (s *Server) keepAlive(ctx context.Context, ws *websocket.Conn) {
	ticker := time.NewTicker(s.config.PingInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		pong, cancel := context.WithTimeout(ctx, pongTimeout)
		err := ws.Ping(pong)
		cancel()
		if err != nil {
			ws.CloseNow()
			return
		}
	}
}

// conn is a WebSocket as a connector.MessageConn.
type conn struct {
	ws       *websocket.Conn
	deadline *deadline // of the last Write
}

// deadline closes a WebSocket when a context ends while a message is being
// written with it. Between messages its end means nothing: whoever has said its
// last words cancels their context, and then closes in good order.
type deadline struct {
	ctx     context.Context
	writing atomic.Bool
	stop    func() bool
}

// Read implements connector.MessageConn.
func (c *conn) Read(ctx context.Context) ([]byte, error) {
	kind, message, err := c.ws.Read(ctx)
	switch websocket.CloseStatus(err) {
	case websocket.StatusNormalClosure, websocket.StatusGoingAway, websocket.StatusNoStatusRcvd:
		return nil, io.EOF
	}
	if err == nil && kind != websocket.MessageBinary {
		return nil, api.Protocol("a text message: every message of " + wire.Subprotocol + " is binary")
	}
	return message, err
}

// Write implements connector.MessageConn. The library would do with the context
// what is done here, but anew for every message.
func (c *conn) Write(ctx context.Context, message []byte) error {
	if c.deadline == nil || c.deadline.ctx != ctx {
		c.watch(ctx)
	}
	c.deadline.writing.Store(true)
	defer c.deadline.writing.Store(false)
	if err := ctx.Err(); err != nil {
		return err
	}
	return c.ws.Write(context.Background(), websocket.MessageBinary, message)
}

func (c *conn) watch(ctx context.Context) {
	c.stopWatching()
	d := &deadline{ctx: ctx}
	d.stop = context.AfterFunc(ctx, func() {
		if d.writing.Load() {
			c.ws.CloseNow()
		}
	})
	c.deadline = d
}

func (c *conn) stopWatching() {
	if c.deadline != nil {
		c.deadline.stop()
	}
}

// Close implements connector.MessageConn.
func (c *conn) Close(reason error) error {
	c.stopWatching()
	if reason == nil {
		return c.ws.Close(websocket.StatusNormalClosure, "")
	}
	var status *api.Status
	if !errors.As(reason, &status) {
		return c.ws.CloseNow() // the connection is broken, or its reader does not read
	}
	return c.ws.Close(closeCode(status), clip(status.Error()))
}

func closeCode(s *api.Status) websocket.StatusCode {
	switch {
	case s.Reason == api.ReasonProtocol:
		return websocket.StatusProtocolError
	case s.Code == http.StatusServiceUnavailable:
		return websocket.StatusGoingAway
	case s.Code == http.StatusTooManyRequests:
		return websocket.StatusTryAgainLater
	case s.Code >= 400 && s.Code < 500:
		return websocket.StatusPolicyViolation
	}
	return websocket.StatusInternalError
}

// clip shortens a reason to what fits a close frame.
func clip(reason string) string {
	const most = 123
	if len(reason) <= most {
		return reason
	}
	end := most
	for !utf8.RuneStart(reason[end]) {
		end--
	}
	return reason[:end]
}
