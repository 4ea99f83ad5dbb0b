package connector_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/connector/connectortest"
	"github.com/watchglass/watchglass/host/limit"
)

// unknown returns n subscriptions to unknown resources. The argument from is the first
// subscription number.
func unknown(from, n int) []connectortest.Frame {
	frames := make([]connectortest.Frame, n)
	for i := range frames {
		frames[i] = &wire.Subscribe{Subscription: uint32(from + i), Resource: fmt.Sprintf("example.com/v1/r%d", from+i)}
	}
	return frames
}

// terms formats the numbers 0 to n-1 with a pattern, and joins the results with commas.
func terms(n int, pattern string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(pattern, i)
	}
	return strings.Join(all, ",")
}

// assertEndedBy asserts that the connection has ended with the status of a limit,
// and that the limit was counted.
func (w *world) assertEndedBy(l *limit.Limit, status *api.Status, result func() error) {
	w.t.Helper()
	require.NotNil(w.t, status)
	assert.Equal(w.t, l.Name, status.Cause)
	assert.Equal(w.t, l.Code, status.Code)
	assert.Contains(w.t, status.Message, l.Name)
	assert.ErrorIs(w.t, result(), status)
	assert.EqualValues(w.t, 1, w.connector.Limits().Refusals(l))
}

func (w *world) untilEnd(r *connectortest.Reader) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Hour) // virtual time
	defer cancel()
	require.ErrorIs(w.t, r.UntilEnd(ctx), io.EOF)
}

// The connector disconnects a reader that sends requests without reading responses, once
// the queued responses reach a limit. The reader then receives the reason.
func TestUnreadResponsesAreBounded(t *testing.T) {
	run(t, connector.Config{}, func(t *testing.T, w *world) {
		r, _, result := w.connect()
		require.NoError(t, r.Hello(t.Context(), ""))
		taken := 0
		for ; ; taken++ {
			require.Less(t, taken, 20, "20,000 responses are queued")
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			err := r.Send(ctx, unknown(1+1000*taken, 1000)...)
			cancel()
			if errors.Is(err, context.DeadlineExceeded) {
				break // the connector no longer reads from it
			}
			require.NoError(t, err)
		}
		w.untilEnd(r)
		w.assertEndedBy(limit.MaxControlBytes, r.Status, result)
		assert.Less(t, r.Bytes, 2*int(limit.MaxControlBytes.Default))
	})
}

// A reader that reads responses receives them at the rate at which it may send requests.
func TestReadResponsesAreShortAndRateLimited(t *testing.T) {
	runBoth(t, connector.Config{}, func(t *testing.T, w *world) {
		r := w.reader()
		reading := make(chan error, 1)
		go func() { reading <- r.UntilEnd(t.Context()) }()
		begun, up := time.Now(), 0
		for i := range 8 {
			var message []byte
			for _, f := range unknown(1+1000*i, 1000) {
				message = f.Append(message)
			}
			up += len(message)
			require.NoError(t, r.Conn.Write(t.Context(), message))
		}
		assert.Greater(t, time.Since(begun), 5*time.Second, "a thousand subscriptions a second, after a burst of as many")
		synctest.Wait()
		require.NoError(t, r.Conn.Close(nil))
		require.ErrorIs(t, <-reading, io.EOF)
		assert.Nil(t, r.Status)
		assert.Less(t, r.Bytes, 8*up, "a response is not much longer than its request")
	})
}

// Each requested body counts as one message, because it costs the connector about as much.
// A limit on message size would not limit these requests, because their frames are small.
func TestRequestedBodiesAreRateLimited(t *testing.T) {
	run(t, connector.Config{}, func(t *testing.T, w *world) {
		w.fill(250)
		r := w.reader()
		s := w.subscribe(r, wire.Subscribe{RowsFirst: true})
		w.until(r, func() bool { return s.BodiesSynced })
		var all []connectortest.Frame
		for key := range s.Objects {
			all = append(all, &wire.RequestBody{Subscription: s.ID, Key: key})
		}
		reading := make(chan error, 1)
		go func() { reading <- r.UntilEnd(t.Context()) }()
		begun := time.Now()
		for range 20 {
			require.NoError(t, r.Send(t.Context(), all...))
		}
		assert.Greater(t, time.Since(begun), 3*time.Second, "a thousand bodies a second, after a burst of as many")
		require.NoError(t, r.Conn.Close(nil))
		<-reading
	})
}

