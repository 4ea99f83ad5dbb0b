package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/server"
)

// shutdownTimeout is how long readers get to take their leave.
const shutdownTimeout = 10 * time.Second

// hostFlags are those of commands that serve readers.
type hostFlags struct {
	logFlags
	listen       string
	allowOrigins []string
}

func (f *hostFlags) add(flags *pflag.FlagSet) {
	f.logFlags.add(flags)
	flags.StringVar(&f.listen, "listen", "127.0.0.1:8080", "address to serve on; port 0 takes a free one")
	flags.StringSliceVar(&f.allowOrigins, "allow-origin", nil,
		`origin whose pages may connect besides our own, such as "https://dashboard.example.com"; "*" allows all (repeatable)`)
}

// listen takes the address before anything else is started, so that a port in
// use is known at once.
func listen(address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is in use by another program: stop that, or choose another port with --listen "+
			"(--listen 127.0.0.1:0 takes a free one)", address)
	}
	if err != nil {
		return nil, fmt.Errorf("--listen %s: %w", address, err)
	}
	return listener, nil
}

// host is a connector behind an HTTP server.
type host struct {
	connector *connector.Connector
	server    *server.Server
	listener  net.Listener
	log       *slog.Logger
}

// newHost takes the listener over, even when it fails.
func newHost(listener net.Listener, c connector.Config, s server.Config) (*host, error) {
	c.Session.Server = "watchglass " + versionText()
	h := &host{connector: connector.New(c), listener: listener, log: s.Logger}
	s.Connector = h.connector
	var err error
	if h.server, err = server.New(s); err != nil {
		listener.Close()
		return nil, err
	}
	return h, nil
}

// run serves until ctx ends, and then tells the readers goodbye.
func (h *host) run(ctx context.Context) error {
	served := make(chan error, 1)
	go func() { served <- h.server.Serve(h.listener) }()
	select {
	case err := <-served:
		return errors.Join(err, h.shutdown())
	case <-ctx.Done():
		return errors.Join(h.shutdown(), <-served)
	}
}

// shutdown gives up on readers that do not listen: that is no failure of ours.
func (h *host) shutdown() error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	err := errors.Join(h.server.Shutdown(ctx), h.connector.Close(ctx))
	if errors.Is(err, context.DeadlineExceeded) {
		h.log.Warn("some readers did not leave in time and were cut off")
		return nil
	}
	return err
}

// url is where a browser on this machine finds the server.
func (h *host) url() string {
	address := h.listener.Addr().(*net.TCPAddr)
	ip := address.AddrPort().Addr().Unmap()
	if ip.IsUnspecified() {
		ip = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return "http://" + net.JoinHostPort(ip.String(), strconv.Itoa(address.Port))
}

// isPublic reports whether others than this machine can connect.
func (h *host) isPublic() bool {
	return !h.listener.Addr().(*net.TCPAddr).AddrPort().Addr().Unmap().IsLoopback()
}

// answers waits for the server's first answer.
func (h *host) answers(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url()+"/healthz", nil)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the server answers %s", resp.Status)
	}
	return nil
}
