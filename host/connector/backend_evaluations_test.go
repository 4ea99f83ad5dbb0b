package connector_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/selector"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/limit"
)

// ann and eve are the client names of two users. The connector keeps one allowance per
// client name.
const ann, eve = "user ann", "user eve"

// runPaced runs f with a connector that caches the pods and limits each client to
// perSecond selector evaluations per second.
func runPaced(t *testing.T, perSecond int, config connector.Config, f func(t *testing.T, w *world, limits *limit.Set)) {
	limits := limit.NewSet().With(limit.MaxEvaluationRate, int64(perSecond))
	config.Access, config.Limits = twoUsers(), limits
	run(t, config, func(t *testing.T, w *world) {
		release, err := w.connector.Hold(t.Context(), pods)
		require.NoError(t, err)
		defer release()
		f(t, w, limits)
	})
}

func selecting(client string, s selector.Selection) kubeapi.ListOptions {
	return kubeapi.ListOptions{Client: client, Selection: s}
}

func failed() selector.Selection  { return objects.Select("", "status.phase=Failed") }
func running() selector.Selection { return objects.Select("", "status.phase=Running") }

func TestListsUseTheEvaluationsOfTheirClient(t *testing.T) {
	const perSecond, count = 1000, 3000
	for name, o := range map[string]kubeapi.ListOptions{
		"whole": selecting(eve, failed()),
		"page":  {Client: eve, Selection: failed(), Limit: 10},
	} {
		t.Run(name, func(t *testing.T) {
			runPaced(t, perSecond, connector.Config{}, func(t *testing.T, w *world, limits *limit.Set) {
				w.fill(count)
				synctest.Wait()
				began := time.Now()
				listed, err := w.list(o).rest()
				require.NoError(t, err)
				assert.Empty(t, listed)
				looked := 2 * count // a field selector costs two evaluations per object: the object and its field
				elapsed := time.Since(began).Seconds()
				assert.GreaterOrEqual(t, elapsed, float64(looked-perSecond-chunk)/perSecond)
				assert.LessOrEqual(t, elapsed, float64(2*looked)/perSecond, "a page is counted, and then read")
				assert.Positive(t, limits.Refusals(limit.MaxEvaluationRate))
			})
		})
	}
}

func TestARefusedListWaitsUntilEvaluationsAreLeft(t *testing.T) {
	runPaced(t, 100, connector.Config{}, func(t *testing.T, w *world, _ *limit.Set) {
		w.fill(3000)
		synctest.Wait()
		first := w.list(selecting(eve, failed()))
		w.serving.Go(func() {
			_, err := first.rest()
			assert.NoError(t, err)
		})
		synctest.Wait() // the list waits for a chunk of evaluations
		refused := func() *api.Status {
			_, err := w.connector.Backend().List(t.Context(), pods, selecting(eve, failed()))
			var status *api.Status
			require.ErrorAs(t, err, &status)
			return status
		}
		retry := refused().RetryAfterSeconds
		assert.Greater(t, retry, 2)
		time.Sleep(time.Duration(retry-2) * time.Second) // virtual time
		assert.LessOrEqual(t, refused().RetryAfterSeconds, 2)
		time.Sleep(time.Minute) // long enough for the first list to end
	})
}

func TestAListIsRefusedWhileItsClientHasNoEvaluationsLeft(t *testing.T) {
	runPaced(t, 1000, connector.Config{}, func(t *testing.T, w *world, limits *limit.Set) {
		w.fill(3000)
		synctest.Wait()
		w.serving.Go(func() {
			_, err := w.list(selecting(eve, failed())).rest()
			assert.NoError(t, err)
		})
		synctest.Wait() // the list waits for evaluations
		began, before := time.Now(), limits.Refusals(limit.MaxEvaluationRate)
		_, err := w.connector.Backend().List(t.Context(), pods, selecting(eve, failed()))
		var status *api.Status
		require.ErrorAs(t, err, &status)
		assert.Equal(t, 429, status.Code)
		assert.Equal(t, "max-evaluation-rate", status.Cause)
		assert.Contains(t, status.Message, "max-evaluation-rate")
		assert.Positive(t, status.RetryAfterSeconds)
		assert.Equal(t, before+1, limits.Refusals(limit.MaxEvaluationRate))

		all, err := w.list(kubeapi.ListOptions{Client: eve}).rest()
		require.NoError(t, err, "a list without selectors evaluates nothing")
		assert.Len(t, all, 3000)
		listed, err := w.list(kubeapi.ListOptions{Client: ann, Namespace: "default", Selection: objects.Select("", "metadata.name=pod-00007")}).rest()
		require.NoError(t, err)
		assert.Len(t, listed, 1)
		assert.Zero(t, time.Since(began), "of virtual time: other clients did not wait")

		time.Sleep(10 * time.Second)
		listed, err = w.list(selecting(eve, objects.Select("app=none", ""))).rest()
		require.NoError(t, err, "the allowance is refilled")
		assert.Empty(t, listed)
	})
}