// discard reads and drops all messages of a connection until the connection ends.
func (w *world) discard(r *connectortest.Reader) {
	w.serving.Go(func() {
		for {
			if _, err := r.Conn.Read(context.Background()); err != nil { // the test closes the connection
				return
			}
		}
	})
}

// The connector charges a reader for each frame, and for the objects or changes that a
// subscription begins with. Small frames can cause a lot of work.
func TestRepeatedSubscriptionsAreRateLimited(t *testing.T) {
	const objects, rate = 400, 250
	replace := func(f wire.Subscribe) func(id uint32, source string) []connectortest.Frame {
		return func(id uint32, source string) []connectortest.Frame {
			f := f
			f.Subscription, f.Resource, f.ClusterID, f.Credit = id, "v1/pods", cmp.Or(f.ClusterID, source), connectortest.Endless
			return []connectortest.Frame{&wire.Unsubscribe{Subscription: id - 1}, &f}
		}
	}
	repeat := func(f connectortest.Frame) func(uint32, string) []connectortest.Frame {
		return func(uint32, string) []connectortest.Frame { return slices.Repeat([]connectortest.Frame{f}, 20) }
	}
	for name, c := range map[string]struct {
		message func(id uint32, source string) []connectortest.Frame
		cost    int // cost of a message
	}{
		"all objects":          {replace(wire.Subscribe{}), 2 + objects/100},
		"rows first":           {replace(wire.Subscribe{RowsFirst: true}), 2 + objects/100},
		"a namespace":          {replace(wire.Subscribe{Namespace: "default"}), 2 + objects/100},
		"an empty namespace":   {replace(wire.Subscribe{Namespace: "defaul"}), 2},
		"a selector":           {replace(wire.Subscribe{LabelSelector: "app!=none"}), 2 + objects/100},
		"an object":            {replace(wire.Subscribe{FieldSelector: "metadata.name=pod-00001"}), 2},
		"resumed":              {replace(wire.Subscribe{ResourceVersion: objects / 2}), 2 + objects/2/100},
		"continued":            {replace(wire.Subscribe{ResourceVersion: objects / 2, SnapshotFrom: "default/pod-00300"}), 2 + (objects/2+100)/100},
		"continued namespace":  {replace(wire.Subscribe{ResourceVersion: objects / 2, SnapshotFrom: "default/pod-00300", Namespace: "default"}), 2 + (objects/2+100)/100},
		"of another source":    {replace(wire.Subscribe{ResourceVersion: objects, ClusterID: "other"}), 2 + objects/100},
		"only Unsubscribe":     {repeat(&wire.Unsubscribe{Subscription: 7}), 20},
		"only Credit":          {repeat(&wire.Credit{Subscription: 7, Bytes: 1}), 20},
		"only RequestProgress": {repeat(&wire.RequestProgress{Subscription: 7}), 20},
	} {
		t.Run(name, func(t *testing.T) {
			runBoth(t, connector.Config{Limits: limit.NewSet().With(limit.MaxMessageRate, rate)}, func(t *testing.T, w *world) {
				_, first := w.synced() // starts the history before the changes below
				w.fill(objects)
				r := w.reader()
				w.discard(r)
				synctest.Wait()
				began := time.Now()
				rounds := 2 * rate / c.cost
				for id := range uint32(rounds) {
					require.NoError(t, r.Send(t.Context(), c.message(id+1, first.ClusterID)...))
					synctest.Wait()
				}
				assert.InDelta(t, float64(rounds*c.cost-rate)/rate, time.Since(began).Seconds(), 0.1, "the rate, after a burst of the same number")
				require.NoError(t, r.Conn.Close(nil))
			})
		})
	}
}

// namespaced returns n built-in namespaced resources.
func (w *world) namespaced(n int) (all []api.Resource) {
	w.t.Helper()
	resources, err := w.source.Resources(w.t.Context())
	require.NoError(w.t, err)
	for _, r := range resources {
		schema, err := w.source.Schema(w.t.Context(), r)
		require.NoError(w.t, err)
		if schema.Namespaced && len(all) < n {
			all = append(all, r)
		}
	}
	require.Len(w.t, all, n)
	return all
}

