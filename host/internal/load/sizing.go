//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/watchglass/watchglass/core/wire"
)

// sizingCommand is the first argument that makes this program measure and print the sizing
// table.
const sizingCommand = "sizing"

// size is the load in one row of the sizing table.
type size struct {
	pods, readers, informers int
	rate                     float64 // objects written per second
}

// sizes are the rows of the sizing table. Most rows differ from another row in only one
// quantity. Consecutive rows with the same number of pods share a cluster.
var sizes = []size{
	{1_000, 10, 0, 20},
	{10_000, 10, 0, 0}, {10_000, 10, 0, 20}, {10_000, 10, 0, 200},
	{10_000, 100, 0, 20}, {10_000, 1000, 0, 20},
	{10_000, 10, 10, 20}, {10_000, 10, 100, 20},
	{10_000, 1000, 0, 200},
	{50_000, 10, 0, 20}, {50_000, 200, 20, 200},
}

// usage contains the resources that a connector used.
type usage struct {
	changes float64       // changes of pods per second
	start   time.Duration // processor time until all clients were in sync
	cores   float64       // processor time divided by elapsed time, after the start
	memory  int64         // resident bytes at the end
	peak    int64         // maximum number of resident bytes since the start of the process
}

// sizing is the configuration of a measurement of the sizing table.
type sizing struct {
	Config
	sizes  []size
	runs   int
	window time.Duration
}