// Connections to /watch and requests of the Kubernetes API share one allowance.
func TestAListIsRefusedWhileConnectionsOfItsUserWaitForEvaluations(t *testing.T) {
	runPaced(t, 1000, connector.Config{}, func(t *testing.T, w *world, _ *limit.Set) {
		w.fill(10_000)
		w.floodAs("eve", &wire.Subscribe{Subscription: 1, Resource: "v1/pods", FieldSelector: "status.phase=Failed", Credit: 1 << 30})
		_, err := w.connector.Backend().List(t.Context(), pods, selecting(eve, failed()))
		require.ErrorIs(t, err, api.LimitReached(429, "max-evaluation-rate", ""))
		_, err = w.list(selecting(ann, objects.Select("app=web", ""))).rest()
		require.NoError(t, err)
	})
}

// A page that waits for evaluations contains the same objects as a page that does not
// wait.
func TestPagesThatWaitForEvaluationsAreComplete(t *testing.T) {
	const count = 2000
	pages := func(perSecond int) (all []string) {
		runPaced(t, perSecond, connector.Config{}, func(t *testing.T, w *world, _ *limit.Set) {
			w.fill(count)
			for i := 0; i < count; i += 3 {
				name := fmt.Sprintf("pod-%05d", i)
				w.source.Put(pods, key(name), pod(name, "Failed"))
			}
			synctest.Wait()
			o := kubeapi.ListOptions{Client: eve, Selection: failed(), Limit: 250}
			for more := true; more; more = o.Continue != "" {
				time.Sleep(time.Minute)
				p := w.list(o)
				items, err := p.rest()
				require.NoError(t, err)
				all = append(append(all, items...), fmt.Sprintf("%s %d %t", p.ResourceVersion, p.Remaining, p.Continue == ""))
				o.Continue = p.Continue
			}
		})
		return all
	}
	slowly := pages(100)
	assert.Len(t, slowly, (count+2)/3+3)
	assert.Equal(t, pages(1<<40), slowly)
}

func TestAListThatWaitsForEvaluationsEndsWithItsRequest(t *testing.T) {
	runPaced(t, 1000, connector.Config{}, func(t *testing.T, w *world, _ *limit.Set) {
		w.fill(4000) // 8000 evaluations take 7 s after the burst
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		list, err := w.connector.Backend().List(ctx, pods, selecting(eve, failed()))
		require.NoError(t, err)
		for _, err = range list.Items {
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
		assert.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)
		assert.Zero(t, w.connector.Stats().ListBytes)
	})
}

// watching is a watch whose events the test records.
type watching struct {
	kubeapi.Watch
	t   *testing.T
	all []string
}

func (w *world) watch(o kubeapi.WatchOptions) *watching {
	w.t.Helper()
	started, err := w.connector.Backend().Watch(w.t.Context(), pods, o)
	require.NoError(w.t, err)
	return &watching{Watch: started, t: w.t}
}