// fillAll writes n objects of each resource.
func (w *world) fillAll(resources []api.Resource, n int) {
	for _, r := range resources {
		for i := range n {
			name := fmt.Sprintf("object-%05d", i)
			w.source.Put(r, key(name), fmt.Appendf(nil, `{"metadata":{"name":%q,"namespace":"default"}}`, name))
		}
	}
}

// assertNotPaced asserts that no virtual time has passed, and that no rate was exceeded.
func (w *world) assertNotPaced(began time.Time) {
	w.t.Helper()
	assert.Zero(w.t, time.Since(began))
	assert.Zero(w.t, w.connector.Limits().Refusals(limit.MaxMessageRate))
	assert.Zero(w.t, w.connector.Limits().Refusals(limit.MaxClientMessageRate))
}

// The connector does not delay a dashboard that opens 20 collections with up to 40,000
// objects, closes half of the subscriptions, and connects again.
func TestADashboardIsNotPaced(t *testing.T) {
	for name, objects := range map[string]int{"small collections": 100, "large collections": 2000} {
		t.Run(name, func(t *testing.T) {
			runBoth(t, connector.Config{}, func(t *testing.T, w *world) {
				resources := w.namespaced(20)
				w.fillAll(resources, objects)
				for _, r := range resources {
					release, err := w.connector.Hold(t.Context(), r)
					require.NoError(t, err)
					defer release()
				}
				synctest.Wait()
				began := time.Now()
				r := w.reader()
				var all []*connectortest.Subscription
				for i, resource := range resources {
					all = append(all, w.subscribe(r, wire.Subscribe{Subscription: uint32(i + 1), Resource: resource.String()}))
				}
				for _, s := range all {
					w.until(r, func() bool { return s.Synced })
					require.Len(t, s.Objects, objects)
				}
				for id := range uint32(10) {
					require.NoError(t, r.Send(t.Context(), &wire.Unsubscribe{Subscription: id + 1}))
				}
				w.assertNotPaced(began)
			})
		})
	}
}

// A reader that resumes 50 subscriptions after 200 changes of each resource is not
// delayed.
func TestAReconnectIsNotPaced(t *testing.T) {
	runBoth(t, connector.Config{}, func(t *testing.T, w *world) {
		resources := w.namespaced(25)
		w.fillAll(resources, 1)
		open := func(states []*connectortest.Subscription) *connectortest.Reader {
			r := w.reader()
			for i, s := range states {
				f := wire.Subscribe{Subscription: uint32(i + 1), Resource: resources[i/2].String(), Namespace: []string{"", "default"}[i%2], Credit: connectortest.Endless}
				require.NoError(t, r.Resume(t.Context(), s, f))
			}
			return r
		}
		states := make([]*connectortest.Subscription, 50)
		for i := range states {
			states[i] = &connectortest.Subscription{Objects: map[api.Key]connectortest.Object{}}
		}
		r := open(states)
		for _, s := range states {
			w.until(r, func() bool { return s.Synced })
		}
		require.NoError(t, r.Conn.Close(nil))
		w.fillAll(resources, 200)
		synctest.Wait()
		began := time.Now()
		r = open(states)
		for _, s := range states {
			w.until(r, func() bool { return len(s.Objects) == 200 })
			require.Equal(t, 1, s.Snapshots)
		}
		w.assertNotPaced(began)
	})
}

// The connector does not delay 500 tabs of one client that connect at the same time. Each
// tab sends its subscription together with the Hello.
func TestTabsThatConnectAfterARestartAreNotPaced(t *testing.T) {
	const tabs, objects = 500, 250
	run(t, connector.Config{Access: twoUsers()}, func(t *testing.T, w *world) {
		w.fill(objects)
		began := time.Now()
		for range tabs {
			r, _, _ := w.connect()
			hello := &wire.Hello{Version: wire.Version, Token: "eve"}
			require.NoError(t, r.Send(t.Context(), hello, &wire.Subscribe{Subscription: 1, Resource: "v1/pods", Credit: connectortest.Endless}))
			w.discard(r)
		}
		synctest.Wait()
		live := 0
		for _, reader := range w.connector.Readers() {
			for _, s := range reader.Subscriptions {
				if s.Live {
					live++
				}
			}
		}
		assert.Equal(t, tabs, live)
		w.assertNotPaced(began)
	})
}

