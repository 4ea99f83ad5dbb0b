package kubeapitest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/source/memory"
)

var pods = api.Resource{Version: "v1", Name: "pods"}

// Open opens a backend that serves the objects of source, and registers the cleanup of the
// backend with t.
type Open func(t *testing.T, source *memory.Source) kubeapi.Backend

// Run runs the contract tests.
func Run(t *testing.T, open Open) {
	for name, test := range map[string]func(*suite){
		"Resources":              (*suite).resources,
		"Get":                    (*suite).get,
		"List":                   (*suite).list,
		"ListPages":              (*suite).pages,
		"ListAllOfAVersion":      (*suite).all,
		"ListRefusals":           (*suite).listRefusals,
		"WatchInitialEvents":     (*suite).initialEvents,
		"WatchConverts":          (*suite).converts,
		"WatchFromTooOld":        (*suite).tooOld,
		"WatchRefusals":          (*suite).watchRefusals,
		"WatchEndsWithItsTime":   (*suite).timeout,
		"WatchIsLeftByItsReader": (*suite).left,
		"FutureVersions":         (*suite).future,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			s := &suite{T: t, ctx: ctx, source: memory.New()}
			s.backend = open(t, s.source)
			test(s)
		})
	}
}

type suite struct {
	*testing.T
	ctx     context.Context
	source  *memory.Source
	backend kubeapi.Backend
}

func (s *suite) put(key api.Key, app string) api.ResourceVersion {
	return s.source.Put(pods, key, fmt.Appendf(nil,
		`{"kind":"Pod","apiVersion":"v1","metadata":{"name":%q,"namespace":%q,"labels":{"app":%q}},"status":{"phase":"Running"}}`,
		key.Name(), key.Namespace(), app))
}

// listKeys returns the keys of a list, separated by spaces, and the list itself.
func (s *suite) listKeys(o kubeapi.ListOptions) (string, *kubeapi.List) {
	s.Helper()
	list, err := s.backend.List(s.ctx, pods, o)
	require.NoError(s, err)
	var all []string
	for o, err := range list.Items {
		require.NoError(s, err)
		all = append(all, string(o.Key()))
	}
	return strings.Join(all, " "), list
}

func (s *suite) refused(err error, code int) {
	s.Helper()
	var status *api.Status
	require.ErrorAs(s, err, &status)
	assert.Equal(s, code, status.Code, status)
}

func (s *suite) resources() {
	all, err := s.backend.Resources(s.ctx)
	require.NoError(s, err)
	assert.Contains(s, all, kubeapi.Resource{
		Resource: pods, Kind: "Pod", Singular: "pod", Namespaced: true, ShortNames: []string{"po"}, Categories: []string{"all"},
	})
	schema, err := s.backend.Schema(s.ctx, pods)
	require.NoError(s, err)
	assert.Equal(s, "Pod", schema.Kind)
	assert.NotEmpty(s, schema.Columns)
	_, err = s.backend.Schema(s.ctx, api.Resource{Version: "v1", Name: "unicorns"})
	s.refused(err, 404)
}

func (s *suite) get() {
	s.put("a/one", "web")
	schema, err := s.backend.Schema(s.ctx, pods)
	require.NoError(s, err)
	for _, version := range []string{"", "0", "2"} {
		o, err := s.backend.Get(s.ctx, pods, "a/one", version)
		require.NoError(s, err)
		assert.Equal(s, api.Key("a/one"), o.Key())
		assert.Equal(s, "Running", o.Column(schema.Column("Status")).Text)
		assert.Contains(s, string(o.JSON()), `"resourceVersion":"2"`)
	}
	rv := s.put("a/one", "api")
	o, err := s.backend.Get(s.ctx, pods, "a/one", rv.String())
	require.NoError(s, err)
	assert.Contains(s, string(o.JSON()), `"app":"api"`)
	for _, version := range []string{"", rv.String()} {
		_, err = s.backend.Get(s.ctx, pods, "a/two", version)
		s.refused(err, 404)
	}
	_, err = s.backend.Get(s.ctx, pods, "a/one", "x")
	s.refused(err, 400)
}

func (s *suite) list() {
	s.put("b/one", "web")
	s.put("a/two", "web")
	rv := s.put("a/one", "api")
	for _, c := range []struct {
		options kubeapi.ListOptions
		want    string
	}{
		{kubeapi.ListOptions{}, "a/one a/two b/one"},
		{kubeapi.ListOptions{ResourceVersion: "0"}, "a/one a/two b/one"},
		{kubeapi.ListOptions{ResourceVersion: "0", Limit: 1}, "a/one a/two b/one"},
		{kubeapi.ListOptions{ResourceVersion: "2"}, "a/one a/two b/one"},
		{kubeapi.ListOptions{ResourceVersion: "2", Match: api.MatchNotOlderThan}, "a/one a/two b/one"},
		{kubeapi.ListOptions{ResourceVersion: rv.String(), Match: api.MatchExact}, "a/one a/two b/one"},
		{kubeapi.ListOptions{Namespace: "a"}, "a/one a/two"},
		{kubeapi.ListOptions{Selection: objects.Select("app=web", "")}, "a/two b/one"},
		{kubeapi.ListOptions{Selection: objects.Select("", "metadata.name=one"), Namespace: "b"}, "b/one"},
		{kubeapi.ListOptions{Namespace: "c"}, ""},
	} {
		keys, list := s.listKeys(c.options)
		assert.Equal(s, c.want, keys, c.options)
		assert.Equal(s, rv, list.ResourceVersion)
		assert.Empty(s, list.Continue)
	}
	again := s.put("a/two", "web")
	s.settle(again)
	keys, _ := s.listKeys(kubeapi.ListOptions{ResourceVersion: rv.String(), Match: api.MatchExact, Selection: objects.Select("app=api", "")})
	assert.Equal(s, "a/one", keys)
}

