package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/push"
	"github.com/watchglass/watchglass/host/source/etcd"
)

// resources are the resources that the connector pushes.
var resources = []api.Resource{
	{Version: "v1", Name: "pods"},
	{Version: "v1", Name: "nodes"},
	{Version: "v1", Name: "configmaps"},
	{Group: "apps", Version: "v1", Name: "deployments"},
}

// feed runs a connector that connects to the edge, like "watchglass push".
func (d *demo) feed(ctx context.Context) (failed error) {
	log := slog.New(slog.DiscardHandler)
	src, err := etcd.New(d.store.Client(), etcd.Config{Logger: log})
	if err != nil {
		return err
	}
	c := connector.New(connector.Config{Source: src, Logger: log, Access: access.Only(resources...)})
	defer func() {
		closing, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		failed = errors.Join(failed, c.Close(closing))
	}()
	p, err := push.New(push.Config{
		Connector: c, URL: "ws://" + d.runtime.Address() + "/feed", Resources: resources, Logger: log,
		ClusterID: src.ClusterID,
		Token:     func() (string, error) { return d.mint(true) },
	})
	if err != nil {
		return err
	}
	return p.Run(ctx)
}

// announce waits until the edge is ready, and then prints a token and instructions.
func (d *demo) announce(ctx context.Context, stdout io.Writer) error {
	address := d.runtime.Address()
	reader, err := d.mint(false)
	if err != nil {
		return err
	}
	if err := ready(ctx, "http://"+address+"/readyz", reader); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, `
TOKEN=%s

dashboard  http://%[2]s/  (sign in with the token)
terminal   build/watchglass get pods -A -w --server ws://%[2]s/watch --token $TOKEN
kubectl    kubectl --server https://%[3]s --certificate-authority %[4]s --token $TOKEN get pods -A -w
curl       curl -H "Authorization: Bearer $TOKEN" 'http://%[2]s/api/v1/pods?limit=2'
           curl -N -H "Authorization: Bearer $TOKEN" 'http://%[2]s/api/v1/pods?watch=true'

watchglass edge: http://%[2]s  (Ctrl-C stops)
`, reader, address, d.front.listener.Addr(), d.front.caFile)
	return err
}

// ready polls a URL until all resources at the edge are current.
func ready(ctx context.Context, url, reader string) error {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", "Bearer "+reader)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
		response.Body.Close()
		switch {
		case err != nil:
			return err
		case response.StatusCode == http.StatusOK:
			return nil
		case response.StatusCode != http.StatusServiceUnavailable:
			return fmt.Errorf("the edge returned %s: %s", response.Status, text)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("%w while the edge reported: %s", ctx.Err(), text)
		}
	}
}