// One subscription takes at most the allowance of one second, and all subscriptions
// together delay the next message by at most ten seconds. These bounds ensure that the
// connector reads Credit frames in time.
func TestLargeCollectionsDelayTheirReaderBriefly(t *testing.T) {
	for name, c := range map[string]struct {
		subscriptions int
		delay         time.Duration
	}{"one": {1, 300 * time.Millisecond}, "many": {100, 10 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			limits := limit.NewSet().With(limit.MaxMessageRate, 10)
			run(t, connector.Config{Limits: limits}, func(t *testing.T, w *world) {
				w.fill(5_000)
				w.synced()
				r := w.reader()
				time.Sleep(time.Minute)
				var all []connectortest.Frame
				for id := range c.subscriptions {
					all = append(all, &wire.Subscribe{Subscription: uint32(id + 1), Resource: "v1/pods", Credit: 1})
				}
				require.NoError(t, r.Send(t.Context(), all...))
				w.discard(r)
				synctest.Wait()
				began := time.Now()
				for range 2 { // the connector reads the second message after it has accepted the first
					require.NoError(t, r.Send(t.Context(), &wire.Credit{Subscription: 1, Bytes: 1 << 30}))
				}
				assert.InDelta(t, c.delay.Seconds(), time.Since(began).Seconds(), 0.2)
				require.NoError(t, r.Conn.Close(nil))
			})
		})
	}
}

// The subscriptions of a client delay the messages of all its connections, including later
// connections. They do not delay other clients.
func TestSubscriptionsAreChargedToTheirClient(t *testing.T) {
	limits := limit.NewSet().With(limit.MaxClientMessageRate, 10)
	runBoth(t, connector.Config{Access: twoUsers(), Limits: limits}, func(t *testing.T, w *world) {
		w.fill(1000)
		ann, _ := w.readerAs("ann")
		s := w.subscribe(ann, wire.Subscribe{Namespace: "default"})
		w.until(ann, func() bool { return s.Synced })
		eve, result := w.readerAs("eve")
		var all []connectortest.Frame
		for id := range 5 {
			all = append(all, &wire.Subscribe{Subscription: uint32(id + 1), Resource: "v1/pods", Credit: 1})
		}
		require.NoError(t, eve.Send(t.Context(), all...))
		w.discard(eve)
		synctest.Wait()
		require.NoError(t, eve.Conn.Close(nil))
		require.NoError(t, result())
		time.Sleep(2 * time.Second) // longer than burst, so only the debt keeps the allowance

		began, before := time.Now(), limits.Refusals(limit.MaxClientMessageRate)
		for range 2 { // the connector reads the second message after it has accepted the first
			require.NoError(t, ann.Send(t.Context(), &wire.Credit{Subscription: 1, Bytes: 1}))
		}
		assert.Zero(t, time.Since(began))
		assert.Equal(t, before, limits.Refusals(limit.MaxClientMessageRate))
		eve, _ = w.readerAs("eve")
		for range 2 {
			require.NoError(t, eve.Send(t.Context(), &wire.Credit{Subscription: 1, Bytes: 1}))
		}
		assert.InDelta(t, 2.7, time.Since(began).Seconds(), 0.2, "57 units, after a burst of 10 and 20 in two seconds")
		assert.Greater(t, limits.Refusals(limit.MaxClientMessageRate), before)
	})
}

func TestMessageWithTooManyFramesEndsTheConnection(t *testing.T) {
	run(t, connector.Config{Limits: limit.NewSet().With(limit.MaxMessageFrames, 10)}, func(t *testing.T, w *world) {
		w.fill(1)
		other, s := w.synced()
		r, _, result := w.connect()
		require.NoError(t, r.Hello(t.Context(), ""))
		require.NoError(t, r.Send(t.Context(), unknown(1, 10)...))
		require.NoError(t, r.Send(t.Context(), unknown(100, 11)...))
		w.untilEnd(r)
		w.assertEndedBy(limit.MaxMessageFrames, r.Status, result)
		last := w.put("another")
		w.until(other, func() bool { return s.ResourceVersion == last })
	})
}

