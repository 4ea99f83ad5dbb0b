package connector_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/connector/connectortest"
	"github.com/watchglass/watchglass/host/limit"
	"github.com/watchglass/watchglass/host/source/memory"
)

// raw is a frame whose bytes the test chooses.
type raw []byte

func (f raw) Append(dst []byte) []byte { return append(dst, f...) }

func TestMalformedFramesCloseThatConnectionOnly(t *testing.T) {
	hello := (&wire.Hello{Version: wire.Version}).Append(nil)
	subscribe := (&wire.Subscribe{Subscription: 9, Resource: "v1/pods", Credit: 1}).Append(nil)
	for name, message := range map[string]raw{
		"garbage":                []byte("GET / HTTP/1.1\r\n"),
		"unknown type":           {0x3f, 0x00},
		"truncated length":       {0x01, 0xff},
		"length beyond the end":  {0x01, 0xff, 0xff, 0xff, 0xff, 0x0f, 1, 2},
		"truncated frame":        hello[:len(hello)-1],
		"trailing bytes":         append(bytes.Clone(hello), 0),
		"hello twice":            append(bytes.Clone(hello), hello...),
		"a connector's frame":    (&wire.Welcome{Version: wire.Version}).Append(nil),
		"half a subscribe":       append(bytes.Clone(hello), subscribe[:len(subscribe)/2]...),
		"subscribe before hello": subscribe,
	} {
		t.Run(name, func(t *testing.T) {
			runBoth(t, connector.Config{}, func(t *testing.T, w *world) {
				w.fill(3)
				other, s := w.synced()
				r, served, result := w.connect()
				require.NoError(t, r.Send(t.Context(), message))
				require.ErrorIs(t, r.UntilEnd(t.Context()), io.EOF)
				require.NotNil(t, r.Status)
				assert.Equal(t, api.ReasonProtocol, r.Status.Reason)
				assert.NotEmpty(t, r.Status.Message)
				assert.ErrorIs(t, result(), api.Protocol(""))
				assert.ErrorIs(t, served.Reason(), api.Protocol(""))

				last := w.put("another")
				w.until(other, func() bool { return s.ResourceVersion == last })
				assert.Equal(t, 1, w.connector.Stats().Readers)
				assert.EqualValues(t, 1, w.connector.Stats().Totals.Malformed)
			})
		})
	}
}

func TestReaderWithoutCredentialsReceives401(t *testing.T) {
	tokens := &access.Tokens{}
	runBoth(t, connector.Config{Access: tokens}, func(t *testing.T, w *world) {
		tokens.Set([]string{"secret"})
		defer tokens.Set(nil) // ends the contexts of tokens inside their synctest bubble
		r, _, result := w.connect()
		require.NoError(t, r.Hello(t.Context(), "wrong"))
		require.NotNil(t, r.Status)
		assert.Equal(t, 401, r.Status.Code)
		assert.ErrorIs(t, result(), api.Unauthorized(""))

		r, _, _ = w.connect()
		require.NoError(t, r.Hello(t.Context(), "secret"))
		assert.Nil(t, r.Status)
	})
}

func TestSilentConnectionIsClosed(t *testing.T) {
	runBoth(t, connector.Config{}, func(t *testing.T, w *world) {
		r, _, _ := w.connect()
		begun := time.Now()
		require.ErrorIs(t, r.UntilEnd(t.Context()), io.EOF)
		assert.Equal(t, time.Duration(limit.HelloTimeout.Default), time.Since(begun))
		require.NotNil(t, r.Status)
		assert.Equal(t, api.ReasonTimeout, r.Status.Reason)

		w.reader()
		time.Sleep(time.Hour)
		assert.Equal(t, 1, w.connector.Stats().Readers)
	})
}

