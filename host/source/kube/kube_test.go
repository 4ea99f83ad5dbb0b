package kube_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/kubeserver"
	"github.com/watchglass/watchglass/host/source"
	"github.com/watchglass/watchglass/host/source/kube"
)

var (
	pods     = api.Resource{Version: "v1", Name: "pods"}
	cronTabs = api.Resource{Group: "example.com", Version: "v1", Name: "crontabs"}
)

// sink records the calls that a stream makes, as lines of text.
type sink struct {
	t       *testing.T
	mu      sync.Mutex
	lines   []string
	rv      api.ResourceVersion
	changed chan struct{}
}

func newSink(t *testing.T) *sink { return &sink{t: t, changed: make(chan struct{}, 1)} }

func (s *sink) record(rv api.ResourceVersion, format string, args ...any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
	s.rv = max(s.rv, rv)
	select {
	case s.changed <- struct{}{}:
	default:
	}
	return nil
}

func (s *sink) Identify(name string) error { return s.record(0, "of %s", name) }
func (s *sink) BeginList() error           { return s.record(0, "list") }
func (s *sink) Wanted() <-chan struct{}    { return nil }
func (s *sink) Object(key api.Key, rv api.ResourceVersion, value []byte) error {
	assert.Contains(s.t, string(value), `"kind":"Pod","apiVersion":"v1"`)
	return s.record(0, "%s@%d", key, rv)
}
func (s *sink) EndList(rv api.ResourceVersion) error { return s.record(rv, "end %d", rv) }
func (s *sink) Changes(changes []source.Change) error {
	for _, c := range changes {
		verb := "put"
		if c.Value == nil {
			verb = "delete"
		}
		s.record(c.ResourceVersion, "%s %s@%d", verb, c.Key, c.ResourceVersion)
	}
	return nil
}
func (s *sink) Progress(rv api.ResourceVersion) error { return s.record(rv, "progress %d", rv) }

// until waits until the recorded lines contain text. It fails the test if the stream ends
// first.
func (s *sink) until(text string, ended <-chan error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	for {
		if strings.Contains(s.text(), text) {
			return
		}
		select {
		case <-s.changed:
		case err := <-ended:
			require.FailNow(s.t, "the stream ended before "+text, "%v\n%s", err, s.text())
		case <-ctx.Done():
			require.FailNow(s.t, "did not occur in time: "+text, s.text())
		}
	}
}

// text returns the recorded lines.
func (s *sink) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines, "\n") + "\n"
}

func start(t *testing.T, src *kube.Source, resource api.Resource, from api.ResourceVersion, s source.Sink) <-chan error {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	done := make(chan struct{})
	go func() { defer close(done); ended <- src.Stream(ctx, resource, from, s) }()
	t.Cleanup(func() { cancel(); <-done })
	return ended
}

func stream(t *testing.T, src *kube.Source, from api.ResourceVersion) (*sink, <-chan error) {
	s := newSink(t)
	return s, start(t, src, pods, from, s)
}

func TestR4_TheStateIsTheBeginningOfAWatch(t *testing.T) {
	f := newFake(t)
	f.put("b", "x")
	f.put("a", "y")
	s, ended := stream(t, f.source(kube.Config{}), 0)
	s.until("end 102", ended)
	f.put("a", "z")
	f.delete("b", "x")
	s.until("delete b/x@104", ended)
	assert.Contains(t, s.text(), "of kube-cluster-1\nlist\na/y@102\nb/x@101\nend 102\n")
	assert.Zero(t, f.seen("limit=500"), "no paged list was sent")
}

func TestR5_WatchesRequestBookmarksAndAShortTimeout(t *testing.T) {
	f := newFake(t)
	f.put("a", "x")
	s, ended := stream(t, f.source(kube.Config{}), 0)
	s.until("end 101", ended)
	f.put("a", "y")
	s.until("put a/y@102", ended)
	assert.Equal(t, 1, f.seen("allowWatchBookmarks=true&resourceVersion=101&timeoutSeconds=9&watch=1"))
}