// settle waits until the backend has received all changes up to a resource version.
func (s *suite) settle(rv api.ResourceVersion) {
	s.Helper()
	s.listKeys(kubeapi.ListOptions{ResourceVersion: rv.String(), Match: api.MatchNotOlderThan})
}

func (s *suite) pages() {
	var rv api.ResourceVersion
	for i := range 5 {
		rv = s.put(api.Key(fmt.Sprintf("a/p%d", i)), "web")
	}
	keys, first := s.listKeys(kubeapi.ListOptions{Limit: 2})
	assert.Equal(s, "a/p0 a/p1", keys)
	assert.Equal(s, rv, first.ResourceVersion)
	assert.EqualValues(s, 3, first.Remaining)
	s.source.Delete(pods, "a/p2")
	s.settle(s.put("a/p9", "web"))
	keys, second := s.listKeys(kubeapi.ListOptions{Limit: 2, Continue: first.Continue})
	assert.Equal(s, "a/p2 a/p3", keys)
	assert.Equal(s, rv, second.ResourceVersion)
	keys, last := s.listKeys(kubeapi.ListOptions{Limit: 2, Continue: second.Continue})
	assert.Equal(s, "a/p4", keys)
	assert.Empty(s, last.Continue)
	assert.Zero(s, last.Remaining)
	keys, _ = s.listKeys(kubeapi.ListOptions{Continue: first.Continue})
	assert.Equal(s, "a/p2 a/p3 a/p4", keys, "a token without a limit")
}

// all lists more objects than a backend reads at once, and changes the source during the
// iteration. The list must not contain these changes.
func (s *suite) all() {
	const objects = 1200
	for i := range objects {
		s.put(api.Key(fmt.Sprintf("a/p%04d", i)), "web")
	}
	list, err := s.backend.List(s.ctx, pods, kubeapi.ListOptions{})
	for errors.Is(err, api.TooManyRequests("", 0)) && s.ctx.Err() == nil { // on a slow machine, the backend may not have listed the source yet
		list, err = s.backend.List(s.ctx, pods, kubeapi.ListOptions{})
	}
	require.NoError(s, err)
	n := 0
	for o, err := range list.Items {
		require.NoError(s, err)
		require.Equal(s, api.Key(fmt.Sprintf("a/p%04d", n)), o.Key())
		if n++; n == 10 {
			s.source.Delete(pods, "a/p0700")
			s.put("a/p0000a", "web")
		}
	}
	assert.Equal(s, objects, n)
	n = 0
	for range list.Items { // a second iteration, which stops early, must not fail
		if n++; n == 3 {
			break
		}
	}
}

func (s *suite) listRefusals() {
	s.put("a/one", "web")
	for _, c := range []struct {
		options kubeapi.ListOptions
		code    int
	}{
		{kubeapi.ListOptions{ResourceVersion: "x"}, 400},
		{kubeapi.ListOptions{Selection: objects.Select("", "spec.unknown=1")}, 400},
		{kubeapi.ListOptions{Continue: "x"}, 400},
		{kubeapi.ListOptions{Match: api.MatchExact}, 422},
		{kubeapi.ListOptions{Match: api.MatchNotOlderThan}, 422},
		{kubeapi.ListOptions{Match: api.MatchExact, ResourceVersion: "0"}, 422},
		{kubeapi.ListOptions{Match: api.MatchExact, ResourceVersion: "2", Continue: "x"}, 422},
	} {
		_, err := s.backend.List(s.ctx, pods, c.options)
		require.Error(s, err, "%+v", c.options)
		s.refused(err, c.code)
	}
}

// watching is a watch that returns its events one by one.
type watching struct {
	*suite
	watch kubeapi.Watch
	ahead []string
}

func (s *suite) watch(o kubeapi.WatchOptions) *watching {
	s.Helper()
	w, err := s.backend.Watch(s.ctx, pods, o)
	require.NoError(s, err)
	s.Cleanup(w.Close)
	return &watching{suite: s, watch: w}
}

