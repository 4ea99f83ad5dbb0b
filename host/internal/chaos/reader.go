//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/client"
	"github.com/watchglass/watchglass/host/recording"
)

// reader is a client under test. Only one goroutine at a time may use it.
type reader interface {
	name() string
	// asked returns the scopes of the reader's collection and of the reader's watch.
	asked() (collection, watch scope)
	// begin opens a watch and records it in a file. If state is true, the watch starts with
	// the existing objects. Otherwise it starts at the resource version of a list.
	begin(ctx context.Context, file string, state bool) error
	// current returns nil if the store is live and has reached the resource version rv, and
	// an error otherwise.
	current(ctx context.Context, rv api.ResourceVersion) error
	// reconnect makes the reader reconnect immediately, without waiting for its backoff.
	reconnect(ctx context.Context) error
	// list returns the content of the store.
	list(ctx context.Context) (contents, error)
	// delivered returns the resource versions of the objects that remain after all events
	// of the watch.
	delivered(ctx context.Context) (map[api.Key]api.ResourceVersion, error)
	// expire opens a watch at the current resource version. The function ended waits
	// until that watch ends, and returns an error unless it ends with 410.
	expire(ctx context.Context) (ended func(context.Context) error, err error)
	// end closes the watch and the recording, and returns the number of events and
	// of relists since begin.
	end(ctx context.Context) (events, relists int, err error)
	// verifiable reports whether a recording with the given number of relists can be
	// verified against the history of etcd.
	verifiable(relists int) bool
	close()
}

// goReader is a reader that uses the Go client, which runs the module in wazero.
type goReader struct {
	title             string
	collected, watchs scope
	client            *client.Client
	collection        *client.Collection
	recorders         recorders

	file    *os.File
	record  *recording.Recorder
	relists int
	stop    context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	held   map[api.Key]api.ResourceVersion
	events int
	failed error
}

func openGoReader(ctx context.Context, title, address, log string, collected, watched scope) (*goReader, error) {
	out, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	r := &goReader{title: title, collected: collected, watchs: watched}
	r.client, err = client.Open(ctx, client.Config{
		URL: "wss://" + address + "/watch", Client: title, MaxHistory: 100_000, Tap: r.recorders.tap,
		Logger: slog.New(slog.NewTextHandler(out, nil)), // the operating system closes the log file when this process ends
	})
	if err != nil {
		return nil, err
	}
	r.collection, err = r.client.Collection(ctx, resource.String(), r.options())
	if err == nil {
		err = r.collection.WaitForSync(ctx)
	}
	if err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *goReader) options() client.CollectionOptions {
	return client.CollectionOptions{Namespace: r.collected.namespace, LabelSelector: r.collected.selector()}
}

func (r *goReader) name() string                     { return r.title }
func (r *goReader) asked() (collection, watch scope) { return r.collected, r.watchs }
func (r *goReader) close()                           { _ = r.client.Close() } // fails only if the client is already closed
func (r *goReader) verifiable(int) bool              { return true }          // the tap records relists

func (r *goReader) begin(ctx context.Context, file string, state bool) (err error) {
	if r.file, err = os.Create(file); err != nil {
		return err
	}
	if r.relists, err = r.inspect(ctx, "relists"); err != nil {
		return err
	}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop = stop
	r.record = recording.New(r.file, resource, stop)
	r.recorders.use(r.record)
	r.held, r.events, r.failed = map[api.Key]api.ResourceVersion{}, 0, nil
	c := r.record.Collection(r.collection.Schema(), r.options())
	var from string
	if !state {
		if from, err = r.relist(ctx, c); err != nil {
			stop()
			return err
		}
	}
	watch, options, err := r.open(run, from)
	if err != nil {
		stop()
		return err
	}
	recorded := c.Watch(options)
	r.running.Go(func() { r.follow(run, c, watch, recorded) })
	return nil
}

func (r *goReader) open(ctx context.Context, from string) (*client.Watch, client.WatchOptions, error) {
	options := client.WatchOptions{
		Namespace: r.watchs.namespace, LabelSelector: r.watchs.selector(),
		ResourceVersion: from, AllowWatchBookmarks: true,
	}
	if initial := true; from == "" {
		options.SendInitialEvents, options.ResourceVersionMatch = &initial, client.NotOlderThan
	}
	watch, err := r.collection.Watch(ctx, options)
	return watch, options, err
}

