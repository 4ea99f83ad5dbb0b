package slowlink

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// All bytes arrive in order in both directions, and not faster than the rate of the link
// allows.
func TestLinkDeliversAllBytesInTime(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer server.Close()
	down := strings.Repeat("0123456789abcdef", 1<<12)
	go func() {
		conn, err := server.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		question := make([]byte, 5)
		if _, err := io.ReadFull(conn, question); err == nil {
			_, _ = io.WriteString(conn, string(question)+down)
		}
	}()
	p, err := Forward(server.Addr().String(), 1_000_000, 20*time.Millisecond)
	require.NoError(t, err)
	defer p.Close()
	started := time.Now()
	conn, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "hello")
	require.NoError(t, err)
	got, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Equal(t, "hello"+down, string(got))
	require.Greater(t, time.Since(started), 50*time.Millisecond, "64 KiB at 1 MB/s, and the round trip")
}

func TestForwardRefusesARateOfNothing(t *testing.T) {
	_, err := Forward("127.0.0.1:1", 0, 0)
	require.ErrorContains(t, err, "expected at least 1000")
}
