package etcd_test

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/source/etcd"
)

// blackhole forwards connections to etcd until it is set to drop all data, like a network
// that loses all packets.
type blackhole struct {
	net.Listener
	mu     sync.Mutex
	silent bool
	conns  []net.Conn
}

func newBlackhole(t *testing.T) *blackhole {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	b := &blackhole{Listener: listener}
	t.Cleanup(b.close)
	go b.accept()
	return b
}

func (b *blackhole) accept() {
	for {
		near, err := b.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", server.Endpoints()[0])
		if err != nil {
			near.Close()
			continue
		}
		b.mu.Lock()
		b.conns = append(b.conns, near, far)
		b.mu.Unlock()
		go b.pipe(near, far)
		go b.pipe(far, near)
	}
}

func (b *blackhole) pipe(from, to net.Conn) {
	buffer := make([]byte, 1<<15)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		b.mu.Lock()
		silent := b.silent
		b.mu.Unlock()
		if !silent {
			to.Write(buffer[:n])
		}
	}
}

func (b *blackhole) swallow() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.silent = true
}

func (b *blackhole) close() {
	b.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.conns {
		c.Close()
	}
}

func TestASilentConnectionEndsTheStream(t *testing.T) {
	hole := newBlackhole(t)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{hole.Addr().String()}, Logger: zap.NewNop()})
	require.NoError(t, err)
	defer client.Close()
	config := fresh()
	config.ProgressInterval, config.RequestTimeout = 100*time.Millisecond, time.Second
	src, err := etcd.New(client, config)
	require.NoError(t, err)
	err = src.Stream(t.Context(), configMaps, 0, &sink{progress: func(api.ResourceVersion) error {
		hole.swallow()
		return nil
	}})
	require.ErrorContains(t, err, "no response to requests for progress within "+(4*config.ProgressInterval).String())

	hole.swallow() // a slow etcd may have ended the stream before a call of progress
	_, err = src.ClusterID(t.Context())
	require.EqualError(t, err, "etcd "+hole.Addr().String()+": no response within 1s")
}

// The stream does not count the time that a sink spends in a call as silence of etcd.
func TestSlowSinkDoesNotCountAsSilence(t *testing.T) {
	config := fresh()
	config.ProgressInterval = 200 * time.Millisecond
	src, _ := open(t, config)
	reports := 0
	err := src.Stream(t.Context(), configMaps, 0, &sink{progress: func(api.ResourceVersion) error {
		if reports++; reports == 3 {
			return errEnough
		}
		time.Sleep(6 * config.ProgressInterval) // simulates a slow sink
		return nil
	}})
	require.Same(t, errEnough, err)
}