// Items of a typed list have no kind. The sink checks that the source adds the kind.
func TestR2_R3_AServerWithoutWatchListIsListedInPages(t *testing.T) {
	f := newFake(t)
	for i := range 7 {
		f.put("a", fmt.Sprint("p", i))
	}
	f.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if isWatchList(r) {
			status(w, 422, "Invalid", "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled")
		}
		return isWatchList(r)
	})
	src := f.source(kube.Config{PageSize: 3})
	s, ended := stream(t, src, 0)
	s.until("end 107", ended)
	assert.Equal(t, 2, f.seen("continue="))
	assert.Equal(t, 1, f.seen("sendInitialEvents"))

	s, ended = stream(t, src, 0)
	s.until("end 107", ended)
	assert.Equal(t, 1, f.seen("sendInitialEvents"), "it is not retried")
}

func TestR3_AContinueTokenThatExpiresLeadsToOneListWithoutPages(t *testing.T) {
	f := newFake(t)
	for i := range 7 {
		f.put("a", fmt.Sprint("p", i))
	}
	f.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case isWatchList(r):
			status(w, 400, "BadRequest", "no")
		case r.URL.Query().Get("continue") == "107@a/p6":
			status(w, 410, "Expired", "The provided continue parameter is too old")
		default:
			return false
		}
		return true
	})
	s, ended := stream(t, f.source(kube.Config{PageSize: 3}), 0)
	s.until("end 107", ended)
	assert.Equal(t, 2, strings.Count(s.text(), "list\n"), "the first list was aborted")
	assert.Equal(t, 13, strings.Count(s.text(), "a/p"), "6 and then 7 objects")
}

func TestP10_EndMarkerNeverArrives(t *testing.T) {
	f := newFake(t)
	f.put("a", "x")
	f.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if !isWatchList(r) {
			return false
		}
		send(w, "ADDED", pod("a", "x", 101))
		flush(w)
		<-r.Context().Done()
		return true
	})
	s, ended := stream(t, f.source(kube.Config{Patience: 5 * time.Second}), 0)
	s.until("end 101", ended)
	assert.Contains(t, s.text(), "list\na/x@101\nlist\na/x@101\nend 101\n")
}

// If a server ends a watch before its initial events are complete, the source lists the
// resource in pages.
func TestEndedInitialEventsAreListedInPages(t *testing.T) {
	f := newFake(t)
	f.put("a", "x")
	f.put("a", "y")
	f.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if isWatchList(r) {
			send(w, "ADDED", pod("a", "x", 101))
		}
		return isWatchList(r)
	})
	s, ended := stream(t, f.source(kube.Config{}), 0)
	s.until("end 102", ended)
	assert.Contains(t, s.text(), "list\na/x@101\nlist\na/x@101\na/y@102\nend 102\n")
}

func TestP2_FramesAreSplitByValueWhereverTheBytesAreCut(t *testing.T) {
	f := newFake(t)
	f.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if !isWatch(r) {
			return false
		}
		all := `{"type":"ADDED","object":` + pod("a", "x", 201) + `}` + "\n\n" + `{"object":` + pod("a", "y", 202) +
			`,"type":"MODIFIED"} {"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"203"}}}`
		for i := range len(all) {
			fmt.Fprint(w, all[i:i+1])
			flush(w)
		}
		<-r.Context().Done()
		return true
	})
	s, ended := stream(t, f.source(kube.Config{}), 0)
	s.until("progress 203", ended)
	text := strings.ReplaceAll(s.text(), "progress 201\n", "") // depending on timing, the stream may report this progress
	assert.Contains(t, text, "put a/x@201\nput a/y@202\n")
}

func TestProgressNeedsAServerThatIsCurrent(t *testing.T) {
	f := newFake(t)
	s, ended := stream(t, f.source(kube.Config{}), 0)
	s.until("end 100\nprogress 100\n", ended)
	f.put("a", "x")
	s.until("put a/x@101", ended)
	f.EndWatches()
	s.until("progress 101", ended) // progress up to the server's version when the watch was requested

	f.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if isProbe(r) {
			status(w, 500, "InternalError", "etcdserver: no leader")
		}
		return isProbe(r)
	})
	change := func(name string) {
		rv := f.put("a", name)
		s.until(fmt.Sprintf("put a/%s@%d", name, rv), ended)
	}
	change("p") // this watch may have started before the probes failed, and may report progress
	f.EndWatches()
	change("q")
	f.EndWatches()
	change("r")
	before := strings.Count(s.text(), "progress")
	f.EndWatches()
	change("s")
	assert.Equal(t, before, strings.Count(s.text(), "progress"), "a server without its etcd confirms no progress")
}

