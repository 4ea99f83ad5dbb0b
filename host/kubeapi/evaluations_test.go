package kubeapi_test

import (
	"io"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/limit"
)

// When a user has used up the allowance of selector evaluations, the user's running list waits,
// and further lists are refused. Other users are unaffected.
func TestAListOfAUserWithoutEvaluationsIs429(t *testing.T) {
	limits := limit.NewSet().With(limit.MaxEvaluationRate, 1000)
	rules := &book{rights: map[string][]string{"ann": {"*"}, "eve": {"*"}}}
	config := kubeapi.Config{Access: rules, Limits: limits}
	runOn(t, connector.Config{Limits: limits}, config, func(t *testing.T, w *world) {
		w.fill(5000)
		const costly = "/api/v1/pods?fieldSelector=status.phase%3DFailed"
		answered := make(chan time.Duration, 1)
		began := time.Now()
		w.header.Set("Authorization", "Bearer eve")
		go func() {
			a := w.request(http.MethodGet, costly)
			a.Body.Close()
			answered <- time.Since(began)
		}()
		synctest.Wait()
		refused := w.answer("eve", costly)
		requireStatus(t, refused, http.StatusTooManyRequests, "TooManyRequests")
		assert.Contains(t, refused.text, "max-evaluation-rate")
		seconds, err := strconv.Atoi(refused.Header.Get("Retry-After"))
		require.NoError(t, err)
		assert.Positive(t, seconds)
		assert.Equal(t, 200, w.answer("eve", "/api/v1/pods?limit=1").StatusCode, "it evaluates nothing")
		assert.Equal(t, 200, w.answer("ann", "/api/v1/pods?limit=1&labelSelector=app%3Dweb").StatusCode)
		assert.Less(t, time.Since(began), time.Second)
		assert.Greater(t, <-answered, 8*time.Second, "for 10000 evaluations")
		time.Sleep(20 * time.Second)
		assert.Equal(t, 200, w.answer("eve", "/api/v1/pods?limit=1&labelSelector=app%3Dweb").StatusCode)
	})
}

// answer sends a request as a user and reads the response.
func (w *world) answer(user, path string) answer {
	w.t.Helper()
	response := w.ask(user, path)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(w.t, err)
	return answer{response, string(text)}
}
