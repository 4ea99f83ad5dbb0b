package kubeapi_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/limit"
)

func TestWatchesBeyondTheLimitAre429(t *testing.T) {
	limits := limit.NewSet().With(limit.MaxWatches, 3)
	run(t, kubeapi.Config{Limits: limits}, func(t *testing.T, w *world) {
		w.put("a/one", "web")
		first, second := w.watch("/api/v1/pods?watch=1"), w.watch("/api/v1/pods?watch=1")
		a := w.get("/api/v1/pods?watch=1")
		requireStatus(t, a, 429, "TooManyRequests")
		assert.Contains(t, a.text, "(limit: max-watches)")
		assert.EqualValues(t, 1, limits.Refusals(limit.MaxWatches))
		assert.Equal(t, "1", a.Header.Get("Retry-After"))
		assert.Equal(t, 200, w.get("/api/v1/pods").StatusCode, "lists have a limit of their own")
		second.close()
		synctest.Wait()
		third := w.watch("/api/v1/pods?watch=1")
		assert.Equal(t, "ADDED one 2", third.formatNext())
		third.close()
		first.close()
	})
}

// slowly is a backend whose lists take an hour.
type slowly struct{ kubeapi.Backend }

func (s slowly) List(ctx context.Context, _ api.Resource, _ kubeapi.ListOptions) (*kubeapi.List, error) {
	select {
	case <-time.After(time.Hour):
		return nil, api.Internal("the hour is over")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestRequestsBeyondTheLimitAre429(t *testing.T) {
	run(t, kubeapi.Config{Backend: slowly{still{}}, Limits: limit.NewSet().With(limit.MaxRequests, 1)}, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://cluster/api/v1/pods", nil)
		require.NoError(t, err)
		left := make(chan error, 1)
		go func() {
			_, err := w.client.Do(r)
			left <- err
		}()
		synctest.Wait()
		requireStatus(t, w.get("/api/v1/namespaces/a/pods/one"), 429, "TooManyRequests")
		requireStatus(t, w.get("/apis"), 429, "TooManyRequests")
		w.watch("/api/v1/pods?watch=1").close()
		cancel()
		require.ErrorIs(t, <-left, context.Canceled)
		synctest.Wait()
		assert.Equal(t, 200, w.get("/api/v1/namespaces/a/pods/one").StatusCode)
		assert.Contains(t, metrics(w), `watchglass_kubeapi_requests_total{code="499",verb="list"} 1`, "the client left")
	})
}

// undecided is a policy whose Authenticate blocks until ctx is done.
type undecided struct{ access.Policy }

func (undecided) Authenticate(ctx context.Context, _ string) (*access.User, *api.Status) {
	<-ctx.Done()
	return nil, api.Unavailable("the client left")
}

func TestAuthenticationIsWithinTheRequestLimit(t *testing.T) {
	run(t, kubeapi.Config{Access: undecided{}, Limits: limit.NewSet().With(limit.MaxRequests, 1)}, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://cluster/api/v1/pods?watch=1", nil)
		require.NoError(t, err)
		left := make(chan error, 1)
		go func() {
			_, err := w.client.Do(r)
			left <- err
		}()
		synctest.Wait()
		a := w.get("/version")
		requireStatus(t, a, 429, "TooManyRequests")
		assert.Contains(t, a.text, "max-requests")
		cancel()
		require.ErrorIs(t, <-left, context.Canceled)
	})
}

func TestLongTokenIsRefusedWithoutReview(t *testing.T) {
	limits := limit.NewSet().With(limit.MaxTokenBytes, 1000)
	rules := &book{rights: map[string][]string{strings.Repeat("x", 1000): {"*"}}}
	run(t, kubeapi.Config{Access: rules, Limits: limits}, func(t *testing.T, w *world) {
		w.header.Set("Authorization", "Bearer "+strings.Repeat("x", 1000))
		assert.Equal(t, 200, w.get("/api/v1/pods").StatusCode)
		w.header.Set("Authorization", "Bearer "+strings.Repeat("x", 1001))
		a := w.get("/api/v1/pods")
		requireStatus(t, a, 413, "RequestEntityTooLarge")
		assert.Contains(t, a.text, "max-token-bytes")
		assert.EqualValues(t, 1, limits.Refusals(limit.MaxTokenBytes))
	})
}

