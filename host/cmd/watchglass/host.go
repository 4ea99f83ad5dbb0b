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
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/audit"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/internal/interrupt"
	"github.com/watchglass/watchglass/host/internal/listen"
	"github.com/watchglass/watchglass/host/internal/memory"
	"github.com/watchglass/watchglass/host/internal/reload"
	"github.com/watchglass/watchglass/host/internal/settings"
	"github.com/watchglass/watchglass/host/limit"
	"github.com/watchglass/watchglass/host/metrics"
	"github.com/watchglass/watchglass/host/server"
	"github.com/watchglass/watchglass/host/source/kube"
)

// hostFlags are the flags of commands that serve readers.
type hostFlags struct {
	logFlags
	listen       string
	kubeAPI      string
	admin        string
	allowOrigins []string
	proxies      proxies
	auditLog     string
	private      bool
	profiling    bool
	frugal       bool // keep Go's default rate of garbage collection, because other programs need the memory
	drain        drain
	limits       *limit.Set
	settings     *settings.Loader
}

// drain contains the durations of a shutdown.
type drain struct {
	delay   time.Duration // from SIGTERM until readers are disconnected
	timeout time.Duration // time that readers have to disconnect
}

// shutdownDelay is the default of --shutdown-delay. It gives load balancers and the
// endpoints of a Service time to notice that the server is not ready.
const shutdownDelay = 5 * time.Second

// defaultDrain contains the durations for commands without shutdown flags.
var defaultDrain = drain{timeout: 10 * time.Second}

func (d *drain) add(flags *pflag.FlagSet, delay time.Duration) {
	flags.DurationVar(&d.delay, "shutdown-delay", delay, "time to continue serving after SIGTERM, while /readyz reports that the server is not ready; Ctrl-C does not wait")
	flags.DurationVar(&d.timeout, "drain-timeout", defaultDrain.timeout, "time for readers to disconnect after the delay; then their connections are closed")
}

func (d *drain) check() error {
	switch {
	case d.delay < 0:
		return fmt.Errorf("--shutdown-delay %v: expected 0s or more", d.delay)
	case d.timeout <= 0:
		return fmt.Errorf("--drain-timeout %v: expected more than 0s, such as %v", d.timeout, defaultDrain.timeout)
	}
	return nil
}

// addAdmin adds the flags of the admin address.
func (f *hostFlags) addAdmin(flags *pflag.FlagSet) {
	flags.StringVar(&f.admin, "admin", "", "loopback address for operators, such as 127.0.0.1:8082: watchglass inspect, /statusz and /flagz")
	flags.BoolVar(&f.profiling, "profiling", false, "serve profiles of the process on --admin at /debug/pprof/")
	flags.BoolVar(&f.private, "metrics-on-admin", false, "serve /metrics, and the resources of /readyz, on --admin and not on --listen")
}

func (f *hostFlags) add(flags *pflag.FlagSet) {
	f.logFlags.add(flags)
	flags.StringVar(&f.listen, "listen", "127.0.0.1:8080", "address to serve on; port 0 selects a free port")
	flags.StringVar(&f.kubeAPI, "kube-api", "", "address to serve the read requests of the Kubernetes API on, for kubectl and client-go, such as 127.0.0.1:8081")
	flags.StringSliceVar(&f.allowOrigins, "allow-origin", nil,
		`other origin whose pages may connect, such as "https://dashboard.example.com"; "*" allows all (repeatable)`)
	flags.Var(&f.proxies, "trusted-proxy", "address or network (10.0.0.0/8) of a proxy whose X-Forwarded-For header is trusted, "+
		"for logs and the limits per address (repeatable)")
	flags.StringVar(&f.auditLog, "audit-log", "", `file to append the audit log to, with one JSON object per line for each access; "-" for standard output`)
	f.addAdmin(flags)
	f.limits = addLimits(flags)
}

