package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/clustersim"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/embedetcd"
	"github.com/watchglass/watchglass/host/internal/interrupt"
	"github.com/watchglass/watchglass/host/internal/listen"
	"github.com/watchglass/watchglass/host/internal/reload"
	"github.com/watchglass/watchglass/host/server"
	"github.com/watchglass/watchglass/host/source/etcd"
)

// demoRetention is how long the demo's etcd keeps old revisions. It limits the disk usage.
const demoRetention = 10 * time.Minute

// maxPods is the upper bound of --pods. Larger clusters could exhaust the memory before
// the first object is written.
const maxPods = 1_000_000

type demoFlags struct {
	hostFlags
	kubeFlags
	pods         int
	rate         float64
	seed         uint64
	dataDir      string
	etcdListen   string
	endpointFile string
}

func newDemoCommand() *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run a simulated cluster, the connector and the dashboard on this machine",
		Long: `Demo starts its own etcd on loopback, fills it with a simulated cluster that changes
continuously, and serves it with a connector and the dashboard. It deletes the data
when it exits, unless --data-dir names a directory for it.

With --kubeconfig, --context or --in-cluster it shows that cluster instead. It only
reads that cluster.`,
		Example: `  # 10,000 pods and 200 changes a second, on http://127.0.0.1:8080
  watchglass demo

  # The dashboard on the cluster that kubectl talks to
  watchglass demo --kubeconfig ~/.kube/config

  # A larger cluster with more changes, on a free port
  watchglass demo --pods 50000 --rate 2000 --listen 127.0.0.1:0

  # With the Kubernetes API, for kubectl --server http://127.0.0.1:8081 get pods -A
  watchglass demo --kube-api 127.0.0.1:8081`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.exclude(cmd.Flags()); err != nil {
				return err
			}
			return demo(cmd.Context(), &f, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.hostFlags.add(cmd.Flags())
	f.frugal = true
	f.drain.add(cmd.Flags(), 0)
	f.kubeFlags.add(cmd.Flags())
	cmd.Flags().IntVar(&f.pods, "pods", 10_000, "pods in the simulated cluster")
	cmd.Flags().Float64Var(&f.rate, "rate", 200, "changes per second; 0 for a cluster that does not change")
	cmd.Flags().Uint64Var(&f.seed, "seed", 1, "seed of the simulation; equal seeds produce equal clusters and changes")
	cmd.Flags().StringVar(&f.dataDir, "data-dir", "", "directory for etcd's data; existing objects in it are replaced (default: a temporary directory)")
	cmd.Flags().StringVar(&f.etcdListen, "etcd-listen", "127.0.0.1:0", "loopback address of the etcd; port 0 selects a free port")
	cmd.Flags().StringVar(&f.endpointFile, "etcd-endpoint-file", "", "file to write the etcd's address to when it is ready")
	f.configurable(cmd)
	return cmd
}

func demo(ctx context.Context, f *demoFlags, stdout, stderr io.Writer) error {
	ctx, watched, stop := interrupt.WhenUnread(ctx)
	defer stop()
	stdout, stderr = watched(stdout), watched(stderr)
	log, err := f.logger(stderr)
	if err != nil {
		return err
	}
	if f.kubeFlags.given() {
		return f.showCluster(ctx, log, stdout)
	}
	if err := f.check(); err != nil {
		return err
	}
	listeners, err := f.bind(log)
	if err != nil {
		return err
	}
	defer listeners.Close()
	recorder, err := f.recorder(log, stdout)
	if err != nil {
		return err
	}
	defer recorder.Close()
	store, err := f.startEtcd(stdout)
	if err != nil {
		return err
	}
	defer store.Close()
	cluster, err := f.populate(ctx, store.Client(), stdout)
	if err != nil {
		return quiet(ctx, err)
	}
	src, err := etcd.New(store.Client(), etcd.Config{Logger: log})
	if err != nil {
		return err
	}
	h, err := newHost(&f.hostFlags, listeners, files{}, "a simulated cluster", connector.Config{Source: src, Logger: log, Limits: f.limits, Observer: recorder},
		server.Config{Logger: log, AllowOrigins: f.allowOrigins, TrustedProxies: f.proxies, Private: f.private})
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return h.run(ctx) })
	group.Go(func() error { return f.live(ctx, h, cluster, stdout) })
	group.Go(func() error {
		select {
		case err := <-store.Err():
			return fmt.Errorf("the embedded etcd stopped: %w", err)
		case <-ctx.Done():
			return nil
		}
	})
	return group.Wait()
}

// showCluster serves a real cluster with the dashboard.
func (f *demoFlags) showCluster(ctx context.Context, log *slog.Logger, stdout io.Writer) error {
	files := files{Watcher: reload.NewWatcher(log)} // without hangups: SIGHUP ends the demo instead of reloading files
	up, err := f.openKube(log, files.Watcher)
	if err != nil {
		return err
	}
	defer up.close()
	listeners, err := f.bind(log)
	if err != nil {
		return err
	}
	if public := listeners.public(); public != nil {
		listeners.Close()
		return fmt.Errorf("the demo serves a real cluster only to this machine, and %s is public: listen on loopback, or use serve with --auth",
			strings.Join(public, " and "))
	}
	recorder, err := f.recorder(log, stdout)
	if err != nil {
		listeners.Close()
		return err
	}
	defer recorder.Close()
	h, err := newHost(&f.hostFlags, listeners, files, up.name, connector.Config{Source: up.source, Logger: log, Limits: f.limits, Observer: recorder},
		server.Config{Logger: log, AllowOrigins: f.allowOrigins, TrustedProxies: f.proxies, Private: f.private})
	if err != nil {
		return err
	}
	warnUnreachable(ctx, log, up, servingAnyway)
	h.printKubeAPI(stdout)
	fmt.Fprintf(stdout, "watchglass demo: %s  (%s; Ctrl-C stops)\n", h.url(), up.name)
	return h.run(ctx)
}

