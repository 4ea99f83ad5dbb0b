package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"

	"github.com/watchglass/watchglass/core/api"
)

// list delivers the complete state, as a watch that begins with it or, if the server
// does not support that, as a classic list. Neither specifies a version, so both are
// consistent reads. The age of a state that is only not older than some version is
// unknown.
func (st *stream) list(ctx context.Context) error {
	classic := false
	st.update(func(m *memory) { classic, st.floor = m.classic, m.newest })
	if !classic {
		err := st.watchList(ctx)
		if !errors.Is(err, errNoWatchList) {
			return err
		}
		st.config.Logger.Info("the server does not begin watches with the state; listing the classic way",
			"resource", st.resource.String(), "reason", err)
		st.update(func(m *memory) { m.classic = true })
	}
	err := st.classicList(ctx, st.config.PageSize)
	if errors.Is(err, errPageExpired) {
		err = st.classicList(ctx, 0) // rule R3
	}
	return err
}

// errPageExpired is the 410 of a page that is not the first.
var errPageExpired = errors.New("the continue token expired")

// classicList requests pages of the given size; zero means a single list.
func (st *stream) classicList(ctx context.Context, size int) error {
	if err := st.sink.BeginList(); err != nil {
		return err
	}
	query := url.Values{}
	if size > 0 {
		query.Set("limit", strconv.Itoa(size))
	}
	for {
		page, err := st.page(ctx, query)
		switch {
		case query.Has("continue") && errors.Is(err, api.Expired("")):
			return errPageExpired
		case err != nil:
			return err
		}
		if page.Continue == "" {
			return st.endList(page.ResourceVersion)
		}
		query.Set("continue", page.Continue) // it has the version (rule P19)
	}
}

func (st *stream) endList(version string) error {
	rv, err := api.ParseResourceVersion(version)
	if err != nil || rv == 0 {
		return fmt.Errorf("%s: the list's resourceVersion %q is not one that can be watched from", st.about("list"), version)
	}
	if rv < st.floor {
		return fmt.Errorf("%s: the server answers with the state at %s, older than %s, which was seen before: it lags behind, "+
			"or the cluster was restored from a backup and watchglass must be restarted", st.about("list"), rv, st.floor)
	}
	if err := st.sink.EndList(rv); err != nil {
		return err
	}
	st.advance(rv)
	return nil
}

// page reads one page. Objects go to the sink as they arrive.
func (st *stream) page(ctx context.Context, query url.Values) (listMeta, error) {
	ctx, watchdog := newWatchdog(ctx, st.config.Patience, "the list")
	defer watchdog.stop()
	resp, err := st.do(ctx, st.about("list"), st.resource.path, query, "application/json")
	if err != nil {
		return listMeta{}, err
	}
	defer resp.Body.Close()
	meta, err := readList(watchdog.reader(resp.Body), func(raw json.RawMessage) error {
		watchdog.pause() // the sink may be slow
		defer watchdog.expect()
		return st.listed(raw)
	})
	if err != nil {
		return listMeta{}, st.explain(ctx, "list", err)
	}
	return meta, nil
}

func (st *stream) listed(raw []byte) error {
	o, err := st.identity.read(raw)
	switch {
	case err != nil:
		return fmt.Errorf("%s: an item is no object: %w", st.about("list"), err)
	case o.foreign != "":
		return fmt.Errorf("%s: an item is of kind %s", st.about("list"), o.foreign)
	}
	if err := st.sink.Object(o.key, o.rv, o.value); err != nil {
		return sinkError{err}
	}
	return nil
}

// sinkError is the error of a sink, which is returned unchanged.
type sinkError struct{ error }

// explain adds the current operation to err, unless err is a status or comes from
// the sink.
func (st *stream) explain(ctx context.Context, doing string, err error) error {
	var own sinkError
	var status *api.Status
	switch {
	case errors.As(err, &own):
		return own.error
	case errors.As(err, &status):
		return err
	}
	return fmt.Errorf("%s: %w", st.about(doing), transportError(ctx, err))
}

// listMeta is the metadata of a list.
type listMeta struct{ ResourceVersion, Continue string }

// readList reads a list of any size item by item, whatever the order of its
// members.
func readList(r io.Reader, item func(json.RawMessage) error) (listMeta, error) {
	var meta listMeta
	limit := &frameLimit{r: r, left: maxFrame}
	dec := json.NewDecoder(limit)
	if err := expect(dec, json.Delim('{')); err != nil {
		return meta, err
	}
	for dec.More() {
		limit.left = maxFrame
		name, err := dec.Token()
		if err != nil {
			return meta, err
		}
		switch name {
		case "metadata":
			err = dec.Decode(&meta)
		case "items":
			err = readItems(dec, limit, item)
		default:
			var other json.RawMessage
			err = dec.Decode(&other)
		}
		if err != nil {
			return meta, err
		}
	}
	return meta, expect(dec, json.Delim('}'))
}

func readItems(dec *json.Decoder, limit *frameLimit, item func(json.RawMessage) error) error {
	start, err := dec.Token()
	if err != nil || start == nil { // null
		return err
	}
	if start != json.Delim('[') {
		return fmt.Errorf("items is no array")
	}
	var raw json.RawMessage
	for dec.More() {
		limit.left = maxFrame
		raw = raw[:0]
		if err := dec.Decode(&raw); err != nil {
			return err
		}
		if err := item(raw); err != nil {
			return err
		}
	}
	return expect(dec, json.Delim(']'))
}

func expect(dec *json.Decoder, want json.Token) error {
	got, err := dec.Token()
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	if err == nil && got != want {
		return fmt.Errorf("found %v where %v was expected", got, want)
	}
	return err
}

// newest requests the version of a consistent read from the server.
func (st *stream) newest(ctx context.Context) (api.ResourceVersion, error) {
	var list struct{ Metadata listMeta }
	err := st.getJSON(ctx, st.resource.path, url.Values{"limit": {"1"}}, &list)
	if err != nil {
		return 0, err
	}
	return api.ParseResourceVersion(list.Metadata.ResourceVersion)
}

// checkResume rejects a version that the server has not reached. The server lags
// behind, or never issued that version.
func (st *stream) checkResume(ctx context.Context) error {
	newest, err := st.newest(ctx)
	if err != nil {
		return err
	}
	if st.at > newest {
		status := api.TooLargeResourceVersion(st.at, newest)
		status.Message = st.about("resume") + ": " + status.Message +
			": the server lags behind, or the cluster was restored from a backup and watchglass must be restarted"
		return status
	}
	st.advance(st.at)
	return nil
}
