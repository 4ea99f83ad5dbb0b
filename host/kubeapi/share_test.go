package kubeapi_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/limit"
)

// ask sends a request as a user and does not read the response.
func (w *world) ask(user, path string) *http.Response {
	w.t.Helper()
	synctest.Wait() // let the requests of other goroutines read w.header first
	w.header.Set("Authorization", "Bearer "+user)
	return w.request(http.MethodGet, path)
}

func (w *world) fill(objects int) {
	for i := range objects {
		w.put(api.Key(fmt.Sprintf("a/p%05d", i)), "web")
	}
}

func requireTooMany(t *testing.T, r *http.Response, l *limit.Limit) {
	t.Helper()
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	a := answer{r, string(text)}
	requireStatus(t, a, 429, "TooManyRequests")
	assert.Equal(t, "1", a.Header.Get("Retry-After"))
	assert.Contains(t, a.text, l.Name)
}

// Requests that wait for a resource version do not occupy the seats of requests
// that can be served at once.
func TestRequestsThatWaitForAVersionDoNotDelayOthers(t *testing.T) {
	token := base64.RawURLEncoding.EncodeToString([]byte(`{"v":"meta.k8s.io/v1","rv":99999999,"start":"a/b\u0000"}`))
	for _, query := range []string{
		"/api/v1/pods?resourceVersion=99999999",
		"/api/v1/pods?resourceVersion=99999999&resourceVersionMatch=Exact",
		"/api/v1/pods?resourceVersion=99999999&limit=1",
		"/api/v1/pods?continue=" + token,
		"/api/v1/namespaces/a/pods/one?resourceVersion=99999999",
	} {
		run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
			w.put("a/one", "web")
			require.Equal(t, 200, w.get("/api/v1/pods").StatusCode)
			// A request holds one of the 400 seats until it begins to wait, and one user
			// may hold only half of them. All requests together would exceed this half, but
			// the requests of one batch do not.
			const waiting, together = 420, 105
			codes := make(chan int)
			begun := time.Now()
			for range waiting / together {
				for range together {
					go func() {
						r := w.request(http.MethodGet, query)
						r.Body.Close()
						codes <- r.StatusCode
					}()
				}
				synctest.Wait()
			}
			assert.Contains(t, metrics(w), "watchglass_kubeapi_waiting_requests 420\n")
			for range 40 {
				require.Equal(t, 200, w.get("/api/v1/pods").StatusCode)
				require.Equal(t, 200, w.get("/api/v1/namespaces/a/pods/one").StatusCode)
			}
			assert.Zero(t, time.Since(begun))
			for range waiting {
				assert.Equal(t, 504, <-codes)
			}
		})
	}
}

func TestWaitingRequestsBeyondTheLimitAre429(t *testing.T) {
	limits := limit.NewSet().With(limit.MaxWaitingRequests, 4)
	rules := &book{rights: map[string][]string{"one": {"*"}, "two": {"*"}}}
	run(t, kubeapi.Config{Access: rules, Limits: limits}, func(t *testing.T, w *world) {
		w.put("a/one", "web")
		w.ask("one", "/api/v1/pods").Body.Close()
		codes := make(chan int)
		for range 2 {
			go func() {
				r := w.request(http.MethodGet, "/api/v1/pods?resourceVersion=99")
				r.Body.Close()
				codes <- r.StatusCode
			}()
		}
		requireTooMany(t, w.ask("one", "/api/v1/pods?resourceVersion=99"), limit.MaxWaitingRequests)
		assert.EqualValues(t, 1, limits.Refusals(limit.MaxWaitingRequests))
		r := w.ask("two", "/api/v1/pods?resourceVersion=99")
		r.Body.Close()
		assert.Equal(t, 504, r.StatusCode, "other clients have room")
		for range 2 {
			assert.Equal(t, 504, <-codes)
		}
	})
}

