package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/internal/admission"
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
	conn, err := socket.Accept(w, r, websocket.AcceptOptions{
		Subprotocols:       []string{offered(r.Header)},
		InsecureSkipVerify: true, // the origin was checked above
	})
	if err != nil {
		s.requestLog(r).Debug("WebSocket handshake failed", "error", err)
		s.serving.Done()
		return
	}
	// Serve the reader in a new goroutine and return from the handler. Returning frees the
	// request and the stack of the handler's goroutine.
	counted := admission.ConnOf(r.Context())
	counted.Detach()
	log, client, agent := s.requestLog(r), access.ClientOf(r.Context()), r.UserAgent()
	go func() {
		defer s.serving.Done()
		defer counted.Close()
		if version := conn.WebSocket().Subprotocol(); version != wire.Subprotocol {
			s.refuseVersion(conn, log, version)
			return
		}
		s.serve(conn, log, client, agent)
	}()
}

// checkUpgrade returns the status code and the error if a request cannot be upgraded to a
// WebSocket. The error message becomes the body of the response.
func (s *Server) checkUpgrade(r *http.Request) (code int, err error) {
	if !hasToken(r.Header, "Upgrade", "websocket") {
		return http.StatusUpgradeRequired, errors.New("this is a WebSocket endpoint: connect with subprotocol " + wire.Subprotocol)
	}
	if err := s.checkOrigin(r); err != nil {
		return http.StatusForbidden, err
	}
	if offered(r.Header) == "" {
		return http.StatusBadRequest, errors.New("the WebSocket subprotocol must be " + wire.Subprotocol)
	}
	return 0, nil
}

// offered returns one of the subprotocol versions that the client offers: the server's
// version if it is among them, otherwise the first. It returns "" if the client offers
// none.
func offered(h http.Header) (version string) {
	for _, name := range tokens(h, "Sec-WebSocket-Protocol") {
		if name == wire.Subprotocol || version == "" && strings.HasPrefix(name, wire.SubprotocolPrefix) {
			version = name
		}
	}
	return version
}

// refuseVersion refuses a client of another version, and sends it the reason in a frame
// that all versions can parse. The connection is accepted first, because browsers do not
// expose the response to an upgrade.
func (s *Server) refuseVersion(conn *socket.Conn, log *slog.Logger, version string) {
	status := wire.OtherVersion(version)
	log.Debug("connection refused", "code", status.Code, "error", status)
	ctx, cancel := context.WithTimeout(s.stopping, refusalTimeout)
	defer cancel()
	_ = conn.Write(ctx, (&wire.SubscriptionStatus{Status: status}).Append(nil)) // the client may be gone
	_ = conn.Close(status)
}

// refusalTimeout limits how long a refused client may take to read the reason.
const refusalTimeout = 5 * time.Second

func hasToken(h http.Header, name, token string) bool {
	return slices.ContainsFunc(tokens(h, name), func(t string) bool { return strings.EqualFold(t, token) })
}

// tokens returns the elements of a header whose value is a comma-separated list.
func tokens(h http.Header, name string) (list []string) {
	for _, line := range h.Values(name) {
		for _, t := range strings.Split(line, ",") {
			list = append(list, strings.TrimSpace(t))
		}
	}
	return list
}

func (s *Server) serve(conn *socket.Conn, log *slog.Logger, client access.Client, agent string) {
	log.Debug("reader connected", "userAgent", agent)
	begun := time.Now()

	conn.LimitMessages(s.config.Connector.Limits())
	stop := conn.KeepAlive(s.config.PingInterval)
	err := s.config.Connector.Serve(access.WithClient(s.stopping, client), conn.Messages())
	stop()
	log.Debug("reader disconnected", "after", time.Since(begun), "reason", err)
}
