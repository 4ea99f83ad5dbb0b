//go:build unix

package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/watchglass/watchglass/core/api"
	browser "github.com/watchglass/watchglass/host/internal/chromium"
	"github.com/watchglass/watchglass/host/recording"
)

//go:embed page.html
var pageHTML []byte

// pageReader is a reader that drives the JavaScript client in a page in Chromium. Its
// engine runs in a SharedWorker.
type pageReader struct {
	server  *http.Server
	browser context.Context
	quit    []context.CancelFunc

	file     *os.File
	relists  int
	stop     context.CancelFunc
	draining sync.WaitGroup

	mu      sync.Mutex
	lines   *json.Encoder
	count   int // number of lines
	watches int
	held    map[api.Key]api.ResourceVersion
	events  int
	failed  error
}

// openPage serves the npm package, and opens a page that uses it.
func openPage(ctx context.Context, chromium, dist, address string) (r *pageReader, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	files := http.NewServeMux()
	files.Handle("/", http.FileServer(http.Dir(dist)))
	files.HandleFunc("/chaos.html", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(pageHTML) // an incomplete page fails the run later
	})
	r = &pageReader{server: &http.Server{Handler: files}}
	go func() { _ = r.server.Serve(listener) }() // returns when close is called
	allocator, quit := chromedp.NewExecAllocator(context.WithoutCancel(ctx), append(browser.Options(chromium),
		chromedp.Flag("ignore-certificate-errors", true),
	)...)
	r.quit = append(r.quit, quit)
	r.browser, quit = chromedp.NewContext(allocator)
	r.quit = append(r.quit, quit)
	at := "http://" + listener.Addr().String() + "/chaos.html?connector=" + url.QueryEscape("wss://"+address+"/watch")
	if _, err = chromedp.Run(r.browser, chromedp.Navigate(at)); err != nil {
		r.close()
		return nil, fmt.Errorf("open %s in %s: %w", at, chromium, err)
	}
	return r, nil
}

func (r *pageReader) close() {
	for i := len(r.quit) - 1; i >= 0; i-- {
		r.quit[i]()
	}
	_ = r.server.Close() // fails only if the listener is already closed
}

func (r *pageReader) name() string                     { return "chromium" }
func (r *pageReader) asked() (collection, watch scope) { return scope{}, scope{} }

// verifiable returns false after a relist, because a page does not record the resource
// versions of the engine's lists.
func (r *pageReader) verifiable(relists int) bool { return relists == 0 }

// evaluate runs JavaScript in the page and waits for its result.
func evaluate[T any](ctx context.Context, r *pageReader, expression string) (T, error) {
	page, cancel := context.WithTimeout(r.browser, 30*time.Second)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	v, err := chromedp.Run(page, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		err = fmt.Errorf("%s in the page: %w", expression, err)
	}
	return v, err
}

// pageStatus is the result of the function chaos.status of the page.
type pageStatus struct{ State, Error, ResourceVersion string }

func (r *pageReader) current(ctx context.Context, rv api.ResourceVersion) error {
	status, err := evaluate[pageStatus](ctx, r, "chaos.status()")
	if err != nil {
		return err
	}
	at, err := api.ParseResourceVersion(status.ResourceVersion)
	if err == nil && (status.State != "live" || at < rv) {
		err = fmt.Errorf("it is %s at version %d, expected live at %d: %s", status.State, at, rv, status.Error)
	}
	return err
}

func (r *pageReader) reconnect(ctx context.Context) error {
	_, err := evaluate[bool](ctx, r, "chaos.reconnect()")
	return err
}

// pageObject is an element of the result of the page's function chaos.list.
type pageObject struct{ Key, ResourceVersion, JSON string }

func (r *pageReader) list(ctx context.Context) (contents, error) {
	objects, err := evaluate[[]pageObject](ctx, r, "chaos.list()")
	all := make(contents, len(objects))
	for _, o := range objects {
		rv, bad := api.ParseResourceVersion(o.ResourceVersion)
		err = errors.Join(err, bad)
		all[api.Key(o.Key)] = object{rv, o.JSON}
	}
	return all, err
}

func (r *pageReader) begin(ctx context.Context, file string, state bool) (err error) {
	if r.file, err = os.Create(file); err != nil {
		return err
	}
	if r.relists, err = r.countRelists(ctx); err != nil {
		return err
	}
	r.lines, r.count, r.watches, r.events, r.held, r.failed = json.NewEncoder(r.file), 0, 0, 0, map[api.Key]api.ResourceVersion{}, nil
	r.write(&recording.Line{Kind: "history", Version: recording.Version, Resource: resource.String()})
	if _, err = evaluate[bool](ctx, r, fmt.Sprintf("chaos.begin(%t)", state)); err != nil {
		return err
	}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop = stop
	r.draining.Go(func() { // drain periodically, so that the page does not store all events of a round
		for pause(run, 500*time.Millisecond) {
			if err := r.drain(run); err != nil && run.Err() == nil {
				r.fail(err)
				return
			}
		}
	})
	return nil
}

