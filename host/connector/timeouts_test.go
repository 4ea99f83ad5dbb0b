package connector_test

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/limit"
	"github.com/watchglass/watchglass/host/source/memory"
)

func requireRefused(t *testing.T, err error, l *limit.Limit) {
	t.Helper()
	var status *api.Status
	require.ErrorAs(t, err, &status)
	assert.Equal(t, l.Code, status.Code)
	assert.Equal(t, l.Name, status.Cause)
	assert.Contains(t, status.Message, l.Name)
}

func within(l *limit.Limit, value time.Duration) (*limit.Set, connector.Config) {
	limits := limit.NewSet().With(l, int64(value))
	return limits, connector.Config{Limits: limits}
}

func TestHelloTimeoutIsALimit(t *testing.T) {
	limits, config := within(limit.HelloTimeout, 3*time.Second)
	run(t, config, func(t *testing.T, w *world) {
		r, _, result := w.connect()
		begun := time.Now()
		require.ErrorIs(t, r.UntilEnd(t.Context()), io.EOF)
		assert.Equal(t, 3*time.Second, time.Since(begun))
		requireRefused(t, r.Status, limit.HelloTimeout)
		requireRefused(t, result(), limit.HelloTimeout)
		assert.EqualValues(t, 1, limits.Refusals(limit.HelloTimeout))
	})
}

func TestWriteTimeoutIsALimit(t *testing.T) {
	limits, config := within(limit.WriteTimeout, 7*time.Second)
	run(t, config, func(t *testing.T, w *world) {
		w.fill(1)
		r, _, result := w.connect()
		require.NoError(t, r.Hello(t.Context(), ""))
		begun := time.Now()
		require.NoError(t, r.Send(t.Context(), &wire.Subscribe{Subscription: 1, Resource: "v1/pods", Credit: 1}))
		require.ErrorIs(t, result(), context.DeadlineExceeded)
		assert.Equal(t, 7*time.Second, time.Since(begun).Round(time.Second))
		assert.EqualValues(t, 1, limits.Refusals(limit.WriteTimeout))
	})
}

func TestLingerTimeIsALimit(t *testing.T) {
	_, config := within(limit.Linger, 5*time.Minute)
	run(t, config, func(t *testing.T, w *world) {
		release, err := w.connector.Hold(t.Context(), pods)
		require.NoError(t, err)
		release()
		time.Sleep(5*time.Minute - time.Second)
		assert.Len(t, w.connector.Stats().Resources, 1)
		time.Sleep(2 * time.Second)
		assert.Empty(t, w.connector.Stats().Resources)
	})
}

func TestHistoryWindowIsALimit(t *testing.T) {
	for name, c := range map[string]struct {
		limits  *limit.Set
		resumes bool
	}{
		"default": {limit.NewSet(), true},
		"events":  {limit.NewSet().With(limit.MaxHistoryEvents, 150), false},
		"window":  {limit.NewSet().With(limit.HistoryWindow, int64(time.Second)), false},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, connector.Config{Limits: c.limits}, func(t *testing.T, w *world) {
				release, err := w.connector.Hold(t.Context(), pods)
				require.NoError(t, err)
				defer release()
				from := w.put("first")
				for range 3 {
					synctest.Wait()
					time.Sleep(2 * time.Second)
					w.fill(100)
				}
				synctest.Wait()
				watch, err := w.connector.Backend().Watch(t.Context(), pods, kubeapi.WatchOptions{ResourceVersion: from.String()})
				require.NoError(t, err)
				defer watch.Close()
				_, err = watch.Next(t.Context())
				if c.resumes {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, api.Expired(""))
				}
			})
		})
	}
}

// mute is a source that never describes a resource.
type mute struct{ *memory.Source }

func (mute) Schema(ctx context.Context, _ api.Resource) (*api.Schema, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestLookupTimeoutIsALimit(t *testing.T) {
	limits, config := within(limit.LookupTimeout, 4*time.Second)
	config.Source = mute{memory.New()}
	run(t, config, func(t *testing.T, w *world) {
		begun := time.Now()
		_, err := w.connector.Backend().Schema(t.Context(), pods)
		assert.Equal(t, 4*time.Second, time.Since(begun))
		requireRefused(t, err, limit.LookupTimeout)
		assert.EqualValues(t, 1, limits.Refusals(limit.LookupTimeout))

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = w.connector.Backend().Schema(ctx, pods)
		require.Error(t, err)
		assert.EqualValues(t, 1, limits.Refusals(limit.LookupTimeout), "a client that leaves is not refused")
	})
}
