package main

import (
	"log/slog"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/watchglass/watchglass/host/internal/listen"
)

// exhausted is a listener without free file descriptors.
type exhausted struct{ net.Listener }

func (exhausted) Accept() (net.Conn, error) { return nil, syscall.EMFILE }
func (exhausted) Addr() net.Addr            { return &net.TCPAddr{} }

func TestMetricsCountFailedAccepts(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	l := listeners{guarded: []*listen.Guarded{listen.Guard(exhausted{}, quiet), listen.Guard(exhausted{}, quiet)}}
	for range 3 {
		for _, g := range l.guarded {
			_, err := g.Accept()
			assert.ErrorIs(t, err, syscall.EMFILE)
		}
	}
	assert.EqualValues(t, 6, l.acceptFailures())
}