func (r *pageReader) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = errors.Join(r.failed, err)
}

func (r *pageReader) delivered(ctx context.Context) (map[api.Key]api.ResourceVersion, error) {
	err := r.drain(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	held := make(map[api.Key]api.ResourceVersion, len(r.held))
	for key, rv := range r.held {
		held[key] = rv
	}
	return held, errors.Join(err, r.failed)
}

func (r *pageReader) expire(ctx context.Context) (ended func(context.Context) error, err error) {
	_, err = evaluate[bool](ctx, r, "chaos.expire()")
	return func(ctx context.Context) error {
		for {
			reason, err := evaluate[string](ctx, r, "chaos.expired()")
			switch {
			case err != nil:
				return err
			case reason == "410":
				return nil
			case reason != "":
				return expectExpired(errors.New(reason))
			case !pause(ctx, 50*time.Millisecond):
				return expectExpired(ctx.Err())
			}
		}
	}, err
}

func (r *pageReader) end(ctx context.Context) (events, relists int, err error) {
	now, err := r.countRelists(ctx)
	_, ended := evaluate[bool](ctx, r, "chaos.end()")
	r.stop()
	r.draining.Wait()
	r.write(&recording.Line{Kind: "end", Lines: r.count + 1})
	return r.events, now - r.relists, errors.Join(err, ended, r.failed, r.file.Close())
}

func (r *pageReader) countRelists(ctx context.Context) (sum int, err error) {
	counters, err := evaluate[map[string]int](ctx, r, "chaos.inspect()")
	for name, n := range counters {
		if strings.HasPrefix(name, "collection.") && strings.HasSuffix(name, ".relists") {
			sum += n
		}
	}
	return sum, err
}

// write appends a line to the recording. It stores an error, which fails the round later.
func (r *pageReader) write(l *recording.Line) {
	r.count++
	l.Time = time.Now().UTC()
	r.failed = errors.Join(r.failed, r.lines.Encode(l))
}

// pageEvent is an element of the result of the page's function chaos.drain. It describes an
// event, the opening of a watch, or a list.
type pageEvent struct {
	Type, Key, ResourceVersion, UID string
	Labels                          map[string]string
	End, Watch                      bool
	List                            []pageEvent
}

type drained struct {
	Events  []pageEvent
	Failure string
}

func (r *pageReader) drain(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	got, err := evaluate[drained](ctx, r, "chaos.drain()")
	for i := range got.Events {
		err = errors.Join(err, r.take(&got.Events[i]))
	}
	if got.Failure != "" {
		err = errors.Join(err, errors.New("the page: "+got.Failure))
	}
	return err
}

func (r *pageReader) take(e *pageEvent) error {
	rv, err := api.ParseResourceVersion(e.ResourceVersion)
	switch {
	case err != nil:
		return err
	case e.Watch:
		r.opened(rv)
		return nil
	case e.List != nil:
		return r.listed(rv, e.List)
	}
	if e.Type != "BOOKMARK" {
		r.events++
		r.held[api.Key(e.Key)] = rv
	}
	recorded := recording.Event{Type: e.Type, Key: api.Key(e.Key), ResourceVersion: rv, End: e.End}
	if e.Key != "" {
		recorded.Object = e.object(rv)
	}
	if e.Type == "DELETED" {
		delete(r.held, api.Key(e.Key))
	}
	r.write(&recording.Line{Kind: "events", Watch: r.watches, Events: []recording.Event{recorded}})
	return nil
}

// opened records the opening of a watch. The watch starts at the version rv or, if rv is
// zero, with the existing objects.
func (r *pageReader) opened(rv api.ResourceVersion) {
	r.watches++
	l := &recording.Line{Kind: "watch", Watch: r.watches, Start: "state", Bookmarks: true, Limited: true}
	if rv > 0 {
		l.Start, l.ResourceVersion = "version", rv
	}
	r.write(l)
}

func (r *pageReader) listed(rv api.ResourceVersion, items []pageEvent) error {
	l := &recording.Line{Kind: "list", ResourceVersion: rv}
	clear(r.held)
	for i := range items {
		version, err := api.ParseResourceVersion(items[i].ResourceVersion)
		if err != nil {
			return err
		}
		o := items[i].object(version)
		o.Key = api.Key(items[i].Key)
		l.Objects = append(l.Objects, *o)
		r.held[o.Key] = version
	}
	r.write(l)
	return nil
}

func (e *pageEvent) object(rv api.ResourceVersion) *recording.Object {
	namespace, name, _ := strings.Cut(e.Key, "/")
	fields := map[string]string{"metadata.name": name, "metadata.namespace": namespace}
	return &recording.Object{UID: e.UID, ResourceVersion: rv, Labels: e.Labels, Fields: fields}
}
