package server

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/watchglass/watchglass/host/access"
)

// logged returns a handler that logs each request at level debug. Requests to the WebSocket
// endpoint are logged elsewhere.
func (s *Server) logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.config.Logger.Enabled(r.Context(), slog.LevelDebug) {
			next.ServeHTTP(w, r)
			return
		}
		begun := time.Now()
		seen := &statusWriter{ResponseWriter: w, code: http.StatusOK}
		next.ServeHTTP(seen, r)
		s.requestLog(r).Debug("request", "method", r.Method, "path", r.URL.Path,
			"code", seen.code, "took", time.Since(begun))
	})
}

// requestLog returns a logger that adds the client's address and the request ID.
func (s *Server) requestLog(r *http.Request) *slog.Logger {
	return s.config.Logger.With("remote", r.RemoteAddr, "request", access.ClientOf(r.Context()).RequestID)
}

// statusWriter is a response writer that records the status code.
type statusWriter struct {
	http.ResponseWriter
	code int
}

func (w *statusWriter) WriteHeader(code int) {
	w.code = code
	w.ResponseWriter.WriteHeader(code)
}

// Unwrap returns the wrapped writer, for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
