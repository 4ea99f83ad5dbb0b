package e2e

import (
	"context"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/internal/backoff"
)

// balancer distributes TCP connections among the ready replicas, as a Service does.
type balancer struct {
	listen net.Listener
	wg     sync.WaitGroup

	mu       sync.Mutex
	replicas []string // addresses
	next     int
}

func startBalancer(t *testing.T) *balancer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	b := &balancer{listen: l}
	b.wg.Go(b.accept)
	t.Cleanup(func() {
		_ = l.Close()
		b.wg.Wait()
	})
	return b
}

// set replaces the replicas.
func (b *balancer) set(replicas ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.replicas = replicas
}

// pick returns the address of the next ready replica in turn, or "" if none is ready.
func (b *balancer) pick() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range b.replicas {
		b.next++
		if address := b.replicas[b.next%len(b.replicas)]; healthy(address) {
			return address
		}
	}
	return ""
}

func (b *balancer) accept() {
	for {
		in, err := b.listen.Accept()
		if err != nil {
			return
		}
		b.wg.Go(func() { b.forward(in) })
	}
}

func (b *balancer) forward(in net.Conn) {
	defer in.Close()
	out, err := net.Dial("tcp", b.pick())
	if err != nil {
		return
	}
	defer out.Close()
	done := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{in, out}, {out, in}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1])
			done <- struct{}{}
		}()
	}
	<-done
}

// replica is a server behind the balancer.
type replica struct {
	*server
	address string
}

func startReplica(t *testing.T, c *cluster) replica {
	t.Helper()
	address := freeAddress(t)
	return replica{startServer(t, c, address, "--preload=pods", "--shutdown-delay=200ms"), address}
}

// terminate stops a replica as a rollout does, and waits until it has exited.
func (r replica) terminate(t *testing.T) {
	t.Helper()
	require.NoError(t, r.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, r.cmd.Wait())
}

// current waits until a page has received every change that etcd has committed so far.
func current(t *testing.T, page context.Context, c *cluster) {
	t.Helper()
	r, err := c.etcd.Client().Get(t.Context(), "/")
	require.NoError(t, err)
	waitFor(t, page, "BigInt(watchglassDashboard.progress.resourceVersion) >= "+itoa(r.Header.Revision)+"n")
}

// churning makes changes in the background until the caller calls stop.
func churning(t *testing.T, c *cluster) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			_, err := c.Step(context.Background())
			assert.NoError(t, err)
			backoff.Sleep(ctx, 5*time.Millisecond)
		}
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return stop
}

// Two pages read from two replicas behind a load balancer. While the cluster changes, a
// rollout starts two new replicas and then stops the old ones, in turn, as the strategy of
// examples/deploy does. Both pages resume without a relist.
func TestDashboard_survives_a_rolling_restart(t *testing.T) {
	c := startCluster(t, 2000)
	b := startBalancer(t)
	old := []replica{startReplica(t, c), startReplica(t, c)}
	b.set(old[0].address, old[1].address)
	var pages []context.Context
	before := map[int]map[string]int{}
	for i := range 2 {
		page := openPage(t, "http://"+b.listen.Addr().String()+"/")
		waitFor(t, page, state("live"))
		exact(t, page, c)
		pages, before[i] = append(pages, page), counters(t, page)
	}

	stop := churning(t, c)
	first, second := startReplica(t, c), startReplica(t, c)
	for _, page := range pages {
		current(t, page, c)
	}
	b.set(first.address, second.address, old[1].address)
	old[0].terminate(t)
	for _, page := range pages {
		waitFor(t, page, state("live"))
	}
	b.set(first.address, second.address)
	old[1].terminate(t)
	for i, page := range pages {
		waitFor(t, page, state("live"))
		resumed := func() bool { return counters(t, page)["resumes"] > before[i]["resumes"] }
		require.Eventually(t, resumed, within, 50*time.Millisecond, "page %d has read from an old replica", i)
	}
	stop()
	for i, page := range pages {
		waitFor(t, page, state("live"))
		exact(t, page, c)
		after := counters(t, page)
		require.Equal(t, before[i]["relists"], after["relists"], "page %d listed again", i)
	}
}