// recorder returns the recorder of the audit log. The caller closes it.
func (f *hostFlags) recorder(log *slog.Logger, stdout io.Writer) (*audit.Recorder, error) {
	switch f.auditLog {
	case "":
		return audit.New(log, nil), nil
	case "-":
		return audit.New(log, audit.To(stdout)), nil
	}
	file, err := audit.Open(f.auditLog)
	if err != nil {
		return nil, fmt.Errorf("--audit-log: %w", err)
	}
	return audit.New(log, file), nil
}

// listeners contains the listeners of a host.
type listeners struct {
	main    net.Listener // nil for push without --listen
	kubeAPI net.Listener // nil without --kube-api
	admin   net.Listener // nil without --admin
	secure  bool         // main and kubeAPI use TLS
	guarded []*listen.Guarded
}

// bind checks the flags and opens the listeners. Commands call it before they start
// anything else, so that users see errors early.
func (f *hostFlags) bind(log *slog.Logger) (listeners, error) {
	if err := server.CheckOrigins(f.allowOrigins); err != nil {
		return listeners{}, fmt.Errorf("--allow-origin: %w", err)
	}
	if f.listen == "" {
		return listeners{}, errors.New(`--listen "": expected an address such as 127.0.0.1:8080`)
	}
	if err := f.drain.check(); err != nil {
		return listeners{}, err
	}
	return f.bindGiven(log)
}

// bindGiven opens a listener for each non-empty address.
func (f *hostFlags) bindGiven(log *slog.Logger) (listeners, error) {
	for flag, set := range map[string]bool{"--metrics-on-admin": f.private, "--profiling": f.profiling} {
		if set && f.admin == "" {
			return listeners{}, errors.New(flag + " requires --admin ADDRESS, such as 127.0.0.1:8082")
		}
	}
	var l listeners
	for _, a := range []struct {
		flag, address string
		listener      *net.Listener
	}{{"--listen", f.listen, &l.main}, {"--kube-api", f.kubeAPI, &l.kubeAPI}, {"--admin", f.admin, &l.admin}} {
		if a.address == "" {
			continue
		}
		listener, err := listen.On(a.flag, a.address)
		if err != nil {
			return listeners{}, errors.Join(err, l.Close())
		}
		guarded := listen.Guard(listener, log)
		l.guarded = append(l.guarded, guarded)
		*a.listener = guarded
	}
	if l.admin != nil && !isLoopback(l.admin) {
		return listeners{}, errors.Join(fmt.Errorf("--admin %s: expected a loopback address, because it discloses what each reader reads", f.admin), l.Close())
	}
	return l, nil
}

func (l listeners) all() []net.Listener {
	return slices.DeleteFunc([]net.Listener{l.main, l.kubeAPI, l.admin}, func(l net.Listener) bool { return l == nil })
}

func (l listeners) Close() error {
	var errs []error
	for _, listener := range l.all() {
		errs = append(errs, listener.Close())
	}
	return errors.Join(errs...)
}

// acceptFailures returns the number of connections that could not be accepted.
func (l listeners) acceptFailures() (failures uint64) {
	for _, g := range l.guarded {
		failures += g.Failures()
	}
	return failures
}

// host is a connector with the HTTP servers in front of it.
type host struct {
	connector *connector.Connector
	server    *server.Server
	kubeAPI   *kubeAPI // nil without --kube-api
	admin     *admin   // nil without --admin
	listeners listeners
	files     files
	log       *slog.Logger
	times     drain
}

// files reloads the files of its Watcher when they change, and on SIGHUP. The zero value
// watches no files.
type files struct {
	*reload.Watcher
	hangups <-chan struct{}
}

// newFiles returns a watcher without files. From this call on, SIGHUP reloads the files
// that were added, instead of ending the process.
func newFiles(ctx context.Context, log *slog.Logger) files {
	return files{reload.NewWatcher(log), interrupt.Hangups(ctx)}
}

