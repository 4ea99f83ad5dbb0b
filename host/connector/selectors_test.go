package connector_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/connector/connectortest"
	"github.com/watchglass/watchglass/host/limit"
	"github.com/watchglass/watchglass/host/source/memory"
)

// expensive returns subscriptions with as many requirements as one connection may have.
// Only the last term of each selector excludes the objects, so that every term is
// evaluated for every change.
func expensive() []connectortest.Frame {
	perSubscription := int(limit.MaxSelectorRequirements.Default)
	var all []connectortest.Frame
	for i := range int(limit.MaxConnectionRequirements.Default) / perSubscription {
		all = append(all, &wire.Subscribe{
			Subscription: uint32(i + 1), Resource: "v1/pods", Credit: 1 << 30,
			FieldSelector: terms(perSubscription-1, "metadata.name!=%d") + ",status.phase!=Running",
		})
	}
	return all
}

// The cost of a change for a reader depends only on the selectors of this reader. It grows
// with the number of distinct fields in them, not with the number of terms.
func TestEvaluationsOfAReaderAreBoundedSeparately(t *testing.T) {
	const changes = 50
	measure := func(abusers int) (healthy, abusive uint64) {
		run(t, connector.Config{}, func(t *testing.T, w *world) {
			w.fill(1)
			for range abusers {
				w.abuse(expensive()...)
			}
			r := w.reader()
			s := w.subscribe(r, wire.Subscribe{LabelSelector: "app=web", FieldSelector: "spec.nodeName=node-1"})
			w.until(r, func() bool { return s.Synced })
			for range changes {
				last := w.put("pod-00000")
				w.until(r, func() bool { return s.ResourceVersion == last })
			}
			synctest.Wait()
			for _, stats := range w.connector.Readers() {
				for _, state := range stats.Subscriptions {
					if state.Requirements == 2 {
						healthy += state.Evaluations
					} else {
						abusive = max(abusive, state.Evaluations)
					}
				}
			}
		})
		return healthy, abusive
	}
	alone, _ := measure(0)
	beside, abusive := measure(5)
	assert.Positive(t, alone)
	assert.Equal(t, alone, beside)
	assert.Positive(t, abusive)
	assert.LessOrEqual(t, abusive, uint64(4*(changes+1)*2), "two fields of both versions, to wake the reader and to send")
}

// abuse opens a reader with subscriptions that stay open until the test ends.
func (w *world) abuse(frames ...connectortest.Frame) {
	r := w.reader()
	require.NoError(w.t, r.Send(w.t.Context(), frames...))
	w.serving.Go(func() { r.UntilEnd(w.t.Context()) }) // the connector closes the connection
	synctest.Wait()
}

// BenchmarkHealthyReaderBesideExpensiveSelectors measures how readers with the most
// expensive permitted selectors affect a healthy reader. It reports the median time from
// a change to its delivery, with and without the expensive readers. Changes alternate
// between two connectors, so that both run under the same machine load.
func BenchmarkHealthyReaderBesideExpensiveSelectors(b *testing.B) {
	for _, abusers := range []int{1, 10, 50} {
		b.Run(fmt.Sprintf("abusers=%d", abusers), func(b *testing.B) {
			alone, beside := newDelivery(b, 0), newDelivery(b, abusers)
			var without, with []time.Duration
			for b.Loop() {
				without = append(without, alone.once())
				with = append(with, beside.once())
			}
			b.ReportMetric(float64(median(without).Microseconds()), "p50-alone-µs")
			b.ReportMetric(float64(median(with).Microseconds()), "p50-beside-µs")
			b.ReportMetric(float64(median(with))/float64(median(without)), "ratio")
		})
	}
}

func median[T cmp.Ordered](all []T) T {
	slices.Sort(all)
	return all[len(all)/2]
}

// delivery measures how fast a connector delivers changes to a healthy reader.
type delivery struct {
	b      *testing.B
	source *memory.Source
	reader *connectortest.Reader
	sub    *connectortest.Subscription
	n      int
}