// take records the events that arrive within d. It returns the error that ended the
// watch, if any.
func (w *watching) take(d time.Duration) error {
	ctx, cancel := context.WithTimeout(w.t.Context(), d)
	defer cancel()
	for {
		events, err := w.Next(ctx)
		for _, e := range events {
			w.all = append(w.all, fmt.Sprint(e.Type, " ", e.ResourceVersion, " ", e.InitialEventsEnd))
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func fromNow(client string, s selector.Selection) kubeapi.WatchOptions {
	return kubeapi.WatchOptions{Client: client, Selection: s, SendInitialEvents: api.False, Match: api.MatchNotOlderThan}
}

func TestAWatchWithoutEvaluationsFallsBehindAndCatchesUp(t *testing.T) {
	const perSecond, changes = 1000, 5000
	runPaced(t, perSecond, connector.Config{}, func(t *testing.T, w *world, limits *limit.Set) {
		w.fill(1)
		synctest.Wait()
		slow, healthy := w.watch(fromNow(eve, running())), w.watch(fromNow(ann, objects.Select("", "status.phase=Failed")))
		defer slow.Close()
		defer healthy.Close()
		var expected []string
		for range changes {
			expected = append(expected, fmt.Sprint(api.Modified, " ", w.put("pod-00000"), " false"))
		}
		w.source.Put(pods, key("pod-00001"), pod("pod-00001", "Failed"))
		synctest.Wait()
		require.NoError(t, healthy.take(0))
		require.NoError(t, slow.take(time.Nanosecond))
		assert.NotEmpty(t, slow.all)
		assert.LessOrEqual(t, len(slow.all), (perSecond+2*chunk)/2, "a change costs two evaluations")
		assert.Positive(t, limits.Refusals(limit.MaxEvaluationRate))
		require.NoError(t, slow.take(time.Minute))
		assert.Equal(t, expected, slow.all, "each change once and in order")
		require.NoError(t, healthy.take(time.Minute))
		assert.Len(t, healthy.all, 1)
	})
}

func TestInitialEventsOfAWatchSpendTheEvaluationsOfItsClient(t *testing.T) {
	const perSecond, count = 1000, 3000
	runPaced(t, perSecond, connector.Config{}, func(t *testing.T, w *world, _ *limit.Set) {
		var expected []string
		var last api.ResourceVersion
		for i := range count {
			last = w.put(fmt.Sprintf("pod-%05d", i))
			expected = append(expected, fmt.Sprint(api.Added, " ", last, " false"))
		}
		synctest.Wait()
		began := time.Now()
		watch := w.watch(kubeapi.WatchOptions{Client: eve, Selection: running(), SendInitialEvents: api.True, Match: api.MatchNotOlderThan, Bookmarks: true})
		defer watch.Close()
		require.NoError(t, watch.take(time.Second))
		assert.Empty(t, watch.all)
		changed := []api.ResourceVersion{w.put("pod-00001"), w.put("pod-02999"), w.put("pod-09999")}
		for len(watch.all) < count+1 {
			require.NoError(t, watch.take(time.Second))
			require.Less(t, time.Since(began), time.Minute)
		}
		assert.GreaterOrEqual(t, time.Since(began).Seconds(), float64(2*count-perSecond-chunk)/perSecond)
		require.NoError(t, watch.take(10*time.Second))
		expected = append(expected, fmt.Sprint(api.Bookmark, " ", last, " true"),
			fmt.Sprint(api.Modified, " ", changed[0], " false"), fmt.Sprint(api.Modified, " ", changed[1], " false"), fmt.Sprint(api.Added, " ", changed[2], " false"))
		assert.Equal(t, expected, watch.all)
	})
}

func TestAWatchWithoutEvaluationsThatFallsBehindTheHistoryEndsWith410(t *testing.T) {
	small := connector.Config{History: history.Limits{MinCapacity: 100, MaxCapacity: 100}}
	for name, o := range map[string]kubeapi.WatchOptions{
		"live":           fromNow(eve, running()),
		"initial events": {Client: eve, Selection: running(), SendInitialEvents: api.True, Match: api.MatchNotOlderThan},
	} {
		t.Run(name, func(t *testing.T) {
			runPaced(t, 100, small, func(t *testing.T, w *world, _ *limit.Set) {
				w.fill(2000)
				synctest.Wait()
				watch := w.watch(o)
				defer watch.Close()
				for range 2000 {
					w.put("pod-00000")
				}
				synctest.Wait()
				err := watch.take(time.Minute)
				require.ErrorIs(t, err, api.Expired(""))
				assert.False(t, errors.Is(err, context.DeadlineExceeded))
			})
		})
	}
}

func TestRequestsWithoutSelectorsSpendNoEvaluations(t *testing.T) {
	runPaced(t, 1, connector.Config{}, func(t *testing.T, w *world, limits *limit.Set) {
		w.fill(3 * chunk)
		synctest.Wait()
		began := time.Now()
		for range 3 {
			listed, err := w.list(kubeapi.ListOptions{Client: ann, Namespace: "default"}).rest()
			require.NoError(t, err)
			assert.Len(t, listed, 3*chunk)
			watch := w.watch(kubeapi.WatchOptions{Client: ann, ResourceVersion: "0"})
			require.NoError(t, watch.take(time.Nanosecond))
			assert.Len(t, watch.all, 3*chunk)
			watch.Close()
			_, err = w.connector.Backend().Get(t.Context(), pods, key("pod-00001"), "")
			require.NoError(t, err)
		}
		assert.Less(t, time.Since(began), time.Millisecond)
		assert.Zero(t, limits.Refusals(limit.MaxEvaluationRate))
	})
}
