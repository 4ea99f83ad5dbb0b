package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"

	"github.com/watchglass/watchglass/core/api"
)

// errNoWatchList reports that the server does not support watch lists.
var errNoWatchList = errors.New("no watch list")

// watchList delivers the state as the initial events of a watch (rule R4). The watch
// ends with their marker. Later changes come from watches that are shorter than a
// large state takes.
func (st *stream) watchList(ctx context.Context) error {
	ctx, watchdog := newWatchdog(ctx, st.config.Patience, "the initial events")
	defer watchdog.stop()
	resp, err := st.do(ctx, st.about("watch list"), st.resource.path, url.Values{
		"watch":                {"1"},
		"sendInitialEvents":    {"true"},
		"resourceVersionMatch": {"NotOlderThan"}, // the only one allowed (rule C11)
		"allowWatchBookmarks":  {"true"},
		"timeoutSeconds":       {strconv.Itoa(300 + rand.IntN(300))}, // rule R5
	}, "application/json")
	if err != nil {
		return watchListRefused(err)
	}
	if err := st.sink.BeginList(); err != nil {
		resp.Body.Close()
		return err
	}
	initial := readFrames(resp.Body)
	defer initial.stop()
	for f := range initial.c {
		watchdog.pause()
		done, err := st.initial(ctx, f)
		if done || err != nil {
			return err
		}
		watchdog.expect()
	}
	panic("unreachable: a stream of frames ends with an error")
}

// watchListRefused distinguishes a server without the feature, which rejects the
// options as invalid, from one that fails.
func watchListRefused(err error) error {
	var status *api.Status
	if errors.As(err, &status) {
		switch status.Code {
		case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusMethodNotAllowed, http.StatusNotAcceptable:
			return fmt.Errorf("%w: %w", errNoWatchList, err)
		}
	}
	return err
}

// initial delivers one event, and reports whether it was the marker.
func (st *stream) initial(ctx context.Context, f frame) (done bool, err error) {
	switch {
	case errors.Is(context.Cause(ctx), errSilent):
		// A server that ignores the option may send the state, but never the marker.
		return false, fmt.Errorf("%w: %w", errNoWatchList, context.Cause(ctx))
	case errors.Is(f.err, io.EOF):
		// The events are too many for the server or a proxy. Pages are smaller.
		return false, fmt.Errorf("%w: the server ended the initial events too early", errNoWatchList)
	case f.err != nil:
		return false, st.explain(ctx, "watch list", f.err)
	case f.Type == "ADDED":
		return false, st.unwrap(st.listed(f.Object))
	case f.Type == "ERROR":
		return false, watchListRefused(st.errorFrame("watch list", f.Object))
	case f.Type != "BOOKMARK":
		return false, fmt.Errorf("%w: a %s event among the initial ones", errNoWatchList, f.Type)
	}
	mark, err := readBookmark(f.Object)
	if err != nil {
		return false, fmt.Errorf("%s: %w", st.about("watch list"), err)
	}
	if !mark.end {
		return false, nil
	}
	return true, st.endList(mark.rv.String())
}

func (st *stream) unwrap(err error) error {
	var own sinkError
	if errors.As(err, &own) {
		return own.error
	}
	return err
}

// bookmark is a BOOKMARK event (rules P8, W23).
type bookmark struct {
	rv  api.ResourceVersion
	end bool
}

func readBookmark(raw []byte) (bookmark, error) {
	var o struct {
		Metadata struct {
			ResourceVersion string
			Annotations     map[string]string
		}
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return bookmark{}, fmt.Errorf("a bookmark that is no object: %w", err)
	}
	rv, err := api.ParseResourceVersion(o.Metadata.ResourceVersion)
	if err == nil && rv == 0 {
		err = errors.New("a bookmark without a resourceVersion")
	}
	return bookmark{rv: rv, end: o.Metadata.Annotations["k8s.io/initial-events-end"] == "true"}, err
}

// errorFrame parses the Status of an ERROR event (rules P6, R9).
func (st *stream) errorFrame(doing string, raw []byte) error {
	var k kubeStatus
	if err := json.Unmarshal(raw, &k); err != nil || k.Code == 0 {
		return fmt.Errorf("%s: the server reports an error that is no Status: %.300q", st.about(doing), raw)
	}
	return k.toStatus(st.about(doing))
}