func newDelivery(b *testing.B, abusers int) *delivery {
	d := &delivery{b: b, source: memory.New()}
	for i := range 1000 {
		name := fmt.Sprintf("pod-%05d", i)
		d.source.Put(pods, key(name), pod(name, "Running"))
	}
	c := connector.New(connector.Config{Source: d.source, Access: twoUsers(), Logger: slog.New(slog.DiscardHandler)})
	b.Cleanup(func() { require.NoError(b, c.Close(context.Background())) })
	connect := func(user string) *connectortest.Reader {
		served, end := connectortest.Pipe()
		go c.Serve(b.Context(), served)
		r := connectortest.NewReader(end)
		require.NoError(b, r.Hello(b.Context(), user))
		return r
	}
	d.reader = connect("ann")
	var err error
	d.sub, err = d.reader.Subscribe(b.Context(), wire.Subscribe{Subscription: 1, Resource: "v1/pods", LabelSelector: "app=web", Credit: connectortest.Endless})
	require.NoError(b, err)
	require.NoError(b, d.reader.UntilSynced(b.Context(), d.sub))
	for range abusers {
		r := connect("eve")
		require.NoError(b, r.Send(b.Context(), expensive()...))
		go r.UntilEnd(b.Context())
	}
	require.Eventually(b, func() bool {
		open := 0
		for _, r := range c.Readers() {
			for _, s := range r.Subscriptions {
				if s.Live {
					open++
				}
			}
		}
		return open == 1+abusers*len(expensive())
	}, time.Minute, time.Millisecond)
	return d
}

func (d *delivery) once() time.Duration {
	d.n++
	name := fmt.Sprintf("pod-%05d", d.n%1000)
	begun := time.Now()
	rv := d.source.Put(pods, key(name), pod(name, "Running"))
	require.NoError(d.b, d.reader.Until(d.b.Context(), func() bool { return d.sub.ResourceVersion >= rv }))
	return time.Since(begun)
}

// mallocs returns the number of allocations of the process.
func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// lockHolder is a Timings that blocks in InitialSync until released is closed. The
// connector calls InitialSync under its lock, after the first list of a resource.
type lockHolder struct{ held, released chan struct{} }

func (l lockHolder) InitialSync(api.Resource, time.Duration) {
	close(l.held)
	<-l.released
}

func (lockHolder) Delivery(time.Duration) {}

// The connector parses the selectors of a reader once and without the lock, so other
// readers do not wait. The test counts allocations: parsing allocates while another goroutine
// holds the lock, and few allocations follow after the lock is released. The test runs in real
// time, because a goroutine that waits for a lock is not idle in a synctest bubble.
func TestSelectorsAreParsedOnceWithoutTheLock(t *testing.T) {
	const subscriptions = 100
	labels := terms(250, "k%d!=v")
	limits := limit.NewSet().With(limit.MaxConnectionRequirements, 1<<20)
	before := mallocs()
	for range subscriptions {
		_, status := limits.Selectors().Parse(labels, "")
		require.Nil(t, status)
	}
	parsed := mallocs() - before

	holder := lockHolder{make(chan struct{}), make(chan struct{})}
	c := connector.New(connector.Config{Source: memory.New(), Logger: slog.New(slog.DiscardHandler), Limits: limits, Timings: holder})
	defer func() { assert.NoError(t, c.Close(t.Context())) }()
	served, end := connectortest.Pipe()
	go func() { _ = c.Serve(t.Context(), served) }() // the test closes the connection
	defer end.Close(nil)
	r := connectortest.NewReader(end)
	require.NoError(t, r.Hello(t.Context(), ""))
	var message raw
	for id := range uint32(subscriptions) {
		f := wire.Subscribe{Subscription: id + 1, Resource: "v1/pods", LabelSelector: labels, Credit: connectortest.Endless}
		message = f.Append(message)
	}

	held := make(chan error, 1)
	go func() {
		release, err := c.Hold(t.Context(), pods)
		if err == nil {
			release()
		}
		held <- err
	}()
	<-holder.held
	before = mallocs()
	require.NoError(t, r.Send(t.Context(), message))
	for deadline := time.Now().Add(time.Minute); mallocs()-before < parsed && time.Now().Before(deadline); {
		runtime.Gosched()
	}
	assert.GreaterOrEqual(t, mallocs()-before, parsed, "the selectors are parsed while the lock is held")
	close(holder.released)
	require.NoError(t, <-held)
	for synced := 0; synced < subscriptions; {
		received, err := end.Read(t.Context())
		require.NoError(t, err)
		for len(received) > 0 {
			var kind wire.Type
			kind, _, received, err = wire.Next(received)
			require.NoError(t, err)
			require.NotEqual(t, wire.TypeSubscriptionStatus, kind)
			if kind == wire.TypeSnapshotEnd {
				synced++
			}
		}
	}
	assert.Less(t, mallocs()-before, parsed*3/2, "the selectors are parsed once")
}
