package kubeapi_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/kubeapi"
)

// refuseAll is a policy that rejects every token.
type refuseAll struct{ access.Policy }

func (refuseAll) Authenticate(context.Context, string) (*access.User, *api.Status) {
	return nil, api.Unauthorized("no token")
}

func TestHealthRequiresNoToken(t *testing.T) {
	run(t, kubeapi.Config{Access: refuseAll{}}, func(t *testing.T, w *world) {
		for _, path := range []string{"/healthz", "/livez", "/readyz"} {
			a := w.get(path)
			assert.Equal(t, 200, a.StatusCode)
			assert.Equal(t, "ok", a.text, path)
			assert.Equal(t, "text/plain; charset=utf-8", a.Header.Get("Content-Type"))
			assert.Equal(t, "no-cache, private", a.Header.Get("Cache-Control"))
		}
		assert.Equal(t, "[+]ping ok\n[+]source ok\n[+]sign-in ok\n[+]shutdown ok\nreadyz check passed\n", w.get("/readyz?verbose").text)
		assert.Equal(t, "[+]ping ok\nlivez check passed\n", w.get("/livez?verbose=1").text)
		requireStatus(t, w.get("/readyz/nothing"), 401, "Unauthorized")
	})
}

func TestNotReadyWithoutItsSource(t *testing.T) {
	ready := func(ctx context.Context) error {
		_, bounded := ctx.Deadline()
		assert.True(t, bounded, "a probe is not kept waiting")
		return errors.New("dial tcp 10.0.0.1:2379: connection refused")
	}
	run(t, kubeapi.Config{Ready: ready}, func(t *testing.T, w *world) {
		a := w.get("/readyz")
		assert.Equal(t, 500, a.StatusCode)
		assert.Equal(t, "[+]ping ok\n[-]source failed: reason withheld\n[+]sign-in ok\n[+]shutdown ok\nreadyz check failed\n", a.text)
		assert.Equal(t, "ok", w.get("/livez").text, "a restart would not help")
		assert.Equal(t, "ok", w.get("/healthz").text)
	})
}

func TestNotReadyWhenItStops(t *testing.T) {
	run(t, kubeapi.Config{}, func(t *testing.T, w *world) {
		w.handler.Stop()
		a := w.get("/readyz")
		assert.Equal(t, 500, a.StatusCode)
		assert.Contains(t, a.text, "[-]shutdown failed")
		assert.Equal(t, "ok", w.get("/livez").text)
	})
}
