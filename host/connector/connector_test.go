package connector_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/connector/connectortest"
	"github.com/watchglass/watchglass/host/limit"
	"github.com/watchglass/watchglass/host/source"
	"github.com/watchglass/watchglass/host/source/memory"
)

var pods = api.Resource{Version: "v1", Name: "pods"}

// world is a connector with a memory source. All of its goroutines run in a synctest
// bubble: time is virtual, and a leaked goroutine fails the test.
type world struct {
	t         *testing.T
	source    *memory.Source
	connector *connector.Connector
	serving   sync.WaitGroup
	tries     bool // its connections support nonblocking writes
}

// runBoth runs f twice: first with connections that support only blocking writes, and then
// with connections that also support nonblocking writes.
func runBoth(t *testing.T, config connector.Config, f func(t *testing.T, w *world)) {
	t.Run("waits", func(t *testing.T) { runWith(t, config, false, f) })
	t.Run("tries", func(t *testing.T) { runWith(t, config, true, f) })
}

func run(t *testing.T, config connector.Config, f func(t *testing.T, w *world)) {
	runWith(t, config, false, f)
}

func runWith(t *testing.T, config connector.Config, tries bool, f func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, source: memory.New(), tries: tries}
		if config.Source == nil {
			config.Source = w.source
		}
		if config.Logger == nil {
			config.Logger = slog.New(slog.DiscardHandler)
		}
		w.connector = connector.New(config)
		defer w.serving.Wait()
		defer func() { assert.NoError(t, w.connector.Close(t.Context())) }()
		f(t, w)
	})
}

// connect opens a connection without sending a Hello. It returns the reader, the
// connector's end, and a function that waits for the result of Serve.
func (w *world) connect() (*connectortest.Reader, *connectortest.End, func() error) {
	served, end := connectortest.Pipe()
	result := make(chan error, 1)
	w.serving.Go(func() { result <- w.connector.Serve(w.t.Context(), messages(served, w.tries)) })
	return connectortest.NewReader(end), served, func() error { return <-result }
}

func messages(end *connectortest.End, tries bool) connector.MessageConn {
	if tries {
		return &connectortest.NonblockingEnd{End: end}
	}
	return end
}

func (w *world) reader() *connectortest.Reader {
	r, _, _ := w.connect()
	require.NoError(w.t, r.Hello(w.t.Context(), ""))
	require.Nil(w.t, r.Status)
	return r
}

func (w *world) subscribe(r *connectortest.Reader, f wire.Subscribe) *connectortest.Subscription {
	if f.Subscription == 0 {
		f.Subscription = 1
	}
	if f.Resource == "" {
		f.Resource = "v1/pods"
	}
	if f.Credit == 0 {
		f.Credit = connectortest.Endless
	}
	s, err := r.Subscribe(w.t.Context(), f)
	require.NoError(w.t, err)
	return s
}

// synced returns a reader that has all pods.
func (w *world) synced() (*connectortest.Reader, *connectortest.Subscription) {
	r := w.reader()
	s := w.subscribe(r, wire.Subscribe{})
	require.NoError(w.t, r.UntilSynced(w.t.Context(), s))
	require.Nil(w.t, s.Status)
	return r, s
}

func (w *world) until(r *connectortest.Reader, done func() bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Hour) // virtual time
	defer cancel()
	require.NoError(w.t, r.Until(ctx, done))
}

func (w *world) put(name string) api.ResourceVersion {
	return w.source.Put(pods, key(name), pod(name, "Running"))
}

func (w *world) fill(n int) {
	for i := range n {
		w.put(fmt.Sprintf("pod-%05d", i))
	}
}

func key(name string) api.Key { return api.NewKey("default", name) }

func pod(name, phase string) []byte { return podIn(key(name), phase) }

