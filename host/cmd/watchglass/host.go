package main

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	kubeAPI      string
	allowOrigins []string
}

func (f *hostFlags) add(flags *pflag.FlagSet) {
	f.logFlags.add(flags)
	flags.StringVar(&f.listen, "listen", "127.0.0.1:8080", "address to serve on; port 0 takes a free one")
	flags.StringVar(&f.kubeAPI, "kube-api", "", "address to serve the reading side of the Kubernetes API on, for kubectl and client-go, such as 127.0.0.1:8081")
	flags.StringSliceVar(&f.allowOrigins, "allow-origin", nil,
		`origin whose pages may connect besides our own, such as "https://dashboard.example.com"; "*" allows all (repeatable)`)
}

// listeners are the addresses of a host.
type listeners struct {
	main    net.Listener
	kubeAPI net.Listener // nil when it is not served
	secure  bool         // they speak TLS
}

// bind takes the addresses before anything else is started, so that a port in
// use is known at once.
func (f *hostFlags) bind() (listeners, error) {
	main, err := listen("--listen", f.listen)
	if err != nil || f.kubeAPI == "" {
		return listeners{main: main}, err
	}
	kubeAPI, err := listen("--kube-api", f.kubeAPI)
	if err != nil {
		main.Close()
		return listeners{}, err
	}
	return listeners{main: main, kubeAPI: kubeAPI}, nil
}

func listen(flag, address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is in use by another program: stop that, or choose another port with %s "+
			"(%[2]s 127.0.0.1:0 takes a free one)", address, flag)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", flag, address, err)
	}
	return listener, nil
}

func (l listeners) all() []net.Listener {
	if l.kubeAPI == nil {
		return []net.Listener{l.main}
	}
	return []net.Listener{l.main, l.kubeAPI}
}

func (l listeners) Close() error {
	var errs []error
	for _, listener := range l.all() {
		errs = append(errs, listener.Close())
	}
	return errors.Join(errs...)
}

// host is a connector behind an HTTP server, or two.
type host struct {
	connector *connector.Connector
	server    *server.Server
	kubeAPI   *kubeAPI // nil when it is not served
	listeners listeners
	log       *slog.Logger
}

// newHost takes the listeners over, even when it fails.
func newHost(l listeners, c connector.Config, s server.Config) (*host, error) {
	c.Session.Server = "watchglass " + versionText()
	h := &host{connector: connector.New(c), listeners: l, log: s.Logger}
	s.Connector = h.connector
	if l.kubeAPI != nil {
		h.kubeAPI = newKubeAPI(h.connector, c.Access)
		s.Metrics = h.kubeAPI.handler.WriteMetrics
	}
	var err error
	if h.server, err = server.New(s); err != nil {
		l.Close()
		return nil, err
	}
	return h, nil
}

// run serves until ctx ends, and then tells the readers goodbye.
func (h *host) run(ctx context.Context) error {
	serving := 1
	served := make(chan error, 2)
	go func() { served <- h.server.Serve(h.listeners.main) }()
	if h.kubeAPI != nil {
		serving++
		go func() { served <- h.kubeAPI.serve(h.listeners.kubeAPI, h.server) }()
	}
	var errs []error
	select {
	case err := <-served:
		errs, serving = append(errs, err), serving-1
	case <-ctx.Done():
	}
	errs = append(errs, h.shutdown())
	for ; serving > 0; serving-- {
		errs = append(errs, <-served)
	}
	return errors.Join(errs...)
}

// shutdown gives up on readers that do not listen: that is no failure of ours.
func (h *host) shutdown() error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	var kubeAPI error
	if h.kubeAPI != nil {
		kubeAPI = h.kubeAPI.shutdown(ctx)
	}
	err := errors.Join(kubeAPI, h.server.Shutdown(ctx), h.connector.Close(ctx))
	if errors.Is(err, context.DeadlineExceeded) {
		h.log.Warn("some readers did not leave in time and were cut off")
		return nil
	}
	return err
}

// url is where a browser on this machine finds the server.
func (h *host) url() string { return h.listeners.url(h.listeners.main) }

func (l listeners) url(listener net.Listener) string {
	address := listener.Addr().(*net.TCPAddr)
	ip := address.AddrPort().Addr().Unmap()
	if ip.IsUnspecified() {
		ip = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	scheme := "http://"
	if l.secure {
		scheme = "https://"
	}
	return scheme + net.JoinHostPort(ip.String(), strconv.Itoa(address.Port))
}

// announce says where the Kubernetes API is, if it is served.
func (h *host) announce(stdout io.Writer) {
	if h.kubeAPI != nil {
		fmt.Fprintf(stdout, "Kubernetes API: kubectl --server %s get pods -A\n", h.listeners.url(h.listeners.kubeAPI))
	}
}

// public are the addresses at which others than this machine can connect.
func (l listeners) public() []string {
	var public []string
	for _, listener := range l.all() {
		if !listener.Addr().(*net.TCPAddr).AddrPort().Addr().Unmap().IsLoopback() {
			public = append(public, listener.Addr().String())
		}
	}
	return public
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
