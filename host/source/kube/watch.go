package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/source"
)

// veryShort is the duration below which a watch without events counts as a failure
// (rule R8).
const veryShort = time.Second

// watch delivers changes after st.at, with one watch after the other.
func (st *stream) watch(ctx context.Context) error {
	for {
		begun := time.Now()
		events, err := st.watchOnce(ctx)
		if err != nil {
			return err
		}
		if events == 0 && time.Since(begun) < veryShort {
			return fmt.Errorf("%s: the server ends the watch at once and without a word", st.about("watch"))
		}
		changed, err := st.catalog.changed(ctx, st.resource)
		switch {
		case err != nil:
			return err
		case changed:
			return &source.SchemaChangedError{Resource: st.resource.Resource}
		}
	}
}

// watchOnce runs one watch to its regular end, and returns the number of its events.
func (st *stream) watchOnce(ctx context.Context) (int, error) {
	timeout := st.config.WatchTimeout
	ctx, cancel := context.WithTimeoutCause(ctx, timeout+st.config.Patience,
		fmt.Errorf("%w: a watch of %v is still open after %v", errSilent, timeout, timeout+st.config.Patience))
	defer cancel()
	resp, err := st.do(ctx, st.about("watch"), st.resource.path, url.Values{
		"watch":               {"1"},
		"resourceVersion":     {st.at.String()},
		"allowWatchBookmarks": {"true"},
		"timeoutSeconds":      {strconv.Itoa(int(timeout / time.Second))},
	}, "application/json")
	if err != nil {
		return 0, err
	}
	frames := readFrames(resp.Body)
	defer frames.stop()
	probe := st.probe(ctx)
	defer probe.stop()
	w := &watch{stream: st}
	for {
		select {
		case f := <-frames.c:
			err = w.take(ctx, f, frames)
		case answer := <-probe.answer:
			err = w.probed(answer)
		}
		switch {
		case errors.Is(err, io.EOF):
			return w.events, w.ended()
		case err != nil:
			return w.events, err
		}
	}
}

// watch is one request, with the known latest version of the server.
type watch struct {
	*stream
	events  int
	changes []source.Change
	changed api.ResourceVersion // version of the last received change
	sure    bool                // the probe has returned
	target  api.ResourceVersion // the version from the probe
	told    bool                // progress up to target was reported
}

// take applies a frame and all others that are available.
func (w *watch) take(ctx context.Context, f frame, frames *frames) error {
	w.changes = w.changes[:0]
	for {
		progressed, err := w.handle(ctx, f)
		if len(w.changes) > 0 && (err != nil || progressed || len(w.changes) == maxWaiting || len(frames.c) == 0) {
			if err := w.flush(); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
		if progressed {
			if err := w.report(); err != nil {
				return err
			}
		}
		select {
		case f = <-frames.c:
		default:
			return w.flush()
		}
	}
}

func (w *watch) flush() error {
	if len(w.changes) == 0 {
		return nil
	}
	err := w.sink.Changes(w.changes)
	w.changes = w.changes[:0]
	if err != nil {
		return err
	}
	w.advance(w.at)
	return w.passed()
}

// passed reports progress once if the changes have passed the probed version. It
// then need not wait for a bookmark.
func (w *watch) passed() error {
	if !w.sure || w.told || w.at <= w.target {
		return nil
	}
	w.told = true
	return w.sink.Progress(w.at)
}

// handle processes one frame, and reports whether it was a bookmark.
func (w *watch) handle(ctx context.Context, f frame) (bool, error) {
	switch {
	case errors.Is(f.err, io.EOF):
		return false, io.EOF // a regular end: the server's timeout (rules P9, P10)
	case f.err != nil:
		return false, w.explain(ctx, "watch", f.err)
	}
	w.events++
	switch f.Type {
	case "ADDED", "MODIFIED", "DELETED":
		return false, w.change(f)
	case "BOOKMARK":
		mark, err := readBookmark(f.Object)
		if err != nil {
			return false, fmt.Errorf("%s: %w", w.about("watch"), err)
		}
		w.at = max(w.at, mark.rv)
		return true, nil
	case "ERROR":
		return false, w.errorFrame("watch", f.Object)
	}
	w.config.Logger.Warn("passing over an event of unknown type", "resource", w.resource.String(), "type", f.Type)
	return false, nil
}

// change applies one change. A change older than the last one comes from a server
// that has gone back in time. One of the same version is a repetition, unless the
// previous change has that version too. kube-apiserver gives each change its own
// version. A server that serves its API from an etcd with transactions does not.
func (w *watch) change(f frame) error {
	o, err := w.identity.read(f.Object)
	switch {
	case err != nil:
		return fmt.Errorf("%s: a %s event without an object: %w", w.about("watch"), f.Type, err)
	case o.foreign != "":
		w.config.Logger.Warn("passing over an event of another kind", "resource", w.resource.String(), "kind", o.foreign)
		return nil
	case o.rv == 0:
		return fmt.Errorf("%s: object %q has no resourceVersion", w.about("watch"), o.key)
	case o.rv < w.at || o.rv == w.at && o.rv != w.changed:
		return nil
	}
	w.at, w.changed = o.rv, o.rv
	change := source.Change{Key: o.key, ResourceVersion: o.rv}
	if f.Type != "DELETED" {
		change.Value = o.value
	}
	w.changes = append(w.changes, change)
	return nil
}

// probed applies the version that a probe returned.
func (w *watch) probed(a answer) error {
	switch {
	case errors.Is(a.err, context.Canceled):
		return nil // the watch ended first
	case a.err != nil:
		w.config.Logger.Warn("the server does not say how current it is; readers will call their data stale if that goes on",
			"resource", w.resource.String(), "error", a.err)
		return nil
	}
	w.sure, w.target = true, a.rv
	return w.report()
}

// report reports progress if the watch has reached the probed version.
func (w *watch) report() error {
	if !w.sure || w.at < w.target {
		return nil
	}
	w.advance(w.at)
	return w.sink.Progress(w.at)
}

// ended handles the normal end of a watch, after which everything in this server's
// cache was sent. If the watch has not reached the probed version, this proves
// nothing: the server may be cut off from its storage, and another behind the same
// address may have answered.
func (w *watch) ended() error {
	if w.sure && w.at < w.target {
		w.config.Logger.Warn("the server ended a watch before the version that there is; readers will call their data stale if that goes on",
			"resource", w.resource.String(), "at", w.at, "newest", w.target)
	}
	return w.report()
}

// answer is the result of a probe.
type answer struct {
	rv  api.ResourceVersion
	err error
}

// probe requests the latest version in a separate goroutine.
type probe struct {
	answer chan answer
	cancel context.CancelFunc
	done   chan struct{}
}

func (st *stream) probe(ctx context.Context) *probe {
	ctx, cancel := context.WithCancel(ctx)
	p := &probe{answer: make(chan answer, 1), cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		rv, err := st.newest(ctx)
		p.answer <- answer{rv, err}
	}()
	return p
}

func (p *probe) stop() {
	p.cancel()
	<-p.done
}