// Under steady changes, a stream reports progress without a bookmark. The stream is
// current once it has received a version that is greater than the server's newest version
// when the watch was requested.
func TestProgressOfAServerThatCatchesUp(t *testing.T) {
	f := newFake(t)
	next := make(chan int)
	f.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case isProbe(r):
			fmt.Fprint(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"150"},"items":[]}`)
		case isWatch(r):
			flush(w)
			for {
				select {
				case rv := <-next:
					send(w, "MODIFIED", pod("a", "x", rv))
					flush(w)
				case <-r.Context().Done():
					return true
				}
			}
		default:
			return false
		}
		return true
	})
	s, ended := stream(t, f.source(kube.Config{}), 0)
	for _, rv := range []int{120, 150} {
		next <- rv
		s.until(fmt.Sprintf("put a/x@%d", rv), ended)
	}
	assert.NotContains(t, s.text(), "progress", "of 150 there may be more")
	for rv := 151; !strings.Contains(s.text(), "progress"); rv++ {
		next <- rv // the probe's response with 150 may still be in flight
		s.until(fmt.Sprintf("put a/x@%d", rv), ended)
	}
	lines := regexp.MustCompile(`put a/x@(\d+)\nprogress (\d+)\n`).FindStringSubmatch(s.text() + "\n")
	require.Len(t, lines, 3, s.text())
	assert.Equal(t, lines[1], lines[2])
}

// A newer version that another server behind the same address reports does not count as
// progress of the watched server. The watched server may have lost its storage but still
// end its watches cleanly.
func TestProgressComesFromWatchedServer(t *testing.T) {
	f := newFake(t)
	var watches atomic.Int32
	const rounds = 20
	probed, enough := make(chan struct{}, rounds), make(chan struct{})
	f.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case isProbe(r):
			fmt.Fprint(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"150"},"items":[]}`)
			flush(w)
			probed <- struct{}{}
		case isWatch(r):
			if watches.Add(1) == rounds {
				close(enough)
				<-r.Context().Done()
				return true
			}
			send(w, "MODIFIED", pod("a", "x", 100+int(watches.Load())))
			flush(w)
			select {
			case <-probed: // the watch ends cleanly after the probe
			case <-r.Context().Done():
			}
		default:
			return false
		}
		return true
	})
	s, ended := stream(t, f.source(kube.Config{}), 0)
	select {
	case <-enough:
	case err := <-ended:
		require.FailNow(t, "the stream ended", "%v", err)
	}
	assert.NotContains(t, s.text(), "progress")
}

func TestR9_WhatEndsAWatch(t *testing.T) {
	gone := api.Expired("")
	for name, c := range map[string]struct {
		frame string
		want  error
		text  string
	}{
		"410":                 {kubeserver.Status(410, "Expired", "too old resource version: 101 (150)"), gone, "too old resource version"},
		"410 called Gone":     {kubeserver.Status(410, "Gone", "too old"), gone, "too old"},
		"429":                 {kubeserver.Status(429, "TooManyRequests", "storage is (re)initializing"), api.TooManyRequests("", 0), "initializing"},
		"500":                 {kubeserver.Status(500, "InternalError", "etcd is away"), api.Internal(""), "etcd is away"},
		"unreadable storage":  {kubeserver.Status(500, "StorageReadError", "a DELETED event with corrupt data"), gone, "corrupt data"},
		"error without code":  {`{"kind":"Status"}`, nil, "not a Status"},
		"error that is bytes": {`"what"`, nil, "not a Status"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.put("a", "x")
			f.intercept(func(w http.ResponseWriter, r *http.Request) bool {
				if !isWatch(r) {
					return false
				}
				send(w, "MODIFIED", pod("a", "x", 102))
				send(w, "ERROR", c.frame)
				return true
			})
			s, ended := stream(t, f.source(kube.Config{}), 0)
			err := <-ended
			assert.ErrorContains(t, err, c.text)
			if c.want != nil {
				assert.ErrorIs(t, err, c.want)
			}
			assert.Contains(t, s.text(), "put a/x@102", "what came before the error counts")
		})
	}
}