func TestMessagesWithoutHelloDoNotExtendTheTimeout(t *testing.T) {
	for name, message := range map[string]raw{
		"empty":                         {},
		"a frame that may be skipped":   {0xf0, 0x00},
		"a request for progress, alone": (&wire.RequestProgress{}).Append(nil),
	} {
		t.Run(name, func(t *testing.T) {
			runBoth(t, connector.Config{}, func(t *testing.T, w *world) {
				r, _, _ := w.connect()
				begun := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				require.NoError(t, r.Send(ctx, message))
				require.ErrorIs(t, r.UntilEnd(ctx), io.EOF)
				assert.Equal(t, time.Duration(limit.HelloTimeout.Default), time.Since(begun))
				require.NotNil(t, r.Status)
				assert.Equal(t, api.ReasonTimeout, r.Status.Reason)
			})
		})
	}
}

func TestExcessReaderIsRefused(t *testing.T) {
	limits := limit.NewSet().With(limit.MaxReaders, 2)
	runBoth(t, connector.Config{Limits: limits}, func(t *testing.T, w *world) {
		w.connect() // a silent connection does not count
		w.reader()
		first := w.reader()
		r, _, result := w.connect()
		require.NoError(t, r.Hello(t.Context(), ""))
		require.NotNil(t, r.Status)
		assert.Equal(t, 429, r.Status.Code)
		assert.Equal(t, "max-readers", r.Status.Cause)
		assert.NotRegexp(t, `\d`, r.Status.Message, "strangers do not learn how many readers there are")
		assert.ErrorIs(t, result(), api.TooManyRequests("", 0))
		assert.EqualValues(t, 1, w.connector.Stats().Totals.Refused)
		assert.Positive(t, limits.Refusals(limit.MaxReaders))
		assert.Zero(t, w.connector.Stats().Totals.Malformed)

		require.NoError(t, first.Conn.Close(nil))
		synctest.Wait()
		w.reader()
	})
}

func TestCloseSendsTheClosingStatus(t *testing.T) {
	runBoth(t, connector.Config{}, func(t *testing.T, w *world) {
		w.fill(3)
		r, _ := w.synced()
		w.serving.Go(func() { assert.NoError(t, w.connector.Close(t.Context())) })
		require.ErrorIs(t, r.UntilEnd(t.Context()), io.EOF)
		require.NotNil(t, r.Status)
		assert.Equal(t, 503, r.Status.Code)

		late, _, result := w.connect()
		require.ErrorIs(t, late.UntilEnd(t.Context()), io.EOF)
		assert.Equal(t, 503, late.Status.Code)
		assert.ErrorIs(t, result(), api.Unavailable(""))
	})
}

func TestEndOfContextSendsTheClosingStatus(t *testing.T) {
	runBoth(t, connector.Config{}, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		served, end := connectortest.Pipe()
		result := make(chan error, 1)
		go func() { result <- w.connector.Serve(ctx, served) }()
		r := connectortest.NewReader(end)
		require.NoError(t, r.Hello(t.Context(), ""))
		cancel()
		require.ErrorIs(t, r.UntilEnd(t.Context()), io.EOF)
		assert.Equal(t, 503, r.Status.Code)
		assert.ErrorIs(t, <-result, api.Unavailable(""))
	})
}

func TestCloseDisconnectsAReaderThatDoesNotRead(t *testing.T) {
	runBoth(t, connector.Config{MessageBytes: 1024}, func(t *testing.T, w *world) {
		w.fill(100)
		r := w.reader()
		w.subscribe(r, wire.Subscribe{}) // the reader never reads again
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		assert.ErrorIs(t, w.connector.Close(ctx), context.DeadlineExceeded)
		w.serving.Wait()
		assert.Equal(t, time.Second, time.Since(begun))
	})
}

func TestReaderThatStopsReadingIsDisconnected(t *testing.T) {
	runBoth(t, connector.Config{MessageBytes: 1024}, func(t *testing.T, w *world) {
		w.fill(100)
		r, _, result := w.connect()
		require.NoError(t, r.Hello(t.Context(), ""))
		w.subscribe(r, wire.Subscribe{})
		assert.ErrorIs(t, result(), context.DeadlineExceeded)
		assert.Zero(t, w.connector.Stats().Readers)
	})
}

