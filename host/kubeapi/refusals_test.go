package kubeapi_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/limit"
)

// busy is a policy that refuses every request with 429. The name of a user is the user's
// token.
type busy struct{}

func (busy) Authenticate(_ context.Context, token string) (*access.User, *api.Status) {
	return &access.User{Name: token}, nil
}

func (busy) Authorize(context.Context, *access.User, access.Request) (time.Time, *api.Status) {
	return time.Time{}, api.LimitReached(429, limit.MaxReviews.Name, "too many reviews")
}

func TestAClientThatIgnoresRetryAfterIsSlowedDown(t *testing.T) {
	limits := limit.NewSet().With(limit.MaxWaitingRequests, 3)
	run(t, kubeapi.Config{Access: busy{}, Limits: limits}, func(t *testing.T, w *world) {
		refuse := func(user string) time.Duration {
			began := time.Now()
			requireTooMany(t, w.ask(user, "/api/v1/pods"), limit.MaxReviews)
			return time.Since(began)
		}
		for range 20 {
			assert.Zero(t, refuse("hasty"), "a few refusals are not delayed")
		}
		assert.Equal(t, time.Second, refuse("hasty"))

		immediate := 0
		for i := range 10 { // a few may share the counter of the hasty client
			if refuse("patient-"+strconv.Itoa(i)) == 0 {
				immediate++
			}
		}
		assert.GreaterOrEqual(t, immediate, 5, "other clients are not delayed")

		time.Sleep(time.Minute) // virtual time, in which the hasty client sends nothing
		for range 20 {
			assert.Zero(t, refuse("hasty"))
		}
		var mu sync.Mutex
		took := map[time.Duration]int{}
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				began := time.Now()
				requireTooMany(t, w.request("GET", "/api/v1/pods"), limit.MaxReviews) // sent by the hasty client
				mu.Lock()
				defer mu.Unlock()
				took[time.Since(began)]++
			})
		}
		all.Wait()
		assert.Equal(t, map[time.Duration]int{0: 2, time.Second: 3}, took, "max-waiting-requests refusals wait")
	})
}
