package connector_test

import (
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
)

// chunk is the number of evaluations that the connector grants to a reader at a time.
const chunk = 1000

func twoUsers() *book {
	return &book{rights: map[string][]string{"ann": {"v1/pods", inDefault}, "eve": {"v1/pods"}}}
}

// floodAs connects a user and sends the frames. The connection stays open until the test
// ends. The returned function waits for the result of Serve.
func (w *world) floodAs(token string, frames ...connectortest.Frame) (result func() error) {
	r, result := w.readerAs(token)
	require.NoError(w.t, r.Send(w.t.Context(), frames...))
	w.serving.Go(func() { r.UntilEnd(w.t.Context()) }) // the connector closes the connection
	synctest.Wait()
	return result
}

// evaluationsOf returns the number of evaluations of a user's subscriptions, and the
// lowest resource version among these subscriptions.
func (w *world) evaluationsOf(user string) (evaluations uint64, oldest api.ResourceVersion) {
	for _, stats := range w.connector.Readers() {
		for _, state := range stats.Subscriptions {
			if stats.User == user {
				evaluations += state.Evaluations
				if oldest == 0 || state.ResourceVersion < oldest {
					oldest = state.ResourceVersion
				}
			}
		}
	}
	return evaluations, oldest
}

func TestEvaluationsOfAUserAreLimitedWithoutDelayingOthers(t *testing.T) {
	const perSecond, connections, changes = 10_000, 3, 1000 // far more than a chunk, so that the test detects an allowance per connection
	limits := limit.NewSet().With(limit.MaxEvaluationRate, perSecond)
	runBoth(t, connector.Config{Access: twoUsers(), Limits: limits}, func(t *testing.T, w *world) {
		w.fill(1)
		for range connections {
			w.floodAs("eve", expensive()...)
		}
		ann, _ := w.readerAs("ann")
		s := w.subscribe(ann, wire.Subscribe{})
		w.until(ann, func() bool { return s.Synced })
		time.Sleep(time.Minute) // refills the burst of every user
		synctest.Wait()
		began := time.Now()
		before, _ := w.evaluationsOf("eve")
		var last api.ResourceVersion
		for range changes {
			last = w.put("pod-00000")
			w.until(ann, func() bool { return s.ResourceVersion == last })
		}
		synctest.Wait()
		elapsed := time.Since(began)
		evaluations, oldest := w.evaluationsOf("eve")
		assert.Zero(t, elapsed, "of virtual time: ann did not wait")
		bound := perSecond*(1+elapsed.Seconds()) + 2*connections*chunk
		assert.LessOrEqual(t, float64(evaluations-before), bound, "instead of %d", connections*len(expensive())*2*changes)
		assert.Less(t, oldest, last)
		assert.Positive(t, limits.Refusals(limit.MaxEvaluationRate))

		time.Sleep(10 * time.Minute)
		synctest.Wait()
		_, oldest = w.evaluationsOf("eve")
		assert.GreaterOrEqual(t, oldest, last, "they catch up with a new allowance")
	})
}

// A snapshot with a selector spends evaluations on every object, even if no object
// matches.
func TestRepeatedSubscriptionsAreLimitedByEvaluations(t *testing.T) {
	const perSecond, objects, rounds = 1000, 500, 100
	limits := limit.NewSet().With(limit.MaxEvaluationRate, perSecond)
	runBoth(t, connector.Config{Access: twoUsers(), Limits: limits}, func(t *testing.T, w *world) {
		w.fill(objects)
		began := time.Now()
		for range rounds {
			eve, result := w.readerAs("eve")
			s := w.subscribe(eve, wire.Subscribe{FieldSelector: "status.phase=Failed"})
			w.until(eve, func() bool { return s.Synced })
			require.NoError(t, eve.Conn.Close(nil))
			require.NoError(t, result())
		}
		looked := 2 * rounds * objects // the selector evaluates each object and its field
		assert.GreaterOrEqual(t, time.Since(began).Seconds(), float64(looked-perSecond-chunk)/perSecond, "a new connection has no new allowance")
	})
}

func TestReadersWithoutSelectorsAreNotPaced(t *testing.T) {
	limits := limit.NewSet().With(limit.MaxEvaluationRate, 1)
	run(t, connector.Config{Access: twoUsers(), Limits: limits}, func(t *testing.T, w *world) {
		w.fill(3 * chunk)
		began := time.Now()
		ann, _ := w.readerAs("ann")
		all := w.subscribe(ann, wire.Subscribe{Subscription: 1})
		one := w.subscribe(ann, wire.Subscribe{Subscription: 2, Namespace: "default"})
		w.until(ann, func() bool { return all.Synced && one.Synced })
		assert.Zero(t, time.Since(began))
		assert.Zero(t, limits.Refusals(limit.MaxEvaluationRate))
	})
}

func TestConnectionsOfAUserShareTheirMessages(t *testing.T) {
	const perSecond, connections, messages = 1000, 5, 500
	limits := limit.NewSet().With(limit.MaxClientMessageRate, perSecond)
	run(t, connector.Config{Access: twoUsers(), Limits: limits}, func(t *testing.T, w *world) {
		began := time.Now()
		var results []func() error
		for range connections {
			eve, result := w.readerAs("eve")
			results = append(results, result)
			for range messages {
				require.NoError(t, eve.Send(t.Context(), &wire.Credit{Subscription: 7, Bytes: 1}))
			}
			require.NoError(t, eve.Conn.Close(nil))
		}
		for _, result := range results {
			require.NoError(t, result())
		}
		assert.InDelta(t, float64(connections*messages-perSecond)/perSecond, time.Since(began).Seconds(), 0.1)
		assert.Positive(t, limits.Refusals(limit.MaxClientMessageRate))
		assert.Zero(t, limits.Refusals(limit.MaxMessageRate))
	})
}

func TestReaderWithoutEvaluationsReceivesRefusalsAndErrors(t *testing.T) {
	limits := limit.NewSet().With(limit.MaxEvaluationRate, 1)
	run(t, connector.Config{Access: twoUsers(), Limits: limits}, func(t *testing.T, w *world) {
		w.fill(5 * chunk)
		eve, _ := w.readerAs("eve")
		none := w.subscribe(eve, wire.Subscribe{Subscription: 1, FieldSelector: "status.phase=Failed"})
		w.until(eve, func() bool { return none.Parts > 0 }) // the rest of the snapshot would take an hour
		synctest.Wait()
		began := time.Now()

		refused := w.subscribe(eve, wire.Subscribe{Subscription: 2, FieldSelector: "spec.nope=1"})
		w.until(eve, func() bool { return refused.Status != nil })
		assert.Equal(t, 400, refused.Status.Code)
		w.source.Fail(api.Unavailable("gone for a while"))
		w.until(eve, func() bool { return none.SourceError != nil })
		assert.Less(t, time.Since(began), time.Minute)
		assert.False(t, none.Synced)
	})
}