// Lists and watches have the same selector limits. The handler refuses a selector above a
// limit before the backend receives it.
func TestSelectorsBeyondTheLimitsAre413(t *testing.T) {
	limits := limit.NewSet().With(limit.MaxSelectorBytes, 100).With(limit.MaxSelectorRequirements, 3).With(limit.MaxSelectorValues, 4)
	run(t, kubeapi.Config{Limits: limits}, func(t *testing.T, w *world) {
		w.put("a/one", "web")
		for _, c := range []struct {
			query string
			limit *limit.Limit
		}{
			{"labelSelector=" + strings.Repeat("a", 101), limit.MaxSelectorBytes},
			{"fieldSelector=metadata.name!=" + strings.Repeat("a", 100), limit.MaxSelectorBytes},
			{"labelSelector=a,b,c,d", limit.MaxSelectorRequirements},
			{"labelSelector=a,b&fieldSelector=metadata.name!=x,metadata.name!=y", limit.MaxSelectorRequirements},
			{"labelSelector=app+in+(a,b,c,d,e)", limit.MaxSelectorValues},
		} {
			for _, path := range []string{"/api/v1/pods?", "/api/v1/pods?watch=1&", "/api/v1/namespaces/a/pods?"} {
				before := limits.Refusals(c.limit)
				a := w.get(path + c.query)
				status := requireStatus(t, a, 413, "RequestEntityTooLarge")
				assert.Contains(t, status["message"], c.limit.Name)
				assert.Contains(t, a.text, `"causes":[{"reason":"`+c.limit.Name+`"`)
				assert.Equal(t, before+1, limits.Refusals(c.limit))
			}
		}
		requireStatus(t, w.get("/api/v1/pods?labelSelector=a+in+b"), 400, "BadRequest")
		requireStatus(t, w.get("/api/v1/pods?watch=1&fieldSelector=status.phase"), 400, "BadRequest")
		assert.Equal(t, 200, w.get("/api/v1/pods?labelSelector=app+in+(a,b,c),x&fieldSelector=metadata.name!=x").StatusCode)
	})
}

func TestListTimeoutIsALimit(t *testing.T) {
	limits := limit.NewSet().With(limit.ListTimeout, int64(4*time.Second))
	runOn(t, connector.Config{Limits: limits}, kubeapi.Config{}, func(t *testing.T, w *world) {
		w.source.stalled = true
		begun := time.Now()
		a := w.get("/api/v1/pods")
		assert.Equal(t, 4*time.Second, time.Since(begun))
		requireStatus(t, a, 429, "TooManyRequests")
		assert.Contains(t, a.text, "list-timeout")
		assert.EqualValues(t, 1, limits.Refusals(limit.ListTimeout))
	})
}

func TestWriteTimeoutIsALimit(t *testing.T) {
	limits := limit.NewSet().With(limit.WriteTimeout, int64(4*time.Second))
	run(t, kubeapi.Config{Limits: limits}, func(t *testing.T, w *world) {
		w.fill(2000)
		r := w.request(http.MethodGet, "/api/v1/pods")
		defer r.Body.Close()
		time.Sleep(4*time.Second + time.Millisecond)
		synctest.Wait()
		assert.Contains(t, metrics(w), `watchglass_kubeapi_request_seats 0`, "the list has ended")
		assert.EqualValues(t, 1, limits.Refusals(limit.WriteTimeout))
	})
}

func TestWatchDurationIsALimit(t *testing.T) {
	limits := limit.NewSet().With(limit.MinWatchTimeout, int64(time.Minute))
	run(t, kubeapi.Config{Limits: limits}, func(t *testing.T, w *world) {
		begun := time.Now()
		w.watch("/api/v1/pods?watch=1").ends()
		assert.GreaterOrEqual(t, time.Since(begun), time.Minute)
		assert.LessOrEqual(t, time.Since(begun), 2*time.Minute)
	})
}

func TestListsAndWatchesAreRefusedWhileMemoryIsShort(t *testing.T) {
	limits := limit.NewSet()
	run(t, kubeapi.Config{Limits: limits}, func(t *testing.T, w *world) {
		watch := w.watch("/api/v1/pods?watch=1&resourceVersion=1")
		w.put("a/x", "web")
		assert.Equal(t, "ADDED x 2", watch.formatNext())
		limits.SetReached(limit.MaxMemory, true)
		for _, path := range []string{"/api/v1/pods", "/api/v1/namespaces/a/pods", "/api/v1/pods?watch=1&timeoutSeconds=1"} {
			a := w.get(path)
			assert.Equal(t, 503, a.StatusCode, path)
			assert.Equal(t, "5", a.Header.Get("Retry-After"))
			assert.Contains(t, a.text, "(limit: max-memory)")
		}
		for _, path := range []string{"/healthz", "/api/v1/namespaces/a/pods/x", "/api"} {
			assert.Equal(t, 200, w.get(path).StatusCode, path)
		}
		w.put("a/y", "web")
		assert.Equal(t, "ADDED y 3", watch.formatNext(), "earlier clients remain connected")
		watch.close()
		limits.SetReached(limit.MaxMemory, false)
		assert.Equal(t, 200, w.get("/api/v1/pods").StatusCode)
		assert.EqualValues(t, 3, limits.Refusals(limit.MaxMemory))
	})
}
