package e2e

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/watchglass/watchglass/host/clustersim"
	"github.com/watchglass/watchglass/host/embedetcd"
	"github.com/watchglass/watchglass/host/internal/chromium"
	"github.com/watchglass/watchglass/host/internal/freeport"
	"github.com/watchglass/watchglass/host/source/etcd"
)

// within is the maximum duration of a wait in a test. It is long enough for a loaded
// machine, so only a failing test waits this long.
const within = 2 * time.Minute

// cluster is a simulated Kubernetes cluster, stored in etcd. Etcd runs in the test's
// process, so that it survives when a test kills the server.
type cluster struct {
	*clustersim.Cluster
	etcd *embedetcd.Server
}

func startCluster(t *testing.T, pods int) *cluster {
	t.Helper()
	server, err := embedetcd.Start(embedetcd.Config{UnsafeNoFsync: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	writer, err := etcd.NewWriter(server.Client(), etcd.Config{})
	require.NoError(t, err)
	sim, err := clustersim.New(writer, clustersim.Config{Pods: pods, Seed: 1})
	require.NoError(t, err)
	require.NoError(t, sim.Populate(t.Context(), func(int, int) {}))
	return &cluster{sim, server}
}

// churn makes at least n changes.
func (c *cluster) churn(t *testing.T, n int) {
	t.Helper()
	for done := 0; done < n; {
		changed, err := c.Step(t.Context())
		require.NoError(t, err)
		done += max(changed, 1)
	}
}

// pods returns the pods in etcd as "namespace/name@revision", sorted by key.
func (c *cluster) pods(t *testing.T) []string {
	t.Helper()
	const prefix = "/registry/pods/"
	r, err := c.etcd.Client().Get(t.Context(), prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	require.NoError(t, err)
	var pods []string
	for _, kv := range r.Kvs {
		pods = append(pods, strings.TrimPrefix(string(kv.Key), prefix)+"@"+itoa(kv.ModRevision))
	}
	return pods
}

// compact makes etcd discard its history, so that readers cannot resume.
func (c *cluster) compact(t *testing.T) {
	t.Helper()
	r, err := c.etcd.Client().Get(t.Context(), "/")
	require.NoError(t, err)
	_, err = c.etcd.Client().Compact(t.Context(), r.Header.Revision)
	require.NoError(t, err)
}

// server is a `watchglass serve` process.
type server struct {
	cmd *exec.Cmd
	out *logged
}

func binary(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../build/watchglass")
	require.NoError(t, err)
	_, err = os.Stat(path)
	require.NoError(t, err, `build the binary first: "make build"`)
	return path
}

func startServer(t *testing.T, c *cluster, listen string, flags ...string) *server {
	t.Helper()
	cmd := exec.Command(binary(t), append([]string{"serve", "--etcd-endpoints", strings.Join(c.etcd.Endpoints(), ","), "--listen", listen}, flags...)...)
	s := &server{cmd: cmd, out: &logged{}}
	cmd.Stdout, cmd.Stderr = s.out, s.out
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		s.kill()
		if t.Failed() {
			t.Log(s.out.String())
		}
	})
	require.Eventually(t, func() bool { return healthy(listen) }, within, 50*time.Millisecond, "the server did not become ready")
	return s
}

func healthy(listen string) bool {
	r, err := http.Get("http://" + listen + "/readyz")
	if err != nil {
		return false
	}
	defer func() { _ = r.Body.Close() }()
	return r.StatusCode == http.StatusOK
}

// kill kills the process, which simulates a crash.
func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// logged collects the output of a process.
type logged struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func freeAddress(t *testing.T) string {
	t.Helper()
	port, err := freeport.Reserve()
	require.NoError(t, err)
	return freeport.Address(port)
}

// proxy forwards TCP connections from the page to the server, and can close them.
type proxy struct {
	target string
	listen net.Listener
	mu     sync.Mutex
	conns  map[net.Conn]bool
	cutOff bool
	wg     sync.WaitGroup
}

func startProxy(t *testing.T, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{target: target, listen: l, conns: map[net.Conn]bool{}}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.cut(true)
		p.wg.Wait()
	})
	return p
}

func (p *proxy) accept() {
	for {
		in, err := p.listen.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", p.target)
		if err != nil || !p.add(in, out) {
			_ = in.Close()
			continue
		}
		p.wg.Go(func() { p.pipe(in, out) })
		p.wg.Go(func() { p.pipe(out, in) })
	}
}

func (p *proxy) pipe(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
	_ = from.Close()
}

func (p *proxy) add(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		if p.cutOff {
			_ = c.Close()
		}
		p.conns[c] = true
	}
	return !p.cutOff
}

// cut closes every connection. If off is true, the proxy also closes new connections until
// cut is called with false.
func (p *proxy) cut(off bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cutOff = off
	for c := range p.conns {
		_ = c.Close()
	}
	p.conns = map[net.Conn]bool{}
}

// openPage opens a URL in Chromium. The scripts run before those of the page.
func openPage(t *testing.T, url string, scripts ...string) context.Context {
	t.Helper()
	path, err := chromium.Find()
	require.NoError(t, err)
	allocator, cancel := chromedp.NewExecAllocator(t.Context(), append(chromium.Options(path), chromedp.WindowSize(1400, 900))...)
	t.Cleanup(cancel)
	page, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	for _, script := range scripts {
		_, err := chromedp.Run(page, func(ctx context.Context, target *chromedp.Target) (cdppage.AddScriptToEvaluateOnNewDocumentResult, error) {
			return cdp.Call(ctx, target, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: script})
		})
		require.NoError(t, err)
	}
	_, err = chromedp.Run(page, chromedp.Navigate(url))
	require.NoError(t, err)
	return page
}
