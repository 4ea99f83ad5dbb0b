package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"
	"time"

	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/internal/settings"
	"github.com/watchglass/watchglass/host/limit"
)

// inspection is the response of /inspect, which the command inspect prints.
type inspection struct {
	Version   string              `json:"version"`
	Source    string              `json:"source"`
	Resources []inspectedResource `json:"resources"`
	Readers   []inspectedReader   `json:"readers"`
	Totals    connector.Totals    `json:"totals"`
	Limits    []inspectedLimit    `json:"limits"`
}

// inspectedLimit contains the value of a limit, and the number of refusals that it caused.
type inspectedLimit struct {
	Name     string `json:"name"`
	Value    int64  `json:"value"` // a count, bytes, or nanoseconds
	Text     string `json:"text"`  // the value in the syntax of the flag, or unlimited
	Refusals uint64 `json:"refusals"`
}

type inspectedResource struct {
	Resource        string  `json:"resource"`
	Ready           bool    `json:"ready"`
	Objects         int     `json:"objects"`
	ResourceVersion string  `json:"resourceVersion"`
	Bytes           int     `json:"bytes"`
	BehindSeconds   float64 `json:"behindSeconds"` // time since the source last sent data
	Readers         int     `json:"readers"`
	Failures        int     `json:"failures,omitempty"`
	Error           string  `json:"error,omitempty"`
}

type inspectedReader struct {
	User          string                  `json:"user"`
	Since         time.Time               `json:"since"`
	Messages      uint64                  `json:"messages"`
	Bytes         uint64                  `json:"bytes"`
	Subscriptions []inspectedSubscription `json:"subscriptions"`
}

type inspectedSubscription struct {
	Resource        string `json:"resource"`
	Namespace       string `json:"namespace,omitempty"`
	MetadataOnly    bool   `json:"metadataOnly,omitempty"`
	Live            bool   `json:"live"`
	ResourceVersion string `json:"resourceVersion"`
	HeldBack        bool   `json:"heldBack"` // the reader has no credit left
	Requirements    int    `json:"requirements"`
	Evaluations     uint64 `json:"evaluations"` // evaluations of requirements since the subscription was opened
}

// admin serves operators of the connector. It listens only on loopback, because it
// discloses the subscriptions of each reader.
type admin struct {
	connector *connector.Connector
	source    string
	settings  *settings.Loader
	profiling bool
	started   time.Time
	http      *http.Server
	stop      context.CancelFunc // cancels the contexts of all requests
}

func newAdmin(c *connector.Connector, source string, flags *hostFlags) *admin {
	return &admin{connector: c, source: source, settings: flags.settings, profiling: flags.profiling, started: time.Now()}
}

// handler returns an http.Handler that serves the operator pages. The handler private serves
// /metrics and /readyz, which the server may omit from its public address.
func (a *admin) handler(private http.Handler) http.Handler {
	pages := map[string]http.Handler{
		"/inspect": http.HandlerFunc(a.inspect),
		"/flagz":   http.HandlerFunc(a.flagz),
		"/metrics": private,
		"/readyz":  private,
	}
	if a.profiling {
		pages["/debug/pprof/"] = http.HandlerFunc(pprof.Index)
		pages["/debug/pprof/profile"] = http.HandlerFunc(pprof.Profile)
		pages["/debug/pprof/trace"] = http.HandlerFunc(pprof.Trace)
	}
	paths := slices.Sorted(maps.Keys(pages))
	paths = append(paths, "/statusz")
	pages["/statusz"] = a.statusz(paths)
	mux := http.NewServeMux()
	for path, page := range pages {
		mux.Handle("GET "+path, page)
	}
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, fmt.Sprintf("not found: %q; the endpoints are %s", r.URL.Path, strings.Join(paths, ", ")), http.StatusNotFound)
	})
	return mux
}

// prepare sets a.http, and sets a.stop to a function that cancels the contexts of requests.
func (a *admin) prepare(server *http.Server) {
	var ctx context.Context
	ctx, a.stop = context.WithCancel(context.Background())
	server.BaseContext = func(net.Listener) context.Context { return ctx }
	a.http = server
}

// serve serves requests until shutdown.
func (a *admin) serve(listener net.Listener) error {
	if err := a.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// shutdown ends running profiles and waits for all requests.
func (a *admin) shutdown(ctx context.Context) error {
	a.stop()
	return a.http.Shutdown(ctx)
}

func (a *admin) inspect(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.Encode(a.inspection()) // ignore an error, because the client may be gone
}

func (a *admin) inspection() inspection {
	stats := a.connector.Stats()
	i := inspection{
		Version: versionText(), Source: a.source, Totals: stats.Totals,
		Resources: []inspectedResource{}, Readers: []inspectedReader{},
	}
	limits := a.connector.Limits()
	for _, l := range limit.All() {
		i.Limits = append(i.Limits, inspectedLimit{l.Name, limits.Value(l), limit.Format(l.Unit, limits.Value(l)), limits.Refusals(l)})
	}
	for _, r := range stats.Resources {
		one := inspectedResource{
			Resource: r.Resource.String(), Ready: r.Ready, Objects: r.Objects, ResourceVersion: r.ResourceVersion.String(),
			Bytes: r.Bytes, BehindSeconds: r.Behind.Seconds(), Readers: r.Readers, Failures: r.Failures,
		}
		if r.Err != nil {
			one.Error = r.Err.Error()
		}
		i.Resources = append(i.Resources, one)
	}
	for _, r := range a.connector.Readers() {
		i.Readers = append(i.Readers, inspectedReader{
			User: r.User, Since: r.Since, Messages: r.Sent.Messages, Bytes: r.Sent.Bytes, Subscriptions: inspected(r.Subscriptions),
		})
	}
	return i
}

func inspected(states []session.State) []inspectedSubscription {
	all := make([]inspectedSubscription, len(states))
	for i, s := range states {
		all[i] = inspectedSubscription{
			Resource: s.Resource.String(), Namespace: s.Namespace, MetadataOnly: s.MetadataOnly, Live: s.Live,
			ResourceVersion: s.ResourceVersion.String(), HeldBack: s.Credit <= 0,
			Requirements: s.Requirements, Evaluations: s.Evaluations,
		}
	}
	return all
}
