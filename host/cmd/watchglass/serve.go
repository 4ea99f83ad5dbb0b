package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/watchglass/watchglass/core/objectjson"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/server"
)

type serveFlags struct {
	hostFlags
	upstreamFlags
	authFlags
	preload         []string
	allowSecretData bool
}

func newServeCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve {--kubeconfig FILE | --in-cluster | --etcd-endpoints HOST:PORT}",
		Short: "Serve a cluster's objects to readers, from its kube-apiserver or etcd",
		Long: `Serve watches each resource of a cluster once and serves any number of readers
over WebSocket at /watch, their kinds at /api and /apis, the dashboard at /, health at /healthz and /readyz, and
metrics at /metrics. With --auth kube, only users who may get the non-resource URL
/metrics can read the metrics. With --kube-api it also serves get, list and watch to
kubectl and client-go, from the same cache.

From kube-apiserver it reads every resource that its credentials may list and
watch, including custom resources. From etcd it reads the built-in resources, which
must be stored as JSON.

It keeps no state of its own. It can be restarted at any time, and several can run
behind a load balancer. Readers resume by resource version.`,
		Example: `  # The cluster that kubectl talks to
  watchglass serve --kubeconfig ~/.kube/config

  # An etcd on this machine
  watchglass serve --etcd-endpoints 127.0.0.1:2379

  # A cluster's etcd with TLS, for a dashboard elsewhere, with a token
  watchglass serve --etcd-endpoints https://10.0.0.1:2379 \
    --etcd-cacert ca.crt --etcd-cert client.crt --etcd-key client.key \
    --listen :8080 --allow-origin https://dashboard.example.com --token-file token

  # For kubectl as well: kubectl --server http://127.0.0.1:8081 get pods -A -w
  watchglass serve --etcd-endpoints 127.0.0.1:2379 --kube-api 127.0.0.1:8081`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(cmd.Context(), &f, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.kubeFlags.add(cmd.Flags())
	f.etcdFlags.add(cmd.Flags())
	f.hostFlags.add(cmd.Flags())
	f.drain.add(cmd.Flags(), shutdownDelay)
	f.authFlags.add(cmd.Flags())
	cmd.Flags().StringSliceVar(&f.preload, "preload", nil, "resources to cache from the start, such as pods or apps/v1/deployments; /readyz waits for them, "+
		"so that readers resume when replicas are replaced (repeatable)")
	cmd.Flags().BoolVar(&f.allowSecretData, "allow-secret-data", false, "serve the data of Secrets, which is withheld otherwise")
	f.configurable(cmd)
	return cmd
}

func serve(ctx context.Context, f *serveFlags, stdout, stderr io.Writer) error {
	log, err := f.logger(stderr)
	if err != nil {
		return err
	}
	preload, err := resolveAll("--preload", f.preload)
	if err != nil {
		return err
	}
	files := newFiles(ctx, log)
	up, err := f.upstreamFlags.open(log, files.Watcher)
	if err != nil {
		return err
	}
	defer up.close()
	listeners, err := f.bind(log)
	if err != nil {
		return err
	}
	policy, err := f.policy(up, listeners.public(), f.limits, files.Watcher, log)
	if err != nil {
		listeners.Close()
		return err
	}
	if err := f.protect(&listeners, files.Watcher); err != nil {
		listeners.Close()
		return err
	}
	f.authFlags.warn(log, listeners)
	recorder, err := f.recorder(log, stdout)
	if err != nil {
		listeners.Close()
		return err
	}
	defer recorder.Close()
	h, err := newHost(&f.hostFlags, listeners, files, up.name,
		connector.Config{
			Source: up.source,
			Logger: log,
			Access: policy, Observer: recorder,
			Limits:  f.limits,
			Preload: preload,
			Keep:    objectjson.Options{KeepSecretData: f.allowSecretData},
		},
		server.Config{Logger: log, AllowOrigins: f.allowOrigins, TrustedProxies: f.proxies, Private: f.private,
			SessionCookie: f.cookie, ProxySessions: f.auth == authProxy})
	if err != nil {
		return err
	}
	defer h.logRun(up.name)()
	defer f.contact()()
	warnUnreachable(ctx, log, up, servingAnyway)
	h.printKubeAPI(stdout)
	fmt.Fprintf(stdout, "watchglass serve: %s  (%s; Ctrl-C stops)\n", h.url(), up.name)
	return h.run(ctx)
}