// A user whose clients do not read the responses occupies at most half of the seats. Even
// with several such users, other users are still served.
func TestAUserLeavesRoomForOthers(t *testing.T) {
	rules := &book{rights: map[string][]string{"greedy": {"*"}, "likewise": {"*"}, "modest": {"*"}}}
	limits := limit.NewSet().With(limit.MaxRequests, 20)
	run(t, kubeapi.Config{Access: rules, Limits: limits}, func(t *testing.T, w *world) {
		w.fill(900)
		for range 10 {
			r := w.ask("greedy", "/api/v1/pods")
			defer r.Body.Close()
			require.Equal(t, 200, r.StatusCode)
		}
		requireTooMany(t, w.ask("greedy", "/api/v1/pods"), limit.MaxRequests)
		for range 5 {
			r := w.ask("likewise", "/api/v1/pods")
			defer r.Body.Close()
			require.Equal(t, 200, r.StatusCode)
		}
		requireTooMany(t, w.ask("likewise", "/api/v1/namespaces/a/pods/p00001"), limit.MaxRequests)
		r := w.ask("modest", "/api/v1/namespaces/a/pods/p00001")
		r.Body.Close()
		assert.Equal(t, 200, r.StatusCode)
		assert.EqualValues(t, 2, limits.Refusals(limit.MaxRequests))
		assert.Contains(t, metrics(w), "watchglass_kubeapi_request_seats 15\n")
	})
}

// weighed is a backend whose lists take an hour and whose Weigh returns the given number of
// objects.
type weighed struct {
	slowly
	objects int
}

func (b weighed) Weigh(context.Context, api.Resource, kubeapi.ListOptions, func() error) (int, error) {
	return b.objects, nil
}

func TestAListTakesSeatsByTheNumberOfObjects(t *testing.T) {
	for objects, seats := range map[int]int{0: 1, 1: 1, 1000: 1, 1001: 2, 4500: 5, 1_000_000: 10} {
		run(t, kubeapi.Config{Backend: weighed{slowly{still{}}, objects}}, func(t *testing.T, w *world) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://cluster/api/v1/pods", nil)
			require.NoError(t, err)
			go w.client.Do(r)
			synctest.Wait()
			assert.Contains(t, metrics(w), fmt.Sprintf("watchglass_kubeapi_request_seats %d\n", seats), "%d objects", objects)
			cancel()
			synctest.Wait()
			assert.Contains(t, metrics(w), "watchglass_kubeapi_request_seats 0\n")
		})
	}
}

// A list whose size requires more seats than the limit takes all seats.
func TestHeaviestListUsesAllSeats(t *testing.T) {
	limits := limit.NewSet().With(limit.MaxRequests, 3)
	run(t, kubeapi.Config{Limits: limits}, func(t *testing.T, w *world) {
		w.fill(5000)
		r := w.ask("", "/api/v1/pods")
		require.Equal(t, 200, r.StatusCode)
		assert.Contains(t, metrics(w), "watchglass_kubeapi_request_seats 3\n")
		requireTooMany(t, w.ask("", "/api/v1/pods?limit=1"), limit.MaxRequests)
		r.Body.Close()
		assert.Equal(t, 200, w.get("/api/v1/pods?limit=1").StatusCode)
	})
}

// Requests that wait for the first list of a resource do not occupy the seats of requests
// that can be served at once.
func TestRequestsThatWaitForAListDoNotDelayOthers(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		require.Equal(t, 200, w.get("/api/v1/nodes").StatusCode)
		w.source.stalled = true
		const waiting = 420
		codes := make(chan int)
		for range waiting {
			go func() {
				r := w.request(http.MethodGet, "/api/v1/pods")
				r.Body.Close()
				codes <- r.StatusCode
			}()
		}
		synctest.Wait()
		assert.Contains(t, metrics(w), "watchglass_kubeapi_waiting_requests 420\n")
		for range 40 {
			require.Equal(t, 200, w.get("/api/v1/nodes").StatusCode)
		}
		for range waiting {
			assert.Equal(t, 429, <-codes)
		}
	})
}