func TestR9_RetryAfterIsPassedOn(t *testing.T) {
	f := newFake(t)
	f.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if isWatchList(r) {
			w.Header().Set("Retry-After", "17")
			status(w, 429, "TooManyRequests", "come back later")
		}
		return isWatchList(r)
	})
	_, ended := stream(t, f.source(kube.Config{}), 0)
	var got *api.Status
	require.ErrorAs(t, <-ended, &got)
	assert.Equal(t, 17, got.RetryAfterSeconds)
	assert.Contains(t, got.Message, "watch list of v1/pods: come back later")
}

func TestR8_AWatchThatEndsImmediatelyIsAFailure(t *testing.T) {
	f := newFake(t)
	f.intercept(func(w http.ResponseWriter, r *http.Request) bool { return isWatch(r) })
	_, ended := stream(t, f.source(kube.Config{}), 0)
	assert.ErrorContains(t, <-ended, "ended the watch immediately")
}

func TestAWatchThatIsCutInAnObjectIsResumed(t *testing.T) {
	f := newFake(t)
	var cuts atomic.Int32
	f.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if !isWatch(r) || cuts.Add(1) > 1 {
			return false
		}
		send(w, "MODIFIED", pod("a", "x", 101))
		fmt.Fprint(w, `{"type":"MODIFIED","object":{"metadata":{"na`)
		flush(w)
		panic(http.ErrAbortHandler)
	})
	src := f.source(kube.Config{})
	s, ended := stream(t, src, 0)
	err := <-ended
	assert.ErrorContains(t, err, "watch of v1/pods")
	assert.NotErrorIs(t, err, api.Expired(""))
	assert.Contains(t, s.text(), "put a/x@101")

	f.rewind(101)
	f.put("a", "y")
	s, ended = stream(t, src, 101)
	s.until("put a/y@102", ended)
	assert.NotContains(t, s.text(), "list\n")
}

// A stream never delivers an older state than an earlier stream did, even if a load
// balancer chooses a lagging server.
func TestNothingGoesBackInTime(t *testing.T) {
	f := newFake(t)
	f.put("a", "x")
	f.put("a", "x")
	src := f.source(kube.Config{})
	s, ended := stream(t, src, 0)
	s.until("progress 102", ended)

	f.rewind(90)
	_, ended = stream(t, src, 102)
	assert.ErrorContains(t, <-ended, "Too large resource version: 102, current: 90")
	s, ended = stream(t, src, 0)
	assert.ErrorContains(t, <-ended, "the state at 90, older than 102")
	assert.NotContains(t, s.text(), "end")

	f.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if !isWatch(r) {
			return false
		}
		send(w, "MODIFIED", pod("a", "x", 101)) // older than the version from which the stream resumes
		send(w, "MODIFIED", pod("a", "x", 103))
		flush(w)
		<-r.Context().Done()
		return true
	})
	f.rewind(102)
	s, ended = stream(t, src, 102)
	s.until("put a/x@103", ended)
	assert.NotContains(t, s.text(), "@101")
}

// A relist reads the newest state, not an older state from the watch cache of a lagging
// server. The end of a list counts as progress.
func TestC36_LaggingServerIsNotListed(t *testing.T) {
	for name, paged := range map[string]bool{"watch list": false, "pages": true} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.put("a", "x")
			src := f.source(kube.Config{PagedLists: paged})
			s, ended := stream(t, src, 0)
			s.until("progress 101", ended)
			f.intercept(func(w http.ResponseWriter, r *http.Request) bool {
				if isWatch(r) || isProbe(r) || r.URL.Path != "/api/v1/pods" {
					return false
				}
				if !r.URL.Query().Has("resourceVersion") { // a consistent read requires version 110, which the server never reaches
					status(w, 504, "Timeout", "Too large resource version: 110, current: 101")
					return true
				}
				return false
			})
			s, ended = stream(t, src, 0)
			require.ErrorContains(t, <-ended, "Too large resource version: 110, current: 101")
			assert.NotContains(t, s.text(), "end")
		})
	}
}

func TestG6_SeveralChangesOfOneVersion(t *testing.T) {
	f := newFake(t)
	f.put("a", "x")
	f.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if !isWatch(r) {
			return false
		}
		send(w, "MODIFIED", pod("a", "x", 101)) // the stream resumes after this version
		for _, name := range []string{"x", "y", "z"} {
			send(w, "MODIFIED", pod("a", name, 102))
		}
		flush(w)
		<-r.Context().Done()
		return true
	})
	s, ended := stream(t, f.source(kube.Config{}), 101)
	s.until("put a/z@102", ended)
	text := strings.ReplaceAll(s.text(), "progress 102\n", "")
	assert.Contains(t, text, "put a/x@102\nput a/y@102\nput a/z@102")
	assert.NotContains(t, s.text(), "@101")
}

