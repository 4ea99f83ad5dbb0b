// Command edge runs a complete edge on this machine. It starts an etcd with a simulated
// cluster, a connector that feeds the edge, and Cloudflare's runtime. The runtime runs
// the same worker and Durable Objects as a deployed edge. Start it with "make edge".
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/watchglass/watchglass/host/access/token"
	"github.com/watchglass/watchglass/host/clustersim"
	"github.com/watchglass/watchglass/host/edge"
	"github.com/watchglass/watchglass/host/embedetcd"
	"github.com/watchglass/watchglass/host/internal/interrupt"
	"github.com/watchglass/watchglass/host/internal/listen"
	"github.com/watchglass/watchglass/host/internal/workerd"
	"github.com/watchglass/watchglass/host/source/etcd"
)

// tokenTTL is the lifetime of the demo's tokens.
const tokenTTL = 12 * time.Hour

type config struct {
	root   string
	listen string
	secure string
	pods   int
	rate   float64
	// clusters is the value of WATCHGLASS_CLUSTERS, which divides clusters among Durable
	// Objects. Empty means one object for all resources.
	clusters string
}

func main() {
	ctx, watched, stop := interrupt.WhenUnread(interrupt.Context())
	defer stop()
	var c config
	flag.StringVar(&c.root, "root", ".", "root of the repository, where everything has been built")
	flag.StringVar(&c.listen, "listen", "127.0.0.1:8787", "address of the edge; port 0 selects a free port")
	flag.StringVar(&c.secure, "tls-listen", "127.0.0.1:8788", "address of the edge with TLS; port 0 selects a free port")
	flag.IntVar(&c.pods, "pods", 2000, "pods in the simulated cluster")
	flag.Float64Var(&c.rate, "rate", 20, "changes per second")
	flag.StringVar(&c.clusters, "clusters", "", "WATCHGLASS_CLUSTERS: how clusters are divided over objects")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "Error: unexpected argument %q: there are only flags, see -help\n", flag.Arg(0))
		os.Exit(2)
	}
	if err := run(ctx, c, watched(os.Stdout)); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// run runs the edge until ctx is done.
func run(ctx context.Context, c config, stdout io.Writer) (failed error) {
	if err := listen.Free("-listen", c.listen); err != nil {
		return err
	}
	if err := listen.Free("-tls-listen", c.secure); err != nil {
		return err
	}
	if _, err := edge.ParseClusters(c.clusters); err != nil {
		return fmt.Errorf("-clusters: %w", err)
	}
	fmt.Fprintf(stdout, "populating an etcd with %d pods\n", c.pods)
	d, err := open(ctx, c)
	if err != nil {
		return quiet(ctx, err)
	}
	defer func() { failed = errors.Join(failed, d.close()) }()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return d.feed(ctx) })
	group.Go(func() error { return d.front.run(ctx) })
	group.Go(func() error {
		if err := d.announce(ctx, stdout); err != nil {
			return quiet(ctx, err)
		}
		return quiet(ctx, d.cluster.Run(ctx))
	})
	group.Go(func() error {
		select {
		case <-d.runtime.Done():
			return quiet(ctx, errors.New("workerd ended: "+d.runtime.Stop()))
		case <-ctx.Done():
			return nil
		}
	})
	return group.Wait()
}

// demo contains the parts of a running edge, except the goroutines of the feed and of the
// simulation.
type demo struct {
	dir     string // directory of the Durable Objects and the certificate
	store   *embedetcd.Server
	cluster *clustersim.Cluster
	keys    token.Keys
	runtime *workerd.Process
	front   *front
}

// open starts an etcd server, populates it with a simulated cluster, and starts the
// runtime and the front. The caller must close the result.
func open(ctx context.Context, c config) (opened *demo, err error) {
	d := &demo{}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	if d.dir, err = os.MkdirTemp("", "watchglass-edge"); err != nil {
		return nil, err
	}
	if d.store, err = embedetcd.Start(embedetcd.Config{UnsafeNoFsync: true, Retention: 10 * time.Minute}); err != nil {
		return nil, err
	}
	writer, err := etcd.NewWriter(d.store.Client(), etcd.Config{})
	if err != nil {
		return nil, err
	}
	if d.cluster, err = clustersim.New(writer, clustersim.Config{Pods: c.pods, Rate: c.rate, Seed: 1}); err != nil {
		return nil, err
	}
	if err := d.cluster.Populate(ctx, func(int, int) {}); err != nil {
		return nil, err
	}
	key := rand.Text() + rand.Text()
	if d.keys, err = token.ParseKeys(key); err != nil {
		return nil, err
	}
	objects := filepath.Join(d.dir, "objects")
	if err := os.Mkdir(objects, 0o700); err != nil {
		return nil, err
	}
	if d.runtime, err = startRuntime(c, objects, key); err != nil {
		return nil, err
	}
	if d.front, err = newFront(c.secure, d.dir, d.runtime.Address()); err != nil {
		return nil, err
	}
	return d, nil
}

// close stops all parts and removes the directory.
func (d *demo) close() error {
	var errs []error
	if d.front != nil {
		d.front.server.Close()
		d.front.listener.Close() // already closed if the front has served
	}
	if d.runtime != nil {
		d.runtime.Stop()
	}
	if d.store != nil {
		errs = append(errs, d.store.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(d.dir))...)
}

// quiet returns err. If ctx is done, it returns nil, because then the interrupt caused
// the error.
func quiet(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// startRuntime starts the runtime with the files that are also deployed.
func startRuntime(c config, objects, key string) (*workerd.Process, error) {
	binary, err := workerd.Find(c.root)
	if err != nil {
		return nil, err
	}
	page, err := filepath.Abs(filepath.Join(c.root, "examples/dashboard/dist"))
	if err != nil {
		return nil, err
	}
	return workerd.Start(context.Background(), workerd.Config{
		Binary: binary, Path: filepath.Join(c.root, "examples/edge/local/config.capnp"),
		Flags: []string{"--socket-addr=http=" + c.listen, "--directory-path=objects=" + objects, "--directory-path=page=" + page},
		Env:   []string{"WATCHGLASS_KEY=" + key, "WATCHGLASS_CLUSTERS=" + c.clusters},
	})
}

// mint returns a signed token for all resources and namespaces. If feed is set, the token
// also permits a connector to feed the edge.
func (d *demo) mint(feed bool) (string, error) {
	now := time.Now()
	return d.keys.Sign(token.Claims{
		User: "make edge", Cluster: edge.DefaultCluster, Resources: []string{token.Any}, Namespaces: []string{token.Any},
		Feed: feed, Expires: now.Add(tokenTTL),
	}, now)
}
