package server

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/internal/admission"
	"github.com/watchglass/watchglass/host/limit"
	"github.com/watchglass/watchglass/host/socket"
)

// watch upgrades to a WebSocket and serves one reader.
func (s *Server) watch(w http.ResponseWriter, r *http.Request) {
	if code, err := s.checkUpgrade(r); err != nil {
		s.requestLog(r).Debug("connection refused", "code", code, "error", err)
		w.Header().Set("Upgrade", "websocket")
		http.Error(w, err.Error(), code)
		return
	}
	if !s.enter() {
		http.Error(w, "the server is shutting down", http.StatusServiceUnavailable)
		return
	}
	defer s.serving.Done()
	conn, err := socket.Accept(w, r, websocket.AcceptOptions{
		Subprotocols:       []string{wire.Subprotocol},
		InsecureSkipVerify: true, // the origin was checked above
	})
	if err != nil {
		s.requestLog(r).Debug("WebSocket handshake failed", "error", err)
		return
	}
	defer admission.ConnOf(r.Context()).Close()
	conn.WebSocket().SetReadLimit(s.config.Connector.Limits().Value(limit.MaxMessageBytes))
	s.serve(conn, r)
}

// checkUpgrade returns an error if a request cannot be upgraded to a WebSocket. The
// error is also the body of the response.
func (s *Server) checkUpgrade(r *http.Request) (code int, err error) {
	if !hasToken(r.Header, "Upgrade", "websocket") {
		return http.StatusUpgradeRequired, errors.New("this is a WebSocket endpoint: connect with subprotocol " + wire.Subprotocol)
	}
	if err := s.checkOrigin(r); err != nil {
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

func (s *Server) serve(conn *socket.Conn, r *http.Request) {
	log := s.requestLog(r)
	log.Debug("reader connected", "userAgent", r.UserAgent())
	begun := time.Now()

	stop := conn.KeepAlive(s.config.PingInterval)
	err := s.config.Connector.Serve(access.WithClient(s.stopping, access.ClientOf(r.Context())), conn.Messages())
	stop()
	log.Debug("reader disconnected", "after", time.Since(begun), "reason", err)
}
