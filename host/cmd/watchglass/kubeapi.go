package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/server"
)

// kubeAPI is the reading side of the Kubernetes API on an address of its own.
type kubeAPI struct {
	handler *kubeapi.Handler
	http    http.Server
}

func newKubeAPI(c *connector.Connector, policy access.Policy, ready func(context.Context) error) *kubeAPI {
	return &kubeAPI{handler: kubeapi.New(kubeapi.Config{
		Backend: c.Backend(), Access: policy, Ready: ready, Server: "watchglass", Limits: c.Limits(),
	})}
}

// serve answers until shutdown. The guard is that of the main server: whose
// pages may not connect there may not here.
func (k *kubeAPI) serve(listener net.Listener, guard *server.Server) error {
	k.http.Handler = guard.Guard(k.handler)
	k.http.ReadHeaderTimeout = 5 * time.Second
	k.http.IdleTimeout = 2 * time.Minute
	if err := k.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// shutdown ends the watches, in order, and waits for every request.
func (k *kubeAPI) shutdown(ctx context.Context) error {
	k.handler.Stop()
	return k.http.Shutdown(ctx)
}