func runSizing(args []string, out io.Writer) error {
	s := sizing{Config: Config{Out: os.Stderr}, sizes: sizes}
	flags := flag.NewFlagSet(sizingCommand, flag.ExitOnError)
	flags.IntVar(&s.runs, "runs", 3, "measurements of each row")
	flags.DurationVar(&s.window, "window", 20*time.Second, "duration of each measurement")
	flags.StringVar(&s.Binary, "binary", "build/watchglass", "the watchglass binary")
	flags.StringVar(&s.Dir, "dir", "build/sizing", "directory for the logs of the processes")
	_ = flags.Parse(args) // exits on error
	if s.runs < 1 || s.window <= 0 {
		return errors.New("-runs and -window must be positive")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	rows, err := s.run(ctx)
	if err != nil {
		return fmt.Errorf("%w\nlogs are in %s", err, s.Dir)
	}
	return printSizing(out, s.sizes, rows)
}

// run returns the measurements of each row.
func (s *sizing) run(ctx context.Context) (rows [][]usage, err error) {
	if err := os.MkdirAll(s.Dir, 0o777); err != nil {
		return nil, err
	}
	var k *cluster
	defer func() {
		if k != nil {
			k.close()
		}
	}()
	for i, size := range s.sizes {
		if i == 0 || s.sizes[i-1].pods != size.pods {
			if k != nil {
				k.close()
			}
			c := s.Config
			c.Pods = size.pods
			starting, cancel := context.WithTimeout(ctx, patience)
			k, err = startCluster(starting, c)
			cancel()
			if err != nil {
				return nil, fmt.Errorf("start a cluster of %d pods: %w", size.pods, err)
			}
		}
		var row []usage
		for range s.runs {
			u, err := s.measure(ctx, k, size)
			if err != nil {
				return nil, fmt.Errorf("%+v: %w", size, err)
			}
			row = append(row, u)
			if _, err := fmt.Fprintf(s.Out, "%+v: %+v\n", size, u); err != nil {
				return nil, err
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// measure starts a connector, connects the clients of a size, and returns the resources
// that the connector used.
func (s *sizing) measure(ctx context.Context, k *cluster, size size) (u usage, err error) {
	starting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	clients := strconv.Itoa(10 * (size.readers + size.informers))
	target, err := serve(starting, s.Binary, filepath.Join(s.Dir, "connector.log"), "--kubeconfig", k.config, "--auth", "kube",
		"--max-readers", clients, "--max-connections-per-user", clients, "--max-requests", clients)
	if err != nil {
		return u, err
	}
	running, stop := context.WithCancel(ctx)
	c := crowd{cluster: k, target: target, ctx: running}
	defer func() {
		stop()
		target.kill()
		c.running.Wait()
		err = errors.Join(err, c.err)
	}()
	if err := c.connect(starting, size); err != nil {
		return u, err
	}
	if u.start, err = target.busy(); err != nil {
		return u, err
	}
	return u, c.observe(size, s.window, &u)
}

// crowd contains the clients of one connector.
type crowd struct {
	cluster *cluster
	target  *process
	ctx     context.Context // ends all clients
	running sync.WaitGroup
	changes atomic.Int64 // number of changes that one reader has received

	once sync.Once
	err  error // the error of the first client that ended early
}

// connect connects all clients, and returns when they have the complete state.
func (c *crowd) connect(starting context.Context, size size) error {
	if err := c.reader(starting, 0); err != nil { // makes the connector list the cluster, so that the other clients need not wait for the list
		return err
	}
	var opening errgroup.Group
	opening.SetLimit(16)
	for i := 1; i < size.readers; i++ {
		opening.Go(func() error { return c.reader(starting, i) })
	}
	for i := range size.informers {
		opening.Go(func() error { return c.informer(starting, i) })
	}
	return opening.Wait()
}

func (c *crowd) fail(err error) {
	if c.ctx.Err() == nil {
		c.once.Do(func() { c.err = err })
	}
}

func (c *crowd) reader(starting context.Context, i int) error {
	subscribe := (&wire.Subscribe{Subscription: 1, Resource: "v1/pods", Credit: endless}).Append(nil)
	conn, first, err := newHost(byte(2+i%100), c.target, 0).greet(starting, user(i), subscribe)
	if err != nil {
		return err
	}
	r := &reader{conn: conn, cluster: c.cluster, synced: make(chan struct{})}
	c.running.Go(func() {
		defer conn.CloseNow()
		c.fail(r.read(c.ctx, first, 0))
	})
	select {
	case <-r.synced:
	case <-starting.Done():
		return fmt.Errorf("reader %d has not received the whole state: %w", i, starting.Err())
	}
	if i == 0 {
		c.running.Go(func() {
			for sleep(c.ctx, 10*time.Millisecond) {
				c.changes.Store(r.changes.Load())
			}
		})
	}
	return nil
}

func (c *crowd) informer(starting context.Context, i int) error {
	h := newHost(byte(2+i%100), c.target, 0)
	h.path = "/api/v1/pods"
	informer, err := h.inform(c.ctx, user(i))
	if err != nil {
		return err
	}
	c.running.Go(func() {
		err := informer.read()
		c.fail(fmt.Errorf("informer %d ended after %d events: %w", i, informer.changes.Load(), err))
	})
	// Wait for the initial events. Earlier changes to the cluster would fill the short
	// queue of the watch.
	for informer.changes.Load() < int64(c.cluster.sim.Pods()) {
		if !sleep(starting, 20*time.Millisecond) {
			return fmt.Errorf("informer %d received %d events: %w", i, informer.changes.Load(), starting.Err())
		}
	}
	return nil
}

// observe changes the cluster at the rate in size for the duration of window, and stores
// the measurements of the connector in u.
func (c *crowd) observe(size size, window time.Duration, u *usage) error {
	ctx, cancel := context.WithTimeout(c.ctx, window)
	defer cancel()
	begun, changes := time.Now(), c.changes.Load()
	var writing errgroup.Group
	if size.rate > 0 {
		writing.Go(func() error { return c.write(ctx, size.rate) })
	}
	<-ctx.Done()
	if err := errors.Join(writing.Wait(), c.target.running()); err != nil {
		return err
	}
	busy, err := c.target.busy()
	if err != nil {
		return err
	}
	elapsed := time.Since(begun)
	u.cores, u.changes = (busy-u.start).Seconds()/elapsed.Seconds(), float64(c.changes.Load()-changes)/elapsed.Seconds()
	if u.memory, err = c.target.memory(); err != nil {
		return err
	}
	u.peak, err = c.target.peak()
	return err
}

// write changes the cluster until ctx is done.
func (c *crowd) write(ctx context.Context, perSecond float64) error {
	limiter := rate.NewLimiter(rate.Limit(perSecond), 100)
	for limiter.Wait(ctx) == nil {
		n, err := c.cluster.sim.Step(context.WithoutCancel(ctx))
		if err != nil {
			return err
		}
		_ = limiter.ReserveN(time.Now(), min(n-1, limiter.Burst())) // a step may write several objects
	}
	return nil
}

// printSizing writes the sizing table in Markdown. Each value is the median of the
// measurements. For the CPU usage, the table also shows the lowest and the highest value.
func printSizing(out io.Writer, sizes []size, rows [][]usage) error {
	text := "| Pods | Changes per second | Readers | Informers | CPU time to start | CPU | lowest to highest | Memory | Peak |\n" +
		"|---|---|---|---|---|---|---|---|---|\n"
	for i, row := range rows {
		s, millicores := sizes[i], values(row, func(u usage) float64 { return 1000 * u.cores })
		text += fmt.Sprintf("| %d | %.0f | %d | %d | %.1f s | %.0fm | %.0fm to %.0fm | %s | %s |\n", s.pods,
			median(values(row, func(u usage) float64 { return u.changes })), s.readers, s.informers,
			median(values(row, func(u usage) float64 { return u.start.Seconds() })),
			median(millicores), millicores[0], millicores[len(millicores)-1],
			megabytes(int64(median(values(row, func(u usage) float64 { return float64(u.memory) })))),
			megabytes(int64(median(values(row, func(u usage) float64 { return float64(u.peak) })))))
	}
	_, err := io.WriteString(out, text)
	return err
}

// values returns the result of the function "of" for each measurement, in ascending order.
func values(row []usage, of func(usage) float64) (all []float64) {
	for _, u := range row {
		all = append(all, of(u))
	}
	slices.Sort(all)
	return all
}

func median(sorted []float64) float64 { return sorted[len(sorted)/2] }