func TestCredentialsAndRightsAreNamed(t *testing.T) {
	for code, want := range map[int]string{401: "missing, wrong or expired", 403: `User "eve" cannot list`} {
		f := newFake(t)
		f.intercept(func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/api/v1/pods" {
				return false
			}
			status(w, code, map[int]string{401: "Unauthorized", 403: "Forbidden"}[code], `User "eve" cannot list`)
			return true
		})
		_, ended := stream(t, f.source(kube.Config{}), 0)
		var got *api.Status
		require.ErrorAs(t, <-ended, &got)
		assert.Equal(t, code, got.Code)
		assert.Contains(t, got.Message, want)
	}
}

func TestAnAggregatedAPIThatSendsBrokenJSON(t *testing.T) {
	for name, answer := range map[string]string{
		"in the list":  `{"metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"x","namespace":"a","resourceVersion":"3"}},{oops]}`,
		"no object":    `{"metadata":{"resourceVersion":"5"},"items":[42]}`,
		"no name":      `{"metadata":{"resourceVersion":"5"},"items":[{"metadata":{}}]}`,
		"other kind":   `{"metadata":{"resourceVersion":"5"},"items":[{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"name":"x","namespace":"a","resourceVersion":"3"}}]}`,
		"no version":   `{"metadata":{},"items":[]}`,
		"a hash":       `{"metadata":{"resourceVersion":"deadbeef"},"items":[]}`,
		"cut":          `{"metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"x","name`,
		"not a list":   `[]`,
		"no items":     `{"metadata":{"resourceVersion":"5"},"items":{}}`,
		"html":         `<html>502 Bad Gateway</html>`,
		"nothing":      ``,
		"other number": `{"metadata":{"resourceVersion":5},"items":[]}`,
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.intercept(func(w http.ResponseWriter, r *http.Request) bool {
				switch {
				case isWatchList(r):
					status(w, 400, "BadRequest", "no")
				case r.URL.Path == "/api/v1/pods":
					fmt.Fprint(w, answer)
				default:
					return false
				}
				return true
			})
			s, ended := stream(t, f.source(kube.Config{}), 0)
			err := <-ended
			assert.ErrorContains(t, err, "list of v1/pods")
			assert.NotErrorIs(t, err, api.Expired(""))
			assert.NotContains(t, s.text(), "end ")
		})
	}
}

const crontab = `{"metadata":{"generation":%d},"spec":{"versions":[{"name":"v1beta1"},{"name":"v1",
	"selectableFields":[{"jsonPath":".spec.color"}],
	"additionalPrinterColumns":[%s]}]}}`

func TestACustomResourceLooksLikeItsDefinition(t *testing.T) {
	f := newFake(t)
	f.crd = fmt.Sprintf(crontab, 1, `{"name":"Spec","type":"string","jsonPath":".spec.cronSpec"},
		{"name":"Replicas","type":"integer","jsonPath":".spec.replicas","priority":1},
		{"name":"Odd","type":"string","jsonPath":".spec.list[?(@.a==1)].b"}`)
	src := f.source(kube.Config{})
	schema, err := src.Schema(t.Context(), cronTabs)
	require.NoError(t, err)
	assert.Equal(t, "CronTab", schema.Kind)
	assert.Equal(t, []string{"metadata.name", "metadata.namespace", "spec.color"}, schema.Fields)
	assert.Equal(t, []api.Column{
		{Name: "Spec", Kind: api.String, Path: ".spec.cronSpec"},
		{Name: "Replicas", Kind: api.Integer, Path: ".spec.replicas", Priority: 1},
	}, schema.Columns, "the column that cannot be followed is left out")

	f.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if isWatch(r) {
			send(w, "BOOKMARK", `{"metadata":{"resourceVersion":"100"}}`) // the stream would retry a watch without events
		}
		return false
	})
	s := newSink(t)
	ended := start(t, src, cronTabs, 0, s)
	s.until("progress 100", ended)
	f.mu.Lock()
	f.crd = fmt.Sprintf(crontab, 2, "")
	f.mu.Unlock()
	f.EndWatches()
	var changed *source.SchemaChangedError
	require.ErrorAs(t, <-ended, &changed)
	assert.Equal(t, cronTabs, changed.Resource)
	schema, err = src.Schema(t.Context(), cronTabs)
	require.NoError(t, err)
	assert.Len(t, schema.Columns, 1)
}

