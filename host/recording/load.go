package recording

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/sim/check"
)

// Load and Verify wrap these errors if a recording is malformed, is incomplete, or does not
// match another recording.
var (
	ErrFormat    = errors.New("format: not a recording")
	ErrTruncated = errors.New("truncated: the recording has no end")
	ErrGap       = errors.New("gap: changes are missing from the recording")
	ErrMismatch  = errors.New("mismatch: the recordings do not cover the same versions or objects")
)

// History contains the contents of one or more recordings.
type History struct {
	resource  string
	clusterID string
	log       *check.Log // nil without a recording of the source
	from, to  api.ResourceVersion
	changes   int
	lists     []list
	watches   []*watch
}

// list is a recorded list.
type list struct {
	name    string
	scope   check.Filter
	filter  check.Filter
	rv      api.ResourceVersion
	objects []Object
}

// watch is a recorded watch. All watches in one file whose collections have the same
// selectors share a scope.
type watch struct {
	check.Watch
	scope *scope
}

// scope contains the data that collections with the same selectors share in one file.
type scope struct {
	asked   api.ResourceVersion // the reader's version at its last subscription
	relists []check.Relist
}

// Load adds a recording to the history.
func (h *History) Load(name string, in io.Reader) error {
	f := &file{history: h, name: name, scopes: map[check.Filter]*scope{}, watches: map[int]*watch{}}
	lines := bufio.NewReader(in)
	for !f.ended {
		text, err := lines.ReadBytes('\n')
		f.line++
		switch {
		case err == io.EOF && f.line == 1:
			return fmt.Errorf("%w: %s: it has no complete line", ErrFormat, name)
		case err == io.EOF:
			return fmt.Errorf("%w: %s: after line %d; was the recorder still running?", ErrTruncated, name, f.line-1)
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := f.take(text); err != nil {
			return err
		}
	}
	if rest, _ := lines.Peek(1); len(rest) > 0 {
		return f.wrong(ErrFormat, "there are lines after the end")
	}
	for _, w := range f.watches {
		w.Relists = w.scope.relists
	}
	return nil
}

// file is the state of one call to Load.
type file struct {
	history *History
	name    string
	line    int
	ended   bool
	scopes  map[check.Filter]*scope
	watches map[int]*watch
	batch   int
}

func (f *file) wrong(err error, format string, args ...any) error {
	return fmt.Errorf("%w: %s, line %d: %s", err, f.name, f.line, fmt.Sprintf(format, args...))
}

func (f *file) take(text []byte) error {
	var l Line
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&l); err != nil {
		return f.wrong(ErrFormat, "%v", err)
	}
	if first := l.Kind == kindHistory; first != (f.line == 1) {
		return f.wrong(ErrFormat, "a recording begins with a line of kind %q, and has one; this is %q", kindHistory, l.Kind)
	}
	switch l.Kind {
	case kindHistory:
		return f.header(&l)
	case kindCluster:
		return f.identify(l.ClusterID)
	case kindState:
		return f.state(&l)
	case kindChange:
		return f.change(&l)
	case kindProgress:
		f.history.to = max(f.history.to, l.ResourceVersion)
	case kindSubscribe:
		f.subscribe(&l)
	case kindSnapshot:
		f.snapshot(&l)
	case kindList:
		f.list(&l)
	case kindWatch:
		return f.watch(&l)
	case kindEvents:
		return f.events(&l)
	case kindClosed:
		if f.watches[l.Watch] == nil {
			return f.wrong(ErrFormat, "watch %d was not opened", l.Watch)
		}
	case kindEnd:
		return f.end(&l)
	default:
		return f.wrong(ErrFormat, "there is no kind %q", l.Kind)
	}
	return nil
}

// end checks the number of lines, because a recording with missing lines may otherwise
// look valid.
func (f *file) end(l *Line) error {
	if l.Lines != f.line {
		return f.wrong(ErrGap, "the recorder wrote %d lines, and here are %d", l.Lines, f.line)
	}
	f.ended = true
	return nil
}

func (f *file) header(l *Line) error {
	h := f.history
	switch {
	case l.Version != Version:
		return f.wrong(ErrFormat, "it is of version %d, and this program reads version %d", l.Version, Version)
	case h.resource != "" && h.resource != l.Resource:
		return f.wrong(ErrMismatch, "it is about %s, and another is about %s", l.Resource, h.resource)
	}
	h.resource = l.Resource
	return nil
}