// Readers without credit, and readers that stop reading, do not delay other readers and use
// no memory for missed events.
func TestSlowReadersDoNotDelayOthers(t *testing.T) {
	runBoth(t, connector.Config{History: history.Limits{MaxCapacity: 256}}, func(t *testing.T, w *world) {
		w.fill(50)
		quick, s := w.synced()
		broke := w.reader()
		starved := w.subscribe(broke, wire.Subscribe{Credit: 1})
		w.until(broke, func() bool { return starved.Parts > 0 })
		stuck := w.reader()
		w.subscribe(stuck, wire.Subscribe{})
		synctest.Wait()

		churn := func(n int) {
			for i := range n {
				last := w.put(fmt.Sprintf("pod-%05d", i%50))
				w.until(quick, func() bool { return s.ResourceVersion == last })
			}
		}
		churn(500)
		before := heap()
		churn(5000)
		assert.Less(t, heap(), before+2<<20, "5,000 missed changes are not buffered")
		assert.Equal(t, 3, w.connector.Stats().Readers)

		require.NoError(t, broke.Send(t.Context(), &wire.Credit{Subscription: 1, Bytes: connectortest.Endless}))
		w.until(broke, func() bool { return starved.Synced || starved.Status != nil })
		if starved.Status != nil {
			assert.Equal(t, 410, starved.Status.Code)
			starved = w.subscribe(broke, wire.Subscribe{Subscription: 2})
			require.NoError(t, broke.UntilSynced(t.Context(), starved))
		}
		assert.Equal(t, s.Objects, starved.Objects)
	})
}

func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

func TestProgressIsSentWithoutChanges(t *testing.T) {
	runBoth(t, connector.Config{}, func(t *testing.T, w *world) {
		w.fill(3)
		r, s := w.synced()
		other := api.Resource{Version: "v1", Name: "nodes"}
		last := w.source.Put(other, "n1", []byte(`{"metadata":{"name":"n1"}}`))
		time.Sleep(time.Millisecond)
		w.source.Progress()
		begun := time.Now()
		w.until(r, func() bool { return s.ResourceVersion == last })
		assert.LessOrEqual(t, time.Since(begun), 10*time.Second)
	})
}

// Readers connect, read, stop reading and disconnect at random while the source changes, fails and
// compacts. The test runs in real time and with real threads, for the race detector.
func TestConcurrentReadersOfAFailingSource(t *testing.T) {
	src := memory.New()
	for i := range 200 {
		name := fmt.Sprintf("pod-%05d", i)
		src.Put(pods, key(name), pod(name, "Running"))
	}
	before := runtime.NumGoroutine()
	c := connector.New(connector.Config{
		Source: src, Logger: slog.New(slog.DiscardHandler), Limits: limit.NewSet().With(limit.Linger, int64(time.Millisecond)), MessageBytes: 4096,
	})
	var readers sync.WaitGroup
	for seed := range 16 {
		readers.Go(func() { hammer(t, c, src, uint64(seed)) })
	}
	readers.Wait()
	require.NoError(t, c.Close(t.Context()))
	assert.Zero(t, c.Stats().Readers)
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > before && time.Now().Before(deadline); {
		runtime.Gosched() // the last connections are being closed
	}
	assert.LessOrEqual(t, runtime.NumGoroutine(), before)
}

// churn occasionally disturbs the source, for example by compacting it, and then writes a
// pod. Without this write, the last reader could wait for a change forever.
func churn(src *memory.Source, rng *rand.Rand) {
	name := fmt.Sprintf("pod-%05d", rng.IntN(250))
	switch rng.IntN(2000) {
	case 0:
		_ = src.Compact(src.Revision())
	case 1:
		src.Fail(errors.New("connection reset"))
	case 2:
		src.Progress()
	case 3, 4, 5:
		src.Put(pods, key(name), []byte("{"))
	case 6, 7, 8, 9, 10:
		src.Delete(pods, key(name))
	}
	src.Put(pods, key(name), pod(name, "Running"))
}

