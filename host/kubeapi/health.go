package kubeapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/watchglass/watchglass/host/access"
)

// readyTimeout is how long /readyz waits for Config.Ready.
const readyTimeout = 3 * time.Second

// health serves /livez, /readyz and /healthz, without authentication, as kube-apiserver
// does. A response names the failed checks and withholds the reasons. Only /readyz
// checks the source: after a failure of /livez, Kubernetes restarts this server, which
// would not repair the source.
func (h *Handler) health(w http.ResponseWriter, r *http.Request, name string) {
	var output strings.Builder
	healthy := true
	check := func(name string, err error) {
		if err != nil {
			healthy = false
			output.WriteString("[-]" + name + " failed: reason withheld\n")
			return
		}
		output.WriteString("[+]" + name + " ok\n")
	}
	check("ping", nil)
	if name == "readyz" {
		check("source", h.reachSource(r.Context()))
		check("sign-in", access.Ready(h.config.Access))
		check("shutdown", h.shutdown())
	}
	header := w.Header()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-cache, private")
	switch {
	case !healthy:
		w.WriteHeader(http.StatusInternalServerError)
		io.WriteString(w, output.String()+name+" check failed\n")
	case r.URL.Query().Has("verbose"):
		io.WriteString(w, output.String()+name+" check passed\n")
	default:
		io.WriteString(w, "ok")
	}
}

func (h *Handler) shutdown() error {
	if h.draining.Load() || h.stopping.Err() != nil {
		return errors.New("the server is shutting down")
	}
	return nil
}

func (h *Handler) reachSource(ctx context.Context) error {
	if h.config.Ready == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	return h.config.Ready(ctx)
}