// identify returns an error if the cluster ID changes, because resource versions of
// different clusters are not comparable.
func (f *file) identify(clusterID string) error {
	h := f.history
	if h.clusterID != "" && h.clusterID != clusterID {
		return f.wrong(ErrMismatch, "the resource versions belong to %q; earlier ones belong to %q", clusterID, h.clusterID)
	}
	h.clusterID = clusterID
	return nil
}

func (f *file) state(l *Line) error {
	h := f.history
	if h.log != nil {
		return f.wrong(ErrGap, "the state was listed again, at %d: what happened after %d was not recorded", l.ResourceVersion, h.to)
	}
	h.log, h.from, h.to = check.NewLog(), l.ResourceVersion, l.ResourceVersion
	slices.SortStableFunc(l.Objects, func(a, b Object) int { return cmp.Compare(a.ResourceVersion, b.ResourceVersion) })
	for i := range l.Objects {
		o := &l.Objects[i]
		h.log.Append(check.Change{ResourceVersion: o.ResourceVersion, Key: o.Key, Object: o.check()})
	}
	return nil
}

func (f *file) change(l *Line) error {
	h := f.history
	if h.log == nil || l.ResourceVersion < h.to {
		return f.wrong(ErrGap, "a change at %d, and the recording was at %d", l.ResourceVersion, h.to)
	}
	h.to = l.ResourceVersion
	h.changes++
	h.log.Append(check.Change{ResourceVersion: l.ResourceVersion, Key: l.Key, Object: l.Object.check()})
	return nil
}

func (f *file) scope(l *Line) *scope {
	key := l.Scope.check()
	if f.scopes[key] == nil {
		f.scopes[key] = &scope{}
	}
	return f.scopes[key]
}

// subscribe stores the version that the reader had reached. If this version is older than
// the last relist, the reader did not receive the snapshot completely, and subscribe
// removes the relist.
func (f *file) subscribe(l *Line) {
	s := f.scope(l)
	s.asked = l.NotOlderThan
	if n := len(s.relists); n > 0 && s.asked > 0 && s.relists[n-1].To > s.asked {
		s.relists = s.relists[:n-1]
	}
}

// snapshot adds a relist, in which the reader skipped the versions before the snapshot.
func (f *file) snapshot(l *Line) {
	if s := f.scope(l); s.asked > 0 {
		s.relists = append(s.relists, check.Relist{From: s.asked, To: l.ResourceVersion})
	}
}

func (f *file) list(l *Line) {
	f.history.lists = append(f.history.lists, list{
		name: fmt.Sprintf("the list in line %d of %s", f.line, f.name), scope: l.Scope.check(), filter: l.Filter.check(),
		rv: l.ResourceVersion, objects: l.Objects,
	})
}

func (f *file) watch(l *Line) error {
	start, known := starts[l.Start]
	switch {
	case !known:
		return f.wrong(ErrFormat, "a watch cannot start at %q", l.Start)
	case f.watches[l.Watch] != nil:
		return f.wrong(ErrFormat, "watch %d was opened before", l.Watch)
	}
	w := &watch{scope: f.scope(l), Watch: check.Watch{
		Name: fmt.Sprintf("watch %d (line %d of %s)", l.Watch, f.line, f.name),
		Request: check.Request{
			Scope: l.Scope.check(), Filter: l.Filter.check(), Start: start, ResourceVersion: l.ResourceVersion,
			Bookmarks: l.Bookmarks, Conflating: l.Conflating, Limited: l.Limited,
		},
	}}
	f.watches[l.Watch] = w
	f.history.watches = append(f.history.watches, w)
	return nil
}

func (f *file) events(l *Line) error {
	w := f.watches[l.Watch]
	if w == nil {
		return f.wrong(ErrFormat, "watch %d was not opened", l.Watch)
	}
	f.batch++
	for i := range l.Events {
		e, err := f.event(&l.Events[i])
		if err != nil {
			return err
		}
		w.Events = append(w.Events, e)
	}
	return nil
}

func (f *file) event(r *Event) (check.Event, error) {
	e := check.Event{Key: r.Key, ResourceVersion: r.ResourceVersion, Object: r.Object.check(), End: r.End, Batch: f.batch}
	for _, t := range []api.EventType{api.Added, api.Modified, api.Deleted, api.Bookmark} {
		if t.String() == r.Type {
			e.Type = t
		}
	}
	switch {
	case e.Type == 0:
		return e, f.wrong(ErrFormat, "there is no type of event %q", r.Type)
	case e.Type.IsChange() && (e.Key == "" || e.Object == nil):
		return e, f.wrong(ErrFormat, "a %s event needs a key and an object", r.Type)
	}
	return e, nil
}
