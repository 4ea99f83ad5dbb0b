//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/coder/websocket"

	"github.com/watchglass/watchglass/core/wire"
)

// endless is a credit, in bytes, that no reader uses up.
const endless = 1 << 60

// host represents a client machine. All its connections come from the same loopback
// address.
type host struct {
	client *http.Client
	target *process
	path   string // path of the objects in the Kubernetes API
}

// newHost returns a host with the address 127.0.1.N, where N is the byte "last". If
// receiveBuffer is not zero, it is the size in bytes of each connection's receive buffer in
// the kernel.
func newHost(last byte, target *process, receiveBuffer int) *host {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, last)}, Timeout: time.Minute}
	if receiveBuffer > 0 {
		dialer.Control = func(_, _ string, c syscall.RawConn) error {
			var set error
			err := c.Control(func(fd uintptr) {
				set = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, receiveBuffer)
			})
			return errors.Join(err, set)
		}
	}
	return &host{target: target, path: "/api/v1/configmaps", client: &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}}}
}

// connect opens a WebSocket without a Hello.
func (h *host) connect(ctx context.Context) (*websocket.Conn, error) {
	conn, response, err := websocket.Dial(ctx, "ws://"+h.target.watch+"/watch", &websocket.DialOptions{
		Subprotocols: []string{wire.Subprotocol}, HTTPClient: h.client,
	})
	if err != nil {
		if response != nil {
			return nil, fmt.Errorf("connect: %s", response.Status)
		}
		return nil, err
	}
	conn.SetReadLimit(wire.MaxMessage)
	return conn, nil
}

func hello(token string) []byte {
	return (&wire.Hello{Version: wire.Version, Token: token, Client: "load"}).Append(nil)
}

// user returns the token of the i-th client, which belongs to one of twenty users.
func user(i int) string { return "user-" + strconv.Itoa(i%20) }

// greet opens a WebSocket and sends a Hello, followed by frames. It waits for the
// Welcome, and returns the frames that follow the Welcome in the same message.
func (h *host) greet(ctx context.Context, token string, frames []byte) (conn *websocket.Conn, rest []byte, err error) {
	if conn, err = h.connect(ctx); err != nil {
		return nil, nil, err
	}
	if err = conn.Write(ctx, websocket.MessageBinary, append(hello(token), frames...)); err == nil {
		rest, err = welcome(ctx, conn)
	}
	if err != nil {
		_ = conn.CloseNow() // greet returns the first error
		return nil, nil, err
	}
	return conn, rest, nil
}

func welcome(ctx context.Context, conn *websocket.Conn) (rest []byte, err error) {
	_, message, err := conn.Read(ctx)
	if err != nil {
		return nil, err
	}
	kind, _, rest, err := wire.Next(message)
	if err == nil && kind != wire.TypeWelcome {
		err = fmt.Errorf("the first frame is %v, expected a Welcome", kind)
	}
	return rest, err
}

func subscribe(credit uint64) []byte {
	return (&wire.Subscribe{Subscription: 1, Resource: resource.String(), Credit: credit}).Append(nil)
}

// reader is a WebSocket reader of all objects. It counts the changes after the snapshot.
type reader struct {
	conn    *websocket.Conn
	cluster *cluster
	latency *latencies // nil if the latency of this reader is not measured
	synced  chan struct{}
	events  wire.Events
	changes atomic.Int64
	rv      atomic.Uint64
	ended   atomic.Bool
}

// read reads messages until the connection fails, and returns the error. It first processes
// the frames in "first", which followed the Welcome. After each message, it pauses for the
// duration "slowly".
func (r *reader) read(ctx context.Context, first []byte, slowly time.Duration) error {
	for message := first; ; {
		for len(message) > 0 {
			kind, payload, rest, err := wire.Next(message)
			if err == nil {
				err = r.frame(ctx, kind, payload)
			}
			if err != nil {
				return err
			}
			message = rest
		}
		if slowly > 0 && !sleep(ctx, slowly) {
			return ctx.Err()
		}
		var err error
		if _, message, err = r.conn.Read(ctx); err != nil {
			return err
		}
	}
}

func (r *reader) frame(ctx context.Context, kind wire.Type, payload []byte) error {
	switch kind {
	case wire.TypeSnapshotEnd:
		close(r.synced)
	case wire.TypeSubscriptionStatus:
		var f wire.SubscriptionStatus
		if err := f.Parse(payload); err != nil {
			return err
		}
		return f.Status
	case wire.TypeEvents:
		if err := r.events.Parse(payload); err != nil {
			return err
		}
		r.take(&r.events)
	case wire.TypePing:
		return r.conn.Write(ctx, websocket.MessageBinary, (&wire.Pong{}).Append(nil))
	}
	return nil
}

func (r *reader) take(f *wire.Events) {
	now := time.Now()
	for i := range f.Changes {
		r.changes.Add(1)
		if r.latency == nil {
			continue
		}
		key := f.Changes[i].Key
		if key == "" {
			key = f.Changes[i].Envelope.Key()
		}
		if slot, err := strconv.Atoi(strings.TrimPrefix(string(key), "load/slot-")); err == nil && slot < slots {
			r.latency.add(now.Sub(time.Unix(0, r.cluster.sent[slot].Load())))
		}
	}
	r.rv.Store(uint64(f.ResourceVersion))
}

// sleep waits for a duration. It returns true, or false if ctx is done first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// get sends a list or watch request to the Kubernetes API. The caller must close the body.
func (h *host) get(ctx context.Context, token, query string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+h.target.kubeAPI+h.path+query, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	return h.client.Do(request)
}

// informer is a client that watches the Kubernetes API, starting with the initial events.
type informer struct {
	body    io.ReadCloser
	changes atomic.Int64
}

func (h *host) inform(ctx context.Context, token string) (*informer, error) {
	response, err := h.get(ctx, token, "?watch=true&allowWatchBookmarks=true&resourceVersion=0")
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		response.Body.Close()
		return nil, fmt.Errorf("watch: %s", response.Status)
	}
	return &informer{body: response.Body}, nil
}

// read counts events until the watch ends. The returned error contains the reason and the
// beginning of the last event.
func (i *informer) read() error {
	defer i.body.Close()
	var last []byte
	begins := true
	for lines := bufio.NewReaderSize(i.body, 4<<10); ; {
		line, more, err := lines.ReadLine()
		if err != nil {
			return fmt.Errorf("%w after %s", err, last)
		}
		if begins {
			last = append(last[:0], line[:min(len(line), 200)]...)
		}
		if begins = !more; begins {
			i.changes.Add(1)
		}
	}
}
