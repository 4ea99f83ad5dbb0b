package listen

import (
	"log/slog"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Linux doubles the configured size to include its bookkeeping. The kernel then uses at
// most the doubled size for the unsent data of a connection.
func TestKernelBuffersNoMoreThan256KiBForAReader(t *testing.T) {
	base, err := On("--listen", "127.0.0.1:0")
	require.NoError(t, err)
	l := Guard(base, slog.New(slog.DiscardHandler))
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer client.Close()
	conn, err := l.Accept()
	require.NoError(t, err)
	defer conn.Close()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	require.NoError(t, err)
	var size int
	require.NoError(t, raw.Control(func(fd uintptr) {
		size, err = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF)
	}))
	require.NoError(t, err)
	assert.Equal(t, 256<<10, size)
}
