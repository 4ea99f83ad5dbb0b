package main

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/internal/interrupt"
	"github.com/watchglass/watchglass/host/server"
	"github.com/watchglass/watchglass/host/source/memory"
)

// process is a command that runs in its own process and receives signals.
type process struct {
	*command
	cmd  *exec.Cmd
	wait error // valid after ended
}

func startProcess(t *testing.T, args ...string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "WATCHGLASS_MAIN=1")
	p := &process{command: &command{t: t, out: newOutput(), log: newOutput(), ended: make(chan struct{})}, cmd: cmd}
	cmd.Stdout, cmd.Stderr = p.out, p.log
	require.NoError(t, cmd.Start())
	go func() {
		defer close(p.ended)
		p.wait = cmd.Wait()
	}()
	p.cancel = func() { cmd.Process.Kill() }
	t.Cleanup(func() { p.stop() })
	return p
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(s))
}

// eventually waits until a condition holds.
func eventually(t *testing.T, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, time.Minute, 5*time.Millisecond)
}

func TestServeDrainsOnSIGTERM(t *testing.T) {
	store := startEtcd(t)
	p := startProcess(t, "serve", "--etcd-endpoints", store.Endpoints()[0], "--listen", "127.0.0.1:0", "--kube-api", "127.0.0.1:0", "--shutdown-delay", "1h")
	url := p.url()
	r := dial(t, url, "")
	s, err := r.Subscribe(t.Context(), everyPod)
	require.NoError(t, err)
	until(t, r, func() bool { return s.Synced })

	p.signal(syscall.SIGTERM)
	eventually(t, func() bool {
		code, _ := get(t, url+"/readyz")
		return code == http.StatusServiceUnavailable
	})
	_, body := get(t, url+"/readyz")
	assert.Contains(t, body, "shutting down")
	code, _ := get(t, p.kubeURL()+"/readyz")
	assert.Equal(t, http.StatusInternalServerError, code)
	code, _ = get(t, url+"/healthz")
	assert.Equal(t, http.StatusOK, code)
	version := putPod(t, store, "while-draining")
	until(t, r, func() bool { return s.ResourceVersion == version })
	late := dial(t, url, "")
	assert.Nil(t, late.Status, "new connections are served until the load balancer reacts")

	p.signal(syscall.SIGTERM)
	<-p.ended
	assert.ErrorContains(t, p.wait, "terminated", "a second signal ends it at once")
}

func TestServeDisconnectsReadersAfterTheDelay(t *testing.T) {
	store := startEtcd(t)
	for name, c := range map[string]struct {
		signal os.Signal
		delay  string
	}{"SIGTERM": {syscall.SIGTERM, "1ms"}, "Ctrl-C does not wait": {os.Interrupt, "1h"}} {
		t.Run(name, func(t *testing.T) {
			p := startProcess(t, "serve", "--etcd-endpoints", store.Endpoints()[0], "--listen", "127.0.0.1:0", "--shutdown-delay", c.delay)
			r := dial(t, p.url(), "")
			p.signal(c.signal)
			require.Error(t, r.UntilEnd(t.Context()))
			require.NotNil(t, r.Status)
			assert.Equal(t, 503, r.Status.Code)
			assert.Equal(t, 1, r.Status.RetryAfterSeconds)
			<-p.ended
			assert.NoError(t, p.wait, p.log)
		})
	}
}

// After the drain timeout, serve closes the connection of a reader that does not
// respond to the closing status.
func TestServeClosesConnectionsAfterTheDrainTimeout(t *testing.T) {
	store := startEtcd(t)
	p := startProcess(t, "serve", "--etcd-endpoints", store.Endpoints()[0], "--listen", "127.0.0.1:0", "--drain-timeout", "1ms")
	dial(t, p.url(), "")
	p.signal(os.Interrupt)
	<-p.ended
	assert.NoError(t, p.wait, p.log)
	assert.Contains(t, p.log.String(), `msg="some readers did not disconnect in time; their connections were closed" timeout=1ms`)
	assert.Contains(t, p.log.String(), "msg=stopped")
}

func TestDrainWaitsForTheDelayAfterSIGTERM(t *testing.T) {
	for name, c := range map[string]struct {
		cause error
		waits time.Duration
	}{"SIGTERM": {interrupt.Signal{Signal: syscall.SIGTERM}, 5 * time.Second}, "Ctrl-C": {interrupt.Signal{Signal: os.Interrupt}, 0}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				quiet := slog.New(slog.DiscardHandler)
				c0 := connector.New(connector.Config{Source: memory.New(), Logger: quiet})
				defer c0.Close(t.Context())
				s, err := server.New(server.Config{Connector: c0, Logger: quiet})
				require.NoError(t, err)
				h := &host{connector: c0, server: s, log: quiet, times: drain{delay: 5 * time.Second}}
				ready := func() int {
					answer := httptest.NewRecorder()
					s.Private().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/readyz", nil))
					return answer.Code
				}
				require.Equal(t, http.StatusOK, ready())
				ctx, cancel := context.WithCancelCause(t.Context())
				cancel(c.cause)
				begun := time.Now()
				time.AfterFunc(time.Millisecond, func() { assert.Equal(t, http.StatusServiceUnavailable, ready()) })
				require.NoError(t, h.drain(ctx, nil))
				assert.Equal(t, c.waits, time.Since(begun))
				assert.Equal(t, http.StatusServiceUnavailable, ready())
			})
		})
	}
}
