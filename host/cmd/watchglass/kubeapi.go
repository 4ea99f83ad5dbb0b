package main

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"

	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/metrics"
)

// kubeAPI serves the read requests of the Kubernetes API on a separate address.
type kubeAPI struct {
	handler *kubeapi.Handler
	http    *http.Server
}

func newKubeAPI(c *connector.Connector, config connector.Config, timings *metrics.Timings) *kubeAPI {
	ready := func(ctx context.Context) error { return cmp.Or(c.Preloaded(), c.Ready(ctx)) }
	return &kubeAPI{handler: kubeapi.New(kubeapi.Config{
		Backend: c.Backend(), Access: config.Access, Observer: config.Observer, Ready: ready, Server: "watchglass", Limits: c.Limits(), Ended: timings.Ended,
	})}
}

// newDiscovery returns the handler of /api and /apis, where clients of /watch discover
// resources.
func newDiscovery(c *connector.Connector, config connector.Config) http.Handler {
	return kubeapi.New(kubeapi.Config{Backend: c.Backend(), Access: config.Access, Observer: config.Observer, Server: "watchglass", Limits: c.Limits()})
}

// serve serves requests until shutdown.
func (k *kubeAPI) serve(listener net.Listener) error {
	if err := k.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// shutdown ends each watch after a complete event, and waits for all requests.
func (k *kubeAPI) shutdown(ctx context.Context) error {
	k.handler.Stop()
	return k.http.Shutdown(ctx)
}