// watch watches the files until stop is called.
func (f files) watch() (stop func()) {
	if f.Watcher == nil {
		return func() {}
	}
	return background(func(ctx context.Context) { f.Run(ctx, f.hangups) })
}

// background calls run in a goroutine, and returns a function stop, which cancels the
// context and waits until run has returned.
func background(run func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// guardMemory derives the default of max-memory from the memory that the process may
// use, and configures the garbage collector.
func (f *hostFlags) guardMemory() {
	if ceiling, ok := memory.Ceiling(); ok && !f.limits.Given(limit.MaxMemory) {
		f.limits.WithDefault(limit.MaxMemory, ceiling)
	}
	memory.Collect(f.limits)
	if !f.frugal {
		memory.CollectLess()
	}
}

// newHost returns a host. It takes ownership of the listeners, and closes them if it
// fails.
func newHost(flags *hostFlags, l listeners, f files, source string, c connector.Config, s server.Config) (*host, error) {
	c.Session.Server = "watchglass " + versionText()
	flags.guardMemory()
	timings := metrics.NewTimings()
	c.Timings = timings
	h := &host{connector: connector.New(c), listeners: l, files: f, log: s.Logger, times: flags.drain}
	if s.Connector = h.connector; !s.HealthOnly {
		s.Access, s.Observer = c.Access, c.Observer
	}
	if l.kubeAPI != nil {
		h.kubeAPI = newKubeAPI(h.connector, c, timings)
	}
	if !s.HealthOnly {
		s.Discovery = newDiscovery(h.connector, c)
	}
	s.Metrics = h.collectors(c, timings)
	if l.admin != nil {
		h.admin = newAdmin(h.connector, source, flags)
	}
	var err error
	if h.server, err = server.New(s); err != nil {
		l.Close()
		return nil, err
	}
	if h.kubeAPI != nil {
		h.kubeAPI.http = h.server.Beside(h.kubeAPI.handler)
	}
	if h.admin != nil {
		h.admin.prepare(h.server.Beside(h.admin.handler(h.server.Private())))
	}
	return h, nil
}

// collectors returns the metrics that the host adds to the metrics of the server.
func (h *host) collectors(c connector.Config, timings *metrics.Timings) []prometheus.Collector {
	all := append(metrics.Process(versionText()), timings,
		metrics.Listeners(h.listeners.acceptFailures), metrics.Memory(memory.Used))
	if h.files.Watcher != nil {
		all = append(all, metrics.Reloads(h.files.Watcher))
	}
	for policy := c.Access; policy != nil; policy = access.Unwrap(policy) {
		if reviews, ok := policy.(*kube.Policy); ok {
			all = append(all, metrics.Reviews(reviews.Stats))
		}
	}
	if recorder, ok := c.Observer.(*audit.Recorder); ok {
		all = append(all, metrics.Audit(recorder))
	}
	if h.kubeAPI != nil {
		all = append(all, metrics.KubeAPI(h.kubeAPI.handler))
	}
	return all
}

// logRun logs that the host has started, and returns a function that logs that the host
// has stopped.
func (h *host) logRun(source string) (stopped func()) {
	attributes := []any{"version", versionText(), "source", source}
	for _, served := range []struct {
		name     string
		listener net.Listener
	}{{"listen", h.listeners.main}, {"kubeAPI", h.listeners.kubeAPI}, {"admin", h.listeners.admin}} {
		if served.listener != nil {
			attributes = append(attributes, served.name, served.listener.Addr().String())
		}
	}
	h.log.Info("started", attributes...)
	return func() { h.log.Info("stopped") }
}

// run serves until ctx is done or a listener fails. Then it drains, sends readers the closing
// status, and closes the servers and the connector. It returns all errors, joined.
func (h *host) run(ctx context.Context) error {
	defer h.files.watch()()
	guard := memory.Guard{Limits: h.connector.Limits(), Crowds: []memory.Crowd{h.connector}, Log: h.log}
	if h.kubeAPI != nil {
		guard.Crowds = append(guard.Crowds, h.kubeAPI.handler)
	}
	defer background(guard.Run)()
	serving := 0
	served := make(chan error, 3)
	if h.listeners.main != nil {
		serving++
		go func() { served <- h.server.Serve(h.listeners.main) }()
	}
	if h.kubeAPI != nil {
		serving++
		go func() { served <- h.kubeAPI.serve(h.listeners.kubeAPI) }()
	}
	if h.admin != nil {
		serving++
		go func() { served <- h.admin.serve(h.listeners.admin) }()
	}
	var errs []error
	select {
	case err := <-served:
		errs, serving = append(errs, err), serving-1
	case <-ctx.Done():
		if err := h.drain(ctx, served); err != nil {
			errs, serving = append(errs, err), serving-1
		}
	}
	errs = append(errs, h.shutdown())
	for ; serving > 0; serving-- {
		errs = append(errs, <-served)
	}
	return errors.Join(errs...)
}

// drain reports the host as not ready, and after SIGTERM continues serving for the delay.
// Load balancers thus route new readers elsewhere before the host disconnects existing
// readers. If a listener fails, drain returns the error early.
func (h *host) drain(ctx context.Context, served <-chan error) error {
	h.server.Drain()
	if h.kubeAPI != nil {
		h.kubeAPI.handler.Drain()
	}
	if h.times.delay == 0 || !interrupt.Terminated(ctx) {
		return nil
	}
	h.log.Info("shutting down: reporting not ready, and serving until the delay ends", "delay", h.times.delay)
	select {
	case err := <-served:
		return err
	case <-time.After(h.times.delay):
		return nil
	}
}

// shutdown disconnects the readers and waits for them. It logs a warning, and returns no
// error, if this takes longer than --drain-timeout.
func (h *host) shutdown() error {
	ctx, cancel := context.WithTimeout(context.Background(), h.times.timeout)
	defer cancel()
	kubeAPI := make(chan error, 1) // concurrently, so that slow readers of one server do not use up the time of the other server
	go func() {
		if h.kubeAPI == nil {
			kubeAPI <- nil
			return
		}
		kubeAPI <- h.kubeAPI.shutdown(ctx)
	}()
	err := errors.Join(h.server.Shutdown(ctx), <-kubeAPI, h.connector.Close(ctx))
	if h.admin != nil { // last, so that inspect shows the remaining readers
		err = errors.Join(err, h.admin.shutdown(ctx))
	}
	if errors.Is(err, context.DeadlineExceeded) {
		h.log.Warn("some readers did not disconnect in time; their connections were closed", "timeout", h.times.timeout)
		return nil
	}
	return err
}

// url returns the URL of the server for a browser on this machine.
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

func isLoopback(l net.Listener) bool {
	return l.Addr().(*net.TCPAddr).AddrPort().Addr().Unmap().IsLoopback()
}

// printKubeAPI prints the address of the Kubernetes API, if it is served.
func (h *host) printKubeAPI(stdout io.Writer) {
	if h.kubeAPI != nil {
		fmt.Fprintf(stdout, "Kubernetes API: kubectl --server %s get pods -A\n", h.listeners.url(h.listeners.kubeAPI))
	}
}

// public returns the addresses that other machines can reach.
func (l listeners) public() []string {
	var public []string
	for _, listener := range l.all() {
		if !isLoopback(listener) {
			public = append(public, listener.Addr().String())
		}
	}
	return public
}

// waitForHealth sends one health check and returns an error unless the server responds
// with 200 OK.
func (h *host) waitForHealth(ctx context.Context) error {
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
		return fmt.Errorf("the health check of the server failed: expected 200 OK, got %s", resp.Status)
	}
	return nil
}