// If a selector exceeds a limit, only its subscription is refused.
func TestSelectorsAreLimited(t *testing.T) {
	limits := limit.NewSet().With(limit.MaxSubscriptions, 5).With(limit.MaxConnectionRequirements, 300)
	run(t, connector.Config{Limits: limits}, func(t *testing.T, w *world) {
		w.fill(1)
		r := w.reader()
		number := uint32(0)
		try := func(f wire.Subscribe) *connectortest.Subscription {
			number++
			f.Subscription = number
			s := w.subscribe(r, f)
			w.until(r, func() bool { return s.Status != nil || s.Synced })
			return s
		}
		refused := map[*limit.Limit]uint64{}
		for _, c := range []struct {
			limit *limit.Limit
			wire.Subscribe
		}{
			{limit.MaxSelectorBytes, wire.Subscribe{LabelSelector: terms(1000, "key-%04d")}},
			{limit.MaxSelectorBytes, wire.Subscribe{FieldSelector: "metadata.name!=" + strings.Repeat("x", 1<<19)}},
			{limit.MaxSelectorRequirements, wire.Subscribe{LabelSelector: terms(257, "k%d")}},
			{limit.MaxSelectorRequirements, wire.Subscribe{FieldSelector: terms(257, "metadata.name!=%d")}},
			{limit.MaxSelectorValues, wire.Subscribe{LabelSelector: "app in (" + terms(1025, "v%d") + ")"}},
			{nil, wire.Subscribe{FieldSelector: terms(200, "metadata.name!=%d")}},
			{limit.MaxConnectionRequirements, wire.Subscribe{FieldSelector: terms(101, "metadata.name!=%d")}},
			{limit.MaxConnectionRequirements, wire.Subscribe{LabelSelector: "app in (" + terms(101, "v%d") + ")"}},
			{nil, wire.Subscribe{FieldSelector: terms(100, "metadata.name!=%d")}},
			{nil, wire.Subscribe{}}, {nil, wire.Subscribe{}}, {nil, wire.Subscribe{}},
			{limit.MaxSubscriptions, wire.Subscribe{}},
		} {
			s := try(c.Subscribe)
			if c.limit == nil {
				require.Nil(t, s.Status)
				continue
			}
			require.NotNil(t, s.Status)
			refused[c.limit]++
			assert.Equal(t, c.limit.Name, s.Status.Cause)
			assert.Equal(t, c.limit.Code, s.Status.Code)
			assert.Less(t, len(s.Status.Message), 300)
		}
		assert.Nil(t, r.Status)
		require.NoError(t, r.Send(t.Context(), &wire.Unsubscribe{Subscription: 6}), "which returns its requirements")
		require.Nil(t, try(wire.Subscribe{FieldSelector: terms(200, "metadata.name!=%d")}).Status)
		for _, l := range limit.All() {
			assert.Equal(t, refused[l], limits.Refusals(l), l.Name)
		}
	})
}

// The default limits of a session equal those of package limit. Sessions at the edge use
// these defaults, because no host configures them.
func TestSessionDefaultsEqualTheLimits(t *testing.T) {
	limits := limit.NewSet()
	c := session.Config{}.WithDefaults()
	assert.Equal(t, limits.Int(limit.MaxSubscriptions), c.MaxSubscriptions)
	assert.Equal(t, limits.Int(limit.MaxMessageFrames), c.MaxFrames)
	assert.Equal(t, limits.Int(limit.MaxControlBytes), c.MaxControlBytes)
	assert.Equal(t, limits.Int(limit.MaxConnectionRequirements), c.MaxRequirements)
	assert.Equal(t, limits.Selectors(), c.Selectors)
	assert.Equal(t, limits.Int(limit.MaxColumns), c.MaxColumns)
	assert.Equal(t, limits.Int(limit.MaxColumnBytes), c.MaxColumnBytes)
	for core, l := range map[string]*limit.Limit{
		session.LimitSubscriptions: limit.MaxSubscriptions, session.LimitFrames: limit.MaxMessageFrames,
		session.LimitControlBytes: limit.MaxControlBytes, session.LimitRequirements: limit.MaxConnectionRequirements,
		session.LimitColumns: limit.MaxColumns, session.LimitColumnBytes: limit.MaxColumnBytes,
	} {
		assert.Equal(t, l.Name, core)
	}
}