// next waits for the next event or the end of the watch, and formats it.
func (w *watching) next() string {
	w.Helper()
	if len(w.ahead) == 0 {
		events, err := w.watch.Next(w.ctx)
		if status := (*api.Status)(nil); errors.As(err, &status) {
			return fmt.Sprintf("ERROR %d", status.Code)
		}
		if err != nil {
			return err.Error()
		}
		require.NotEmpty(w, events)
		for _, e := range events {
			w.ahead = append(w.ahead, format(w.T, e))
		}
	}
	keys := w.ahead[0]
	w.ahead = w.ahead[1:]
	return keys
}

func format(t *testing.T, e kubeapi.Event) string {
	switch e.Type {
	case api.Bookmark:
		return fmt.Sprintf("BOOKMARK %s end=%t", e.ResourceVersion, e.InitialEventsEnd)
	}
	assert.Contains(t, string(e.Object.JSON()), fmt.Sprintf(`"resourceVersion":"%d"`, e.ResourceVersion))
	return fmt.Sprintf("%s %s %s", e.Type, e.Object.Key(), e.ResourceVersion)
}

func (s *suite) initialEvents() {
	s.put("a/one", "web")
	s.put("a/two", "api")
	for _, o := range []kubeapi.WatchOptions{
		{Bookmarks: true, SendInitialEvents: api.True, Match: api.MatchNotOlderThan},
		{Bookmarks: true, SendInitialEvents: api.True, Match: api.MatchNotOlderThan, ResourceVersion: "2"},
		{Bookmarks: true},
		{Bookmarks: true, ResourceVersion: "0"},
	} {
		w := s.watch(o)
		assert.Equal(s, "ADDED a/one 2", w.next())
		assert.Equal(s, "ADDED a/two 3", w.next())
		assert.Equal(s, "BOOKMARK 3 end=true", w.next())
	}
	w := s.watch(kubeapi.WatchOptions{ResourceVersion: "0", SendInitialEvents: api.False, Match: api.MatchNotOlderThan})
	s.put("b/one", "web")
	assert.Equal(s, "ADDED b/one 4", w.next())
}

func (s *suite) converts() {
	s.settle(1)
	w := s.watch(kubeapi.WatchOptions{Namespace: "a", Selection: objects.Select("app=web", "")})
	s.put("a/one", "web")
	s.put("a/one", "web")
	s.put("b/one", "web")
	s.put("a/one", "api")
	s.put("a/one", "web")
	s.source.Delete(pods, "a/one")
	for _, want := range []string{"ADDED a/one 2", "MODIFIED a/one 3", "DELETED a/one 5", "ADDED a/one 6", "DELETED a/one 7"} {
		assert.Equal(s, want, w.next())
	}
	again := s.watch(kubeapi.WatchOptions{ResourceVersion: "4"})
	assert.Equal(s, "MODIFIED a/one 5", again.next())
	assert.Equal(s, "MODIFIED a/one 6", again.next())
	assert.Equal(s, "DELETED a/one 7", again.next())
}

func (s *suite) tooOld() {
	for range 3 {
		s.put("a/one", "web")
	}
	s.settle(4)
	w := s.watch(kubeapi.WatchOptions{ResourceVersion: "2"})
	assert.Equal(s, "ERROR 410", w.next())
}

func (s *suite) watchRefusals() {
	s.settle(1)
	for _, c := range []struct {
		options kubeapi.WatchOptions
		code    int
	}{
		{kubeapi.WatchOptions{ResourceVersion: "x"}, 400},
		{kubeapi.WatchOptions{Selection: objects.Select("", "spec.unknown=1")}, 400},
		{kubeapi.WatchOptions{SendInitialEvents: api.True}, 422},
		{kubeapi.WatchOptions{Match: api.MatchNotOlderThan, ResourceVersion: "1"}, 422},
	} {
		_, err := s.backend.Watch(s.ctx, pods, c.options)
		require.Error(s, err, "%+v", c.options)
		s.refused(err, c.code)
	}
}

func (s *suite) timeout() {
	s.put("a/one", "web")
	s.settle(2)
	w := s.watch(kubeapi.WatchOptions{ResourceVersion: "2", TimeoutSeconds: 1})
	assert.Equal(s, io.EOF.Error(), w.next())
}

func (s *suite) left() {
	s.settle(1)
	w, err := s.backend.Watch(s.ctx, pods, kubeapi.WatchOptions{ResourceVersion: "1"})
	require.NoError(s, err)
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	_, err = w.Next(ctx)
	require.ErrorIs(s, err, context.Canceled)
	s.put("a/one", "web")
	w.Close()
}

func (s *suite) future() {
	s.put("a/one", "web")
	s.settle(2)
	_, err := s.backend.List(s.ctx, pods, kubeapi.ListOptions{ResourceVersion: "99"})
	s.refused(err, 504)
	_, err = s.backend.Get(s.ctx, pods, "a/one", "99")
	s.refused(err, 504)
	w := s.watch(kubeapi.WatchOptions{
		ResourceVersion: "99", Match: api.MatchNotOlderThan, SendInitialEvents: api.True, Bookmarks: true,
	})
	assert.Equal(s, "ERROR 504", w.next())
}
