package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/objectjson"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/push"
	"github.com/watchglass/watchglass/host/server"
	"github.com/watchglass/watchglass/host/source"
)

type pushFlags struct {
	hostFlags // except --kube-api, --allow-origin, --trusted-proxy and --audit-log
	upstreamFlags
	resources       []string
	tokenFile       string
	progress        time.Duration
	replace         bool
	allowSecretData bool
}

func newPushCommand() *cobra.Command {
	f := pushFlags{hostFlags: hostFlags{drain: defaultDrain}}
	cmd := &cobra.Command{
		Use:   "push URL --resources RESOURCE,... {--kubeconfig FILE | --in-cluster | --etcd-endpoints HOST:PORT}",
		Short: "Feed a cluster's objects to an edge through outgoing connections",
		Long: `Push watches resources of a cluster and feeds them to an edge, which serves any
number of readers. It opens all connections itself, so the cluster needs no public
address, and reconnects whenever a connection is lost. It keeps no state: it resumes
from the resource version that the edge reports.

The edge may divide a cluster among several Durable Objects, by resource, or by
namespace for a resource that is too large for one object. The edge's variable
WATCHGLASS_CLUSTERS defines the division, and push requests it from the edge. Push
connects to each object and sends it its part, with one upstream watch per resource.
When the division changes, push reconnects. A resource without namespaces cannot be
divided by namespace.

Several pushers may feed the same edge. For each object one is active. The others
stand by and resume where it stopped.

Push does not serve readers. With --listen it serves /healthz, /readyz and /metrics,
as serve does. With --admin, inspect shows what it watches and sends.`,
		Example: `  watchglass push wss://edge.example.com/feed --resources pods,deployments \
    --kubeconfig ~/.kube/config --token-file token`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return pushTo(cmd.Context(), &f, args[0], cmd.ErrOrStderr())
		},
	}
	f.kubeFlags.add(cmd.Flags())
	f.etcdFlags.add(cmd.Flags())
	f.logFlags.add(cmd.Flags())
	f.limits = addLimits(cmd.Flags())
	cmd.Flags().StringVar(&f.listen, "listen", "", "address to serve /healthz, /readyz and /metrics on, such as 127.0.0.1:8080")
	f.addAdmin(cmd.Flags())
	cmd.Flags().StringSliceVar(&f.resources, "resources", nil, "resources to send, such as pods or apps/v1/deployments (repeatable)")
	cmd.Flags().StringVar(&f.tokenFile, "token-file", "", "file with the token that the edge requires; it is read again for every connection")
	cmd.Flags().DurationVar(&f.progress, "progress", 30*time.Second, "how often to confirm to the edge that it is up to date; each confirmation wakes a hibernated edge object")
	cmd.Flags().BoolVar(&f.replace, "replace", false, "let the edge discard the data of another cluster with the same name")
	cmd.Flags().BoolVar(&f.allowSecretData, "allow-secret-data", false, "send the data of Secrets, which is withheld otherwise")
	f.configurable(cmd)
	return cmd
}

func pushTo(ctx context.Context, f *pushFlags, url string, stderr io.Writer) error {
	log, err := f.logger(stderr)
	if err != nil {
		return err
	}
	resources, err := f.resolved()
	if err != nil {
		return err
	}
	if err := push.CheckURL(url); err != nil {
		return err
	}
	if _, err := f.token(); err != nil { // later errors may be temporary, because another program may be renewing the file
		return err
	}
	if f.tokenFile != "" {
		warnReadable(log, "--token-file", f.tokenFile)
	}
	files := newFiles(ctx, log)
	up, err := f.upstreamFlags.open(log, files.Watcher)
	if err != nil {
		return err
	}
	defer up.close()
	listeners, err := f.bindGiven(log)
	if err != nil {
		return err
	}
	h, err := newHost(&f.hostFlags, listeners, files, up.name,
		connector.Config{
			Source:  up.source,
			Logger:  log,
			Access:  access.Only(resources...),
			Limits:  f.limits,
			Keep:    objectjson.Options{KeepSecretData: f.allowSecretData},
			Session: session.Config{ProgressMillis: f.progress.Milliseconds()},
		},
		server.Config{Logger: log, HealthOnly: true, Private: f.private})
	if err != nil {
		return err
	}
	defer h.logRun(up.name)()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return h.run(ctx) })
	group.Go(func() error {
		pusher, err := push.New(push.Config{
			Connector: h.connector, URL: url, Resources: resources, Replace: f.replace, Logger: log,
			ClusterID: identity(up.source), Token: f.token,
		})
		if err != nil {
			return err
		}
		warnUnreachable(ctx, log, up, retrying)
		if err := hold(ctx, h.connector, resources, log); err != nil || ctx.Err() != nil {
			return err
		}
		return pusher.Run(ctx)
	})
	return group.Wait()
}

// hold starts an upstream watch of each resource and waits for its first list, so that the
// edge receives the objects without delay.
func hold(ctx context.Context, c *connector.Connector, resources []api.Resource, log *slog.Logger) error {
	for _, resource := range resources {
		log.Info("listing", "resource", resource.String())
		if _, err := c.Hold(ctx, resource); err != nil && ctx.Err() == nil {
			return fmt.Errorf("--resources: %w", err)
		}
	}
	return nil
}

// identity returns a function that requests the cluster ID from a source. The function
// returns "" if the source has no ID.
func identity(src source.Source) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		identifier, ok := src.(source.Identifier)
		if !ok {
			return "", nil
		}
		return identifier.ClusterID(ctx)
	}
}

func (f *pushFlags) resolved() ([]api.Resource, error) {
	if len(f.resources) == 0 {
		return nil, errors.New("no resources are selected: give --resources, such as --resources pods,deployments")
	}
	if f.progress < time.Second {
		return nil, fmt.Errorf("--progress %v: expected at least 1s", f.progress)
	}
	return resolveAll("--resources", f.resources)
}

// token reads the token from the token file, which another program may renew. Without
// --token-file, it returns "".
func (f *pushFlags) token() (string, error) {
	if f.tokenFile == "" {
		return "", nil
	}
	tokens, err := readTokens(f.tokenFile)
	switch {
	case err != nil:
		return "", err
	case len(tokens) > 1:
		return "", fmt.Errorf("--token-file %s: expected one token, found %d", f.tokenFile, len(tokens))
	}
	return tokens[0], nil
}