// relist lists the objects in the scope of the watch and returns the resource version of
// the list.
func (r *goReader) relist(ctx context.Context, c *recording.Collection) (string, error) {
	filter := recording.Filter{Namespace: r.watchs.namespace, LabelSelector: r.watchs.selector()}
	list, err := r.collection.List(ctx, client.ListOptions{Namespace: filter.Namespace, LabelSelector: filter.LabelSelector, MetadataOnly: true})
	if err != nil {
		return "", err
	}
	c.List(filter, list.ResourceVersion, list.Items)
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.held)
	for _, o := range list.Items {
		r.held[o.Key()] = o.ResourceVersion()
	}
	return list.ResourceVersion.String(), nil
}

// follow reads the events of a watch. After a 410 or a normal end, it lists and watches
// again.
func (r *goReader) follow(ctx context.Context, c *recording.Collection, watch *client.Watch, recorded *recording.Watch) {
	for {
		err := r.take(ctx, watch, recorded)
		recorded.Close(err)
		_ = watch.Close()
		for {
			if ctx.Err() != nil {
				return
			}
			if !errors.Is(err, api.Expired("")) && !errors.Is(err, io.EOF) {
				r.fail(err)
				return
			}
			from, failed := r.relist(ctx, c)
			var options client.WatchOptions
			if failed == nil {
				watch, options, failed = r.open(ctx, from)
			}
			if failed == nil {
				recorded = c.Watch(options)
				break
			}
			pause(ctx, 50*time.Millisecond) // the engine may be restarting
		}
	}
}

func (r *goReader) take(ctx context.Context, watch *client.Watch, recorded *recording.Watch) error {
	for {
		e, err := watch.Next(ctx)
		if err != nil {
			return err
		}
		recorded.Events(e)
		r.mu.Lock()
		switch {
		case e.Type == api.Deleted:
			delete(r.held, e.Object.Key())
		case e.Type.IsChange():
			r.held[e.Object.Key()] = e.ResourceVersion
		}
		if e.Type.IsChange() {
			r.events++
		}
		r.mu.Unlock()
	}
}

func (r *goReader) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = fmt.Errorf("the watch ended: %w", err)
}

func (r *goReader) current(_ context.Context, rv api.ResourceVersion) error {
	status := r.collection.Status()
	if status.State != api.StateLive || status.ResourceVersion < rv {
		return fmt.Errorf("it is %s at version %d, expected live at %d: %w", status.State, status.ResourceVersion, rv, errors.Join(status.Err))
	}
	return nil
}

func (r *goReader) reconnect(ctx context.Context) error { return r.client.Reconnect(ctx) }

func (r *goReader) list(ctx context.Context) (contents, error) {
	list, err := r.collection.List(ctx, client.ListOptions{})
	if err != nil {
		return nil, err
	}
	all := make(contents, len(list.Items))
	for _, o := range list.Items {
		all[o.Key()] = object{o.ResourceVersion(), string(o.JSON())}
	}
	return all, nil
}

func (r *goReader) delivered(context.Context) (map[api.Key]api.ResourceVersion, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.held), r.failed
}

func (r *goReader) end(ctx context.Context) (events, relists int, err error) {
	now, err := r.inspect(ctx, "relists")
	r.stop()
	r.running.Wait()
	r.recorders.use(nil)
	return r.events, now - r.relists, errors.Join(err, r.record.Close(), r.file.Close())
}

func (r *goReader) expire(ctx context.Context) (ended func(context.Context) error, err error) {
	watch, err := r.collection.Watch(ctx, client.WatchOptions{ResourceVersion: r.collection.Status().ResourceVersion.String()})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		defer watch.Close()
		for {
			if _, err := watch.Next(ctx); err != nil {
				return expectExpired(err)
			}
		}
	}, nil
}

// expectExpired returns nil if err is a 410, and an error that describes err otherwise.
func expectExpired(err error) error {
	if errors.Is(err, api.Expired("")) {
		return nil
	}
	return fmt.Errorf("a watch of a history that was lost ended with %w, expected 410", err)
}

// inspect returns the sum of a counter over all collections of the engine.
func (r *goReader) inspect(ctx context.Context, counter string) (sum int, err error) {
	numbers, err := r.client.Inspect(ctx)
	for _, n := range numbers {
		if strings.HasPrefix(n.Name, "collection.") && strings.HasSuffix(n.Name, "."+counter) {
			sum += int(n.Value)
		}
	}
	return sum, err
}