func podIn(k api.Key, phase string) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"namespace":%q,`+
		`"uid":"uid-%s","labels":{"app":"web","tier":"front"},"managedFields":[{"manager":"kubelet"}]},`+
		`"spec":{"nodeName":"node-1","containers":[{"name":"main","image":"registry.example/web:1.2.3"}]},`+
		`"status":{"phase":%q}}`, k.Name(), k.Namespace(), k.Name(), phase)
}

func TestReaderGetsSnapshotThenChanges(t *testing.T) {
	runBoth(t, connector.Config{}, func(t *testing.T, w *world) {
		w.fill(200)
		r, s := w.synced()
		assert.Len(t, s.Objects, 200)
		assert.Equal(t, w.source.Revision(), s.ResourceVersion)

		last := w.source.Put(pods, key("pod-00003"), pod("pod-00003", "Failed"))
		w.until(r, func() bool { return s.ResourceVersion == last })
		o := s.Objects[key("pod-00003")]
		assert.Contains(t, o.JSON, `"phase":"Failed"`)
		assert.NotContains(t, o.JSON, "managedFields")
		assert.Equal(t, "app=web,tier=front", o.Labels.String())

		last = w.source.Delete(pods, key("pod-00003"))
		w.until(r, func() bool { return s.ResourceVersion == last })
		assert.NotContains(t, s.Objects, key("pod-00003"))
	})
}

func TestOneUpstreamWatchForManyReaders(t *testing.T) {
	runBoth(t, connector.Config{}, func(t *testing.T, w *world) {
		w.fill(10)
		for range 20 {
			w.synced()
		}
		stats := w.connector.Stats()
		assert.Equal(t, 20, stats.Readers)
		assert.EqualValues(t, 1, stats.Counted[pods].Streams)
		require.Len(t, stats.Resources, 1)
		assert.NotZero(t, stats.Resources[0].Bytes)
		stats.Resources[0].Bytes = 0
		assert.Equal(t, connector.ResourceStats{
			Resource: pods, Readers: 20, Subscriptions: 20, Ready: true, Objects: 10, ResourceVersion: w.source.Revision(),
		}, stats.Resources[0])
	})
}

func TestUpstreamWatchLingersAndThenStops(t *testing.T) {
	run(t, connector.Config{Limits: limit.NewSet().With(limit.Linger, int64(time.Minute))}, func(t *testing.T, w *world) {
		w.fill(1)
		r, _ := w.synced()
		require.NoError(t, r.Conn.Close(nil))
		synctest.Wait()
		assert.Len(t, w.connector.Stats().Resources, 1)

		time.Sleep(59 * time.Second)
		r, _ = w.synced()
		time.Sleep(10 * time.Minute)
		assert.EqualValues(t, 1, w.connector.Stats().Counted[pods].Streams, "the linger ended with the new reader")

		require.NoError(t, r.Conn.Close(nil))
		time.Sleep(61 * time.Second)
		assert.Empty(t, w.connector.Stats().Resources)
		w.synced()
		assert.EqualValues(t, 2, w.connector.Stats().Counted[pods].Streams)
	})
}

func TestUnsubscribedResourceStopsWhileTheReaderStays(t *testing.T) {
	runBoth(t, connector.Config{}, func(t *testing.T, w *world) {
		w.fill(1)
		r, _ := w.synced()
		require.NoError(t, r.Send(t.Context(), &wire.Unsubscribe{Subscription: 1}))
		time.Sleep(time.Duration(limit.Linger.Default) + time.Second)
		assert.Empty(t, w.connector.Stats().Resources)
		assert.Equal(t, 1, w.connector.Stats().Readers)
	})
}

func TestFaultAffectsOnlyItsObject(t *testing.T) {
	limits := limit.NewSet().With(limit.MaxObjectBytes, 4096)
	run(t, connector.Config{Limits: limits}, func(t *testing.T, w *world) {
		w.fill(20)
		w.source.Put(pods, key("broken"), []byte(`{"metadata":{"name":"broken",}`))
		w.source.Put(pods, key("large"), []byte(`{"metadata":{"name":"large","uid":"`+strings.Repeat("x", 5000)+`"}}`))
		w.source.Put(pods, key("misplaced"), pod("pod-00001", "Running"))
		w.source.Put(pods, key("protobuf"), []byte("k8s\x00\x0a\x0bgarbage"))
		r, s := w.synced()
		assert.Len(t, s.Objects, 20)
		w.until(r, func() bool { return len(s.Faults) == 4 })

		for name, words := range map[string][]string{
			"broken":    {"v1/pods", `"default/broken"`, "offset 29", "write the object again"},
			"large":     {`"default/large"`, "bytes, the limit is 4096", "make the object smaller or raise the limit (limit: max-object-bytes)"},
			"misplaced": {`"default/misplaced"`, `its metadata has the key "default/pod-00001"`},
			"protobuf":  {`"default/protobuf"`, "--storage-media-type=application/json"},
		} {
			for _, word := range words {
				assert.Contains(t, s.Faults[key(name)].Message, word)
			}
		}
		assert.EqualValues(t, 1, limits.Refusals(limit.MaxObjectBytes))

		good := s.Objects[key("pod-00007")]
		w.source.Put(pods, key("pod-00007"), []byte("not json"))
		last := w.put("pod-00008")
		w.until(r, func() bool { return s.ResourceVersion == last })
		assert.Contains(t, s.Faults, key("pod-00007"))
		assert.Equal(t, good, s.Objects[key("pod-00007")], "the last good version remains")

		last = w.put("pod-00007")
		w.until(r, func() bool { return s.ResourceVersion == last })
		assert.Equal(t, last, s.Objects[key("pod-00007")].ResourceVersion)
		assert.EqualValues(t, 5, w.connector.Stats().Counted[pods].Faults)
		assert.EqualValues(t, 1, w.connector.Stats().Counted[pods].Streams, "the stream was never closed")
	})
}

func TestRevisionArrivesInOneFrame(t *testing.T) {
	runBoth(t, connector.Config{MessageBytes: 64}, func(t *testing.T, w *world) {
		w.fill(10)
		r, s := w.synced()
		writes := make([]source.Write, 50)
		for i := range writes {
			name := fmt.Sprintf("pod-%05d", i)
			writes[i] = source.Write{Resource: pods, Key: key(name), Value: pod(name, "Pending")}
		}
		writes[7].Value = []byte("garbage")
		writes[8].Value = nil
		last, err := w.source.Txn(t.Context(), writes...)
		require.NoError(t, err)
		w.until(r, func() bool { return s.ResourceVersion == last })
		assert.Equal(t, 49, s.Events)
		assert.Equal(t, 1, s.Frames)
		assert.Len(t, s.Objects, 49)
		assert.NotContains(t, s.Objects, key("pod-00008"))
		for i := range 50 {
			if i != 7 && i != 8 {
				name := fmt.Sprintf("pod-%05d", i)
				assert.Contains(t, s.Objects[key(name)].JSON, `"phase":"Pending"`)
				assert.Contains(t, s.Objects[key(name)].JSON, name)
			}
		}
	})
}

func TestSourceThatFailsForAWhileIsResumed(t *testing.T) {
	flaky := &flakySource{Source: memory.New()}
	run(t, connector.Config{Source: flaky}, func(t *testing.T, w *world) {
		w.source = flaky.Source
		w.fill(5)
		r, s := w.synced()

		flaky.down.Store(true)
		w.source.Fail(errors.New("connection reset"))
		last, since := w.put("during"), time.Now()
		w.until(r, func() bool { return time.Since(since) > 5*time.Minute })
		stats := w.connector.Stats()
		assert.Greater(t, stats.Resources[0].Failures, 5)
		assert.Less(t, stats.Resources[0].Failures, 30, "the pauses grow")
		assert.ErrorContains(t, stats.Resources[0].Err, "down")
		assert.Len(t, s.Objects, 5)
		require.NotNil(t, s.SourceError)
		assert.Equal(t, 503, s.SourceError.Code)
		assert.Equal(t, "the source of v1/pods has failed: the source is down", s.SourceError.Message)

		flaky.down.Store(false)
		w.until(r, func() bool { return s.ResourceVersion == last })
		assert.Zero(t, w.connector.Stats().Resources[0].Failures)
		assert.EqualValues(t, 1, w.connector.Stats().Counted[pods].Lists, "the source is resumed, not relisted")
		assert.Equal(t, 1, s.Snapshots)
	})
}

func TestSourceThatIsInitiallyDown(t *testing.T) {
	flaky := &flakySource{Source: memory.New()}
	flaky.down.Store(true)
	run(t, connector.Config{Source: flaky}, func(t *testing.T, w *world) {
		w.source = flaky.Source
		w.fill(5)
		r := w.reader()
		s := w.subscribe(r, wire.Subscribe{})
		since := time.Now()
		w.until(r, func() bool { return time.Since(since) > time.Minute })
		require.NotNil(t, s.SourceError)
		assert.Contains(t, s.SourceError.Message, "the source is down")
		assert.False(t, w.connector.Stats().Resources[0].Ready)
		flaky.down.Store(false)
		require.NoError(t, r.UntilSynced(t.Context(), s))
		assert.Len(t, s.Objects, 5)
	})
}

// The connector logs the beginning and the end of an outage. An outage ends when a list is
// complete, or when a change or progress arrives. An incomplete list does not end the
// outage.
func TestEndOfOutageIsLogged(t *testing.T) {
	flaky := &flakySource{Source: memory.New()}
	flaky.down.Store(true)
	var log strings.Builder // only the upstream watch writes to it
	plain := slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
	run(t, connector.Config{Source: flaky, Logger: slog.New(plain)}, func(t *testing.T, w *world) {
		w.source = flaky.Source
		w.fill(5)
		r := w.reader()
		s := w.subscribe(r, wire.Subscribe{})
		began := time.Now()
		for i, way := range []string{"by a list", "by a change", "by another list"} {
			w.until(r, func() bool { return time.Since(began) > time.Minute })
			synctest.Wait()
			assert.Contains(t, log.String(), "level=WARN", way)
			assert.NotContains(t, log.String(), "level=INFO", "%s: it is not over yet", way)
			assert.Positive(t, w.connector.Stats().Resources[0].Failures, way)
			flaky.down.Store(false)
			last := w.put("during")
			w.until(r, func() bool { return s.ResourceVersion == last || s.Status != nil })
			outage := time.Since(began)
			synctest.Wait()
			over := regexp.MustCompile(`level=INFO .*`).FindAllString(log.String(), -1)
			require.Len(t, over, 1, way)
			message, after, _ := strings.Cut(over[0], " after=")
			assert.Equal(t, `level=INFO msg="upstream watch has recovered" resource=v1/pods`, message, way)
			logged, err := time.ParseDuration(after)
			require.NoError(t, err, way)
			assert.InDelta(t, outage.Seconds(), logged.Seconds(), 1, way)
			log.Reset()
			flaky.announces.Store(i == 1)
			flaky.down.Store(true)
			w.source.Fail(errors.New("connection reset"))
			began = time.Now()
		}
	})
}

// flakySource refuses streams while it is down.
type flakySource struct {
	*memory.Source
	down      atomic.Bool
	announces atomic.Bool // begins a list before each stream fails
}

func (f *flakySource) Stream(ctx context.Context, resource api.Resource, from api.ResourceVersion, sink source.Sink) error {
	if f.down.Load() {
		switch {
		case !f.announces.Load():
		case from != 0:
			return api.Expired("the version is gone")
		default:
			if err := sink.BeginList(); err != nil {
				return err
			}
		}
		return errors.New("the source is down")
	}
	return f.Source.Stream(ctx, resource, from, sink)
}

func TestRelistAfterCompactionSendsDifferences(t *testing.T) {
	flaky := &flakySource{Source: memory.New()}
	run(t, connector.Config{Source: flaky}, func(t *testing.T, w *world) {
		w.source = flaky.Source
		w.fill(50)
		r, s := w.synced()
		flaky.down.Store(true)
		w.source.Fail(errors.New("connection reset"))
		w.source.Delete(pods, key("pod-00001"))
		changed := w.put("pod-00002")
		w.put("pod-new")
		require.NoError(t, w.source.Compact(w.source.Revision()))
		flaky.down.Store(false)

		w.until(r, func() bool { return s.Status != nil })
		assert.Equal(t, 410, s.Status.Code)
		require.NoError(t, r.Resume(t.Context(), s, wire.Subscribe{
			Subscription: 2, Resource: "v1/pods", Credit: connectortest.Endless,
		}))
		w.until(r, func() bool { return s.Status != nil })
		assert.Equal(t, 410, s.Status.Code, "the old version is gone for new subscriptions too")
		s = w.subscribe(r, wire.Subscribe{Subscription: 3})
		require.NoError(t, r.UntilSynced(t.Context(), s))
		assert.Len(t, s.Objects, 50)
		assert.NotContains(t, s.Objects, key("pod-00001"))
		assert.Equal(t, changed, s.Objects[key("pod-00002")].ResourceVersion)

		totals := w.connector.Stats().Counted[pods]
		assert.EqualValues(t, 2, totals.Lists)
		assert.EqualValues(t, 1, totals.Expired)
	})
}

func TestReadersResumeAtAnotherConnector(t *testing.T) {
	run(t, connector.Config{}, func(t *testing.T, w *world) {
		w.fill(50)
		r, s := w.synced()
		require.NoError(t, r.Conn.Close(nil))
		require.NoError(t, w.connector.Close(t.Context()))

		w.connector = connector.New(connector.Config{Source: w.source, Logger: slog.New(slog.DiscardHandler)})
		r = w.reader()
		require.NoError(t, r.Resume(t.Context(), s, wire.Subscribe{
			Subscription: 1, Resource: "v1/pods", Credit: connectortest.Endless,
		}))
		synctest.Wait() // until the source has listed
		last := w.put("pod-00000")
		w.until(r, func() bool { return s.Status != nil || s.ResourceVersion == last })
		assert.Nil(t, s.Status)
		assert.Equal(t, 1, s.Snapshots)
		assert.Equal(t, 1, s.Events)
	})
}

func TestUnknownResourceIsReported(t *testing.T) {
	run(t, connector.Config{}, func(t *testing.T, w *world) {
		w.fill(3)
		r := w.reader()
		unknown := w.subscribe(r, wire.Subscribe{Subscription: 1, Resource: "v1/podz"})
		malformed := w.subscribe(r, wire.Subscribe{Subscription: 2, Resource: "pods"})
		good := w.subscribe(r, wire.Subscribe{Subscription: 3})
		require.NoError(t, r.UntilSynced(t.Context(), good))
		require.NotNil(t, unknown.Status)
		assert.Equal(t, 404, unknown.Status.Code)
		assert.Equal(t, "resource v1/podz is not served here; did you mean v1/pods?", unknown.Status.Message)
		require.NotNil(t, malformed.Status)
		assert.Equal(t, 400, malformed.Status.Code)
		assert.Len(t, good.Objects, 3)
	})
}

func TestHistoryLimitsApply(t *testing.T) {
	runBoth(t, connector.Config{History: history.Limits{MinCapacity: 4, MaxCapacity: 4}}, func(t *testing.T, w *world) {
		w.fill(1)
		_, s := w.synced()
		w.fill(100)
		synctest.Wait() // until the window has evicted the version
		r := w.reader()
		again := w.subscribe(r, wire.Subscribe{ResourceVersion: s.ResourceVersion, ClusterID: s.ClusterID})
		w.until(r, func() bool { return again.Status != nil })
		assert.Equal(t, 410, again.Status.Code)
	})
}

func TestHoldWaitsForTheList(t *testing.T) {
	flaky := &flakySource{Source: memory.New()}
	flaky.down.Store(true)
	run(t, connector.Config{Source: flaky}, func(t *testing.T, w *world) {
		w.source = flaky.Source
		w.fill(5)
		time.AfterFunc(time.Minute, func() { flaky.down.Store(false) })
		release, err := w.connector.Hold(t.Context(), pods)
		require.NoError(t, err)
		time.Sleep(time.Hour)
		assert.Equal(t, 5, w.connector.Stats().Resources[0].Objects)
		release()
		time.Sleep(time.Hour)
		assert.Empty(t, w.connector.Stats().Resources)

		_, err = w.connector.Hold(t.Context(), api.Resource{Version: "v1", Name: "widgets"})
		assert.ErrorIs(t, err, api.NotFound(""))
		flaky.down.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = w.connector.Hold(ctx, pods)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

// changing is a source whose schema of pods can change.
type changing struct {
	*memory.Source
	mu     sync.Mutex
	schema *api.Schema
	change chan struct{}
}

func (c *changing) Schema(ctx context.Context, resource api.Resource) (*api.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.schema != nil {
		return c.schema, nil
	}
	return c.Source.Schema(ctx, resource)
}

func (c *changing) Stream(ctx context.Context, resource api.Resource, from api.ResourceVersion, sink source.Sink) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- c.Source.Stream(ctx, resource, from, sink) }()
	select {
	case err := <-ended:
		return err
	case <-c.change:
		cancel()
		<-ended
		return &source.SchemaChangedError{Resource: resource}
	}
}

func TestReadersReceiveANewSchema(t *testing.T) {
	src := &changing{Source: memory.New(), change: make(chan struct{})}
	run(t, connector.Config{Source: src}, func(t *testing.T, w *world) {
		w.source = src.Source
		w.fill(3)
		r, s := w.synced()
		two := w.subscribe(r, wire.Subscribe{Subscription: 2, Namespace: "default"})
		require.NoError(t, r.UntilSynced(t.Context(), two))

		changed := *s.Schema
		changed.Columns = []api.Column{{Name: "Image", Kind: api.String, Path: ".spec.containers[0].image"}}
		src.mu.Lock()
		src.schema = &changed
		src.mu.Unlock()
		src.change <- struct{}{}

		w.until(r, func() bool { return s.Status != nil && two.Status != nil })
		assert.ErrorIs(t, s.Status, api.Expired(""))
		again := w.subscribe(r, wire.Subscribe{Subscription: 3})
		require.NoError(t, r.UntilSynced(t.Context(), again))
		assert.Equal(t, "Image", again.Schema.Columns[0].Name)
		assert.Len(t, again.Objects, 3)
		last := w.put("pod-00001")
		w.until(r, func() bool { return again.ResourceVersion == last })
	})
}

func TestR9_RetryAfterOfTheSourceIsObserved(t *testing.T) {
	run(t, connector.Config{}, func(t *testing.T, w *world) {
		w.fill(1)
		r, s := w.synced()
		begun := time.Now()
		w.source.Fail(api.TooManyRequests("the server is busy", 300))
		last := w.put("late")
		w.until(r, func() bool { return s.ResourceVersion == last })
		assert.GreaterOrEqual(t, time.Since(begun), 300*time.Second)
	})
}

// The closing status tells readers to reconnect after different delays.
func TestClosingStatusSpreadsReconnects(t *testing.T) {
	const readers = 400
	run(t, connector.Config{}, func(t *testing.T, w *world) {
		var all []*connectortest.Reader
		for range readers {
			all = append(all, w.reader())
		}
		closed := make(chan error, 1)
		go func() { closed <- w.connector.Close(t.Context()) }()
		seconds := map[int]int{}
		for _, r := range all {
			require.Error(t, r.UntilEnd(t.Context()))
			require.NotNil(t, r.Status)
			assert.Equal(t, 503, r.Status.Code)
			seconds[r.Status.RetryAfterSeconds]++
		}
		require.NoError(t, <-closed)
		for at := 1; at <= 5; at++ {
			assert.Positive(t, seconds[at], "%v", seconds)
		}
		assert.Len(t, seconds, 5, "%v", seconds)
	})
}
