package listen

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// exhausted is a listener whose first calls to Accept fail as if no file descriptors were
// free.
type exhausted struct {
	net.Listener
	failures int
}

func (l *exhausted) Accept() (net.Conn, error) {
	if l.failures > 0 {
		l.failures--
		return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.Addr(), Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}

// memory is a listener without a socket. It never accepts a connection.
type memory struct{ closed chan struct{} }

func (m memory) Accept() (net.Conn, error) { <-m.closed; return nil, net.ErrClosed }
func (m memory) Close() error              { close(m.closed); return nil }
func (m memory) Addr() net.Addr            { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080} }

func TestExhaustedFileDescriptorsAreLoggedAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		base := &exhausted{memory{make(chan struct{})}, 1000}
		l := Guard(base, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError})))
		accept := func() {
			_, err := l.Accept()
			require.ErrorIs(t, err, syscall.EMFILE, "the server decides how long to wait")
		}
		for range 30 {
			accept()
			time.Sleep(time.Second)
		}
		assert.EqualValues(t, 30, l.Failures())
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		assert.Len(t, lines, 3, "one every ten seconds:\n%s", log.String())
		for _, want := range []string{"level=ERROR", "127.0.0.1:8080", "too many open files", "failures=1 "} {
			assert.Contains(t, lines[0]+" ", want)
		}
		assert.Contains(t, lines[2]+" ", "failures=21 ")

		require.NoError(t, l.Close())
		base.failures = 0
		_, err := l.Accept()
		assert.ErrorIs(t, err, net.ErrClosed)
		assert.EqualValues(t, 30, l.Failures(), "closing a listener is not a failure")
	})
}

func TestServerContinuesAfterExhaustedFileDescriptors(t *testing.T) {
	base, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l := Guard(&exhausted{base, 3}, slog.New(slog.DiscardHandler))
	server := http.Server{Handler: http.NotFoundHandler(), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	resp, err := http.Get("http://" + l.Addr().String())
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	resp.Body.Close()
	assert.EqualValues(t, 3, l.Failures())
	require.NoError(t, server.Close())
	assert.ErrorIs(t, <-served, http.ErrServerClosed)
}