// exclude returns an error if the user selects a real cluster and also sets a flag of the
// simulated cluster.
func (f *demoFlags) exclude(flags *pflag.FlagSet) error {
	for _, name := range []string{"pods", "rate", "seed", "data-dir", "etcd-listen", "etcd-endpoint-file"} {
		if f.kubeFlags.given() && flags.Changed(name) {
			return fmt.Errorf("--%s configures the simulated cluster: it cannot be used with --kubeconfig, --context or --in-cluster", name)
		}
	}
	return nil
}

func (f *demoFlags) check() error {
	if f.pods < 1 || f.pods > maxPods {
		return fmt.Errorf("--pods %d: expected 1 to %s", f.pods, thousands(maxPods))
	}
	if !(f.rate >= 0) || math.IsInf(f.rate, 1) { // the negation also rejects NaN
		return fmt.Errorf("--rate %v: expected 0 or more", f.rate)
	}
	if f.endpointFile == "" {
		return nil
	}
	if folder, err := os.Stat(filepath.Dir(f.endpointFile)); err != nil {
		return fmt.Errorf("--etcd-endpoint-file: %w", err)
	} else if !folder.IsDir() {
		return fmt.Errorf("--etcd-endpoint-file: %s is not a directory", filepath.Dir(f.endpointFile))
	}
	return nil
}

// quiet returns nil if ctx is done, because the user has stopped the command, and err
// otherwise.
func quiet(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// startEtcd starts the etcd, prints its address, and writes it to --etcd-endpoint-file.
func (f *demoFlags) startEtcd(stdout io.Writer) (*embedetcd.Server, error) {
	address, err := netip.ParseAddrPort(f.etcdListen)
	if err != nil || address.Addr() != netip.AddrFrom4([4]byte{127, 0, 0, 1}) {
		return nil, fmt.Errorf("--etcd-listen %q: expected 127.0.0.1 and a port, because this etcd accepts every client", f.etcdListen)
	}
	if err := listen.Free("--etcd-listen", f.etcdListen); err != nil {
		return nil, err
	}
	store, err := embedetcd.Start(embedetcd.Config{
		Dir:           f.dataDir,
		ClientPort:    int(address.Port()),
		UnsafeNoFsync: true,
		Retention:     demoRetention,
	})
	if err != nil {
		return nil, err
	}
	endpoint := store.Endpoints()[0]
	fmt.Fprintf(stdout, "etcd: %s\n", endpoint)
	if f.endpointFile == "" {
		return store, nil
	}
	if err := writeAtomically(f.endpointFile, endpoint+"\n"); err != nil {
		store.Close()
		return nil, fmt.Errorf("--etcd-endpoint-file: %w", err)
	}
	return store, nil
}

// writeAtomically writes a file so that other programs never see a partial
// file.
func writeAtomically(path, content string) error {
	temp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // fails after the rename, which is harmless
	_, err = temp.WriteString(content)
	if err := errors.Join(err, temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}

// populate replaces the objects in etcd with the simulated cluster.
func (f *demoFlags) populate(ctx context.Context, client *clientv3.Client, stdout io.Writer) (*clustersim.Cluster, error) {
	if _, err := client.Delete(ctx, etcd.DefaultPrefix+"/", clientv3.WithPrefix()); err != nil {
		return nil, err
	}
	writer, err := etcd.NewWriter(client, etcd.Config{})
	if err != nil {
		return nil, err
	}
	cluster, err := clustersim.New(writer, clustersim.Config{Pods: f.pods, Rate: f.rate, Seed: f.seed})
	if err != nil {
		return nil, err
	}
	shown := 0
	return cluster, cluster.Populate(ctx, func(done, total int) {
		if tenth := done * 10 / total; tenth > shown {
			shown = tenth
			fmt.Fprintf(stdout, "populating: %s of %s objects\n", thousands(done), thousands(total))
		}
	})
}

// live prints the address of the dashboard once the connector has listed the pods. It then
// changes the cluster until ctx is done.
func (f *demoFlags) live(ctx context.Context, h *host, cluster *clustersim.Cluster, stdout io.Writer) error {
	release, err := h.connector.Hold(ctx, api.Resource{Version: "v1", Name: "pods"})
	if err != nil {
		return quiet(ctx, err)
	}
	defer release()
	if err := h.waitForHealth(ctx); err != nil {
		return quiet(ctx, err)
	}
	h.printKubeAPI(stdout)
	fmt.Fprintf(stdout, "watchglass demo: %s  (%s pods, %s changes/s; Ctrl-C stops)\n",
		h.url(), thousands(cluster.Pods()), strconv.FormatFloat(f.rate, 'f', -1, 64))
	if f.rate == 0 {
		<-ctx.Done()
		return nil
	}
	return quiet(ctx, cluster.Run(ctx))
}

// thousands formats n with commas.
func thousands(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
