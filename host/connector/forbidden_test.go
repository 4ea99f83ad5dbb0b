package connector_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/kubeapi"
)

// If the source denies the connector a resource, readers do not wait. They receive the
// name of the right that the connector lacks. Once the connector has the right, it serves
// these readers.
func TestAResourceThatTheConnectorMayNotReadIs403(t *testing.T) {
	o := &outage{}
	runOutage(t, o, func(t *testing.T, w *world) {
		const account = "system:serviceaccount:wg:connector"
		o.refusal.Store(api.Forbidden(`pods is forbidden: User "` + account + `" cannot list resource "pods"`))
		backend := w.connector.Backend()
		requests := map[string]func() error{
			"list": func() error {
				_, err := backend.List(t.Context(), pods, kubeapi.ListOptions{})
				return err
			},
			"weigh": func() error {
				_, err := backend.(kubeapi.Weigher).Weigh(t.Context(), pods, kubeapi.ListOptions{}, func() error { return nil })
				return err
			},
			"get": func() error {
				_, err := backend.Get(t.Context(), pods, key("pod-00001"), "")
				return err
			},
			"watch": func() error {
				watch, err := backend.Watch(t.Context(), pods, kubeapi.WatchOptions{})
				if err == nil {
					watch.Close()
				}
				return err
			},
		}
		began := time.Now()
		for name, request := range requests {
			for range 3 {
				err := request()
				require.ErrorIs(t, err, api.Forbidden(""), name)
				assert.Contains(t, err.Error(), "the connector")
				assert.Contains(t, err.Error(), "list and watch v1/pods")
				assert.NotContains(t, err.Error(), account, "it is for the log")
			}
		}
		assert.Zero(t, time.Since(began), "no reader waits, in virtual time")

		r := w.reader()
		s := w.subscribe(r, wire.Subscribe{})
		w.until(r, func() bool { return s.SourceError != nil && s.SourceError.Code == 403 })
		assert.Contains(t, s.SourceError.Message, "list and watch v1/pods")
		assert.Contains(t, s.SourceError.Message, account)
		assert.Nil(t, s.Status, "the subscription stays open")

		w.until(r, func() bool { return time.Since(began) > 10*time.Minute })
		o.refusal.Store(nil)
		granted := time.Now()
		w.until(r, func() bool { return s.Synced })
		assert.LessOrEqual(t, time.Since(granted), time.Minute+time.Second)
		for name, request := range requests {
			assert.NoError(t, request(), name)
		}
	})
}

// If the source first denies a right and then fails for another reason, readers wait again.
func TestReadersWaitDuringAnOutageAfterAMissingRight(t *testing.T) {
	o := &outage{}
	runOutage(t, o, func(t *testing.T, w *world) {
		o.refusal.Store(api.Forbidden("no"))
		list := func() error {
			_, err := w.connector.Backend().List(t.Context(), pods, kubeapi.ListOptions{})
			return err
		}
		require.ErrorIs(t, list(), api.Forbidden(""))
		o.refusal.Store(api.Unavailable("internal error"))
		r := w.reader()
		s := w.subscribe(r, wire.Subscribe{})
		w.until(r, func() bool { return s.SourceError != nil && s.SourceError.Code == 503 })
		err := list()
		require.ErrorIs(t, err, api.LimitReached(429, "list-timeout", ""))
	})
}
