package server

import "net/http"

// discovery serves discovery requests from clients of /watch. Pages of every origin that
// may connect to /watch can read the responses. If authentication is required, pages that
// another server serves must send a token, because the CORS headers do not permit cookies.
func (s *Server) discovery(w http.ResponseWriter, r *http.Request) {
	if err := s.checkOrigin(r); err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	if origin := r.Header.Get("Origin"); origin != "" {
		h.Set("Access-Control-Allow-Origin", origin)
	}
	if r.Method == http.MethodOptions {
		h.Set("Access-Control-Allow-Methods", "GET")
		h.Set("Access-Control-Allow-Headers", "Accept, Authorization")
		h.Set("Access-Control-Max-Age", "600")
		w.WriteHeader(http.StatusNoContent)
		return
	}
	s.config.Discovery.ServeHTTP(w, r)
}
