package kubeserver

import (
	"io"
	"net/http"
	"sync"
)

// Handler serves a [Server] over HTTP. The time of the server is always zero, so its
// watches do not time out.
type Handler struct {
	Server *Server

	mu      sync.Mutex
	changed chan struct{} // closed by the next change
	ended   int           // number of calls of EndWatches
}

// NewHandler returns a handler that owns the server.
func NewHandler(s *Server) *Handler { return &Handler{Server: s, changed: make(chan struct{})} }

// Do calls f, which may change the server, and then sends the changes to the open
// watches.
func (h *Handler) Do(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
	close(h.changed)
	h.changed = make(chan struct{})
}

// EndWatches ends the open watches without an error.
func (h *Handler) EndWatches() { h.Do(func() { h.ended++ }) }

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request, err := ParseRequest(r.URL.String())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	ended, response := h.ended, h.Server.Respond(request, 0)
	if response.Code != http.StatusOK {
		w.WriteHeader(response.Code)
	}
	for {
		h.Server.Advance(response, 0)
		parts, over, changed := response.Parts, response.Ended || h.ended > ended, h.changed
		response.Parts = nil
		h.mu.Unlock()
		for _, p := range parts {
			io.WriteString(w, p.Data)
		}
		w.(http.Flusher).Flush()
		if over {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
		h.mu.Lock()
	}
}