func TestResolveAcceptsTheNamesThatKubectlAccepts(t *testing.T) {
	src := newFake(t).source(kube.Config{})
	for text, want := range map[string]api.Resource{
		"po": pods, "pod": pods, "pods": pods, "PODS": pods, "v1/pods": pods, "pods.v1": pods,
		"ct": cronTabs, "crontabs.example.com": cronTabs, "crontab.v1.example.com": cronTabs,
	} {
		got, err := src.Resolve(t.Context(), text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	_, err := src.Resolve(t.Context(), "unicorns")
	assert.ErrorIs(t, err, api.NotFound(""))
	assert.ErrorContains(t, err, `"unicorns"`)
	_, err = src.Schema(t.Context(), api.Resource{Version: "v1", Name: "bindings"})
	assert.ErrorContains(t, err, "v1/bindings is not served")
	assert.NotContains(t, err.Error(), "v1/pods")
	_, err = src.Schema(t.Context(), api.Resource{Version: "v1", Name: "pod"})
	assert.ErrorContains(t, err, "did you mean v1/pods?")
}

func TestUnreachableServer(t *testing.T) {
	f := newFake(t)
	src := f.source(kube.Config{})
	f.intercept(func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) })
	err := src.Stream(t.Context(), pods, 0, newSink(t))
	assert.ErrorContains(t, err, strings.TrimPrefix(f.url, "http://"))
	assert.Error(t, src.Ready(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, src.Stream(ctx, pods, 0, newSink(t)), context.Canceled)
}

func TestErrorOfASinkIsReturnedUnchanged(t *testing.T) {
	f := newFake(t)
	f.put("a", "x")
	full := errors.New("full")
	assert.Same(t, full, f.source(kube.Config{}).Stream(t.Context(), pods, 0, refusing{newSink(t), full}))
}

type refusing struct {
	*sink
	err error
}

func (r refusing) Object(api.Key, api.ResourceVersion, []byte) error { return r.err }

func TestConfigIsChecked(t *testing.T) {
	_, err := kube.New(kube.Config{})
	assert.ErrorContains(t, err, "REST is missing")
	_, err = kube.Load(kube.Access{Kubeconfig: "/does/not/exist"})
	assert.ErrorContains(t, err, "/does/not/exist")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	nowhere := filepath.Join(t.TempDir(), "config")
	t.Setenv("KUBECONFIG", nowhere)
	_, err = kube.Load(kube.Access{Context: "shop"})
	assert.ErrorContains(t, err, "no kubeconfig exists at "+nowhere)

	_, err = kube.Load(kube.Access{InCluster: true})
	assert.ErrorContains(t, err, "not running in a pod")
}

// A request for a missing resource fails. If the resource is created just after that, the
// next request finds it.
func TestAResourceIsFoundRightAfterItWasCreated(t *testing.T) {
	f := newFake(t)
	f.crd = "{}"
	var created atomic.Bool
	f.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/apis" || created.Load() {
			return false
		}
		fmt.Fprint(w, `{"kind":"APIGroupList","groups":[]}`)
		return true
	})
	src := f.source(kube.Config{})
	_, err := src.Schema(t.Context(), cronTabs)
	require.ErrorIs(t, err, api.NotFound(""))
	created.Store(true)
	schema, err := src.Schema(t.Context(), cronTabs)
	require.NoError(t, err)
	assert.Equal(t, cronTabs, schema.Resource)
}

// Clients that request unknown resources neither flood the server nor wait.
func TestDiscoveriesBecauseOfMissingResourcesAreLimited(t *testing.T) {
	f := newFake(t)
	src := f.source(kube.Config{})
	began := time.Now()
	for i := range 5000 {
		_, err := src.Schema(t.Context(), api.Resource{Group: "example.com", Version: "v1", Name: fmt.Sprint("none", i)})
		require.ErrorIs(t, err, api.NotFound(""))
	}
	assert.LessOrEqual(t, f.seen("/apis/example.com/v1"), 11+int(time.Since(began)/time.Second))
}
