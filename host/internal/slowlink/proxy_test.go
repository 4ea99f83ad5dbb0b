package slowlink

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// All bytes arrive in order, in both directions.
func TestForward(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer server.Close()
	down := bytes.Repeat([]byte("0123456789abcdef"), 1<<12)
	go func() {
		conn, err := server.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		question := make([]byte, 5)
		if _, err := io.ReadFull(conn, question); err == nil {
			conn.Write(append(question, down...))
		}
	}()
	admitted := make(chan string, 1)
	p, err := Forward(server.Addr().String(), Rate{BitsPerSecond: 1 << 26, RoundTrip: 2 * time.Millisecond}, func(first []byte) { admitted <- string(first) })
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Close()) }()
	conn, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte("hello"))
	require.NoError(t, err)
	got, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Equal(t, "hello"+string(down), string(got))
	require.Equal(t, "hello", <-admitted)
}

// The link carries one byte after the other, whatever connection they belong to.
func TestForward_rate(t *testing.T) {
	p := &Proxy{rate: Rate{BitsPerSecond: 8 << 20, RoundTrip: time.Hour}}
	first := p.arrival(60 << 20)
	require.Greater(t, time.Until(first), 30*time.Minute)
	require.Equal(t, 30*time.Second, p.arrival(30<<20).Sub(first))
}

func TestForward_refusesARateOfNothing(t *testing.T) {
	_, err := Forward("127.0.0.1:1", Rate{}, nil)
	require.ErrorContains(t, err, "at least 1000 bits per second")
}