func hammer(t *testing.T, c *connector.Connector, src *memory.Source, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 30 {
		served, end := connectortest.Pipe()
		conn := messages(served, rng.IntN(2) == 0)
		done := make(chan error, 1)
		go func() { done <- c.Serve(t.Context(), conn) }()
		if err := visit(t.Context(), connectortest.NewReader(end), src, rng); err != nil {
			assert.NoError(t, err)
		}
		end.Close(nil)
		<-done
	}
}

// visit runs the reader's side of one connection, and returns at a random stage.
func visit(ctx context.Context, r *connectortest.Reader, src *memory.Source, rng *rand.Rand) error {
	switch rng.IntN(4) {
	case 0:
		return nil
	case 1:
		return r.Send(ctx, raw{byte(rng.Uint32()), byte(rng.Uint32())})
	}
	if err := r.Hello(ctx, ""); err != nil {
		return err
	}
	credit := uint64(connectortest.Endless)
	if rng.IntN(3) == 0 {
		credit = uint64(rng.IntN(5000))
	}
	s, err := r.Subscribe(ctx, wire.Subscribe{Subscription: 1, Resource: "v1/pods", Credit: credit})
	if err != nil || credit < 5000 {
		return err
	}
	if err := r.UntilSynced(ctx, s); err != nil {
		return err
	}
	err = r.Until(ctx, func() bool {
		churn(src, rng)
		return s.Frames > 5 || s.Status != nil
	})
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func TestMessageRateOfAReaderIsLimitedWithoutDelayingOthers(t *testing.T) {
	runBoth(t, connector.Config{Limits: limit.NewSet().With(limit.MaxMessageRate, 10)}, func(t *testing.T, w *world) {
		w.fill(1)
		r, s := w.synced()
		begun := time.Now()
		for range 60 {
			require.NoError(t, r.Send(t.Context(), &wire.Credit{Subscription: s.ID, Bytes: 1}))
		}
		assert.InDelta(t, 5, time.Since(begun).Seconds(), 1, "sixty at ten a second, after a burst of ten")
		last := w.put("another")
		w.until(r, func() bool { return s.ResourceVersion == last })

		begun = time.Now()
		w.synced()
		assert.Less(t, time.Since(begun), time.Second, "other readers are not delayed")
	})
}

// Each fragment of a large object may take the full WriteTimeout. A reader that reads one
// fragment in 50 seconds stays connected, even if the whole object takes longer than
// WriteTimeout.
func TestSlowReaderOfALargeObjectStaysConnected(t *testing.T) {
	for name, before := range map[string]bool{"in the snapshot": true, "as an event": false} {
		t.Run(name, func(t *testing.T) {
			runBoth(t, connector.Config{}, func(t *testing.T, w *world) {
				w.fill(1)
				if before {
					w.putLarge("large")
				}
				r := w.reader()
				s := w.subscribe(r, wire.Subscribe{})
				if !before {
					require.NoError(t, r.UntilSynced(t.Context(), s))
					synctest.Wait()
					w.putLarge("large")
				}
				begun := time.Now()
				w.until(r, func() bool {
					time.Sleep(50 * time.Second)
					return len(s.Objects) == 2
				})
				assert.Greater(t, r.Fragments, 15)
				assert.Greater(t, time.Since(begun), 10*time.Minute)
				assert.Equal(t, 1, w.connector.Stats().Readers)
				last := w.put("another")
				w.until(r, func() bool { return s.ResourceVersion == last })
			})
		})
	}
}

// putLarge writes a pod of about 1.4 MB that hardly compresses.
func (w *world) putLarge(name string) api.ResourceVersion {
	random := make([]byte, 700_000)
	rng := rand.NewChaCha8([32]byte{1})
	rng.Read(random)
	return w.source.Put(pods, key(name), fmt.Appendf(nil,
		`{"metadata":{"name":%q,"namespace":"default","uid":"u","annotations":{"random":"%x"}}}`, name, random))
}
