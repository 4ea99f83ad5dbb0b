package kubeapi_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/kubeapi"
)

// If the version of a list is evicted while a slow client reads the list, the server aborts
// the response. The client then does not accept a partial list.
func TestInterruptedListIsAnErrorForItsClient(t *testing.T) {
	short := connector.Config{History: history.Limits{MinCapacity: 10, MaxCapacity: 10}}
	for name, header := range map[string]http.Header{
		"plain": {},
		"gzip":  {"Accept-Encoding": {"gzip"}},
		"table": {"Accept": {"application/json;as=Table;g=meta.k8s.io;v=v1"}},
	} {
		t.Run(name, func(t *testing.T) {
			runOn(t, short, kubeapi.Config{}, func(t *testing.T, w *world) {
				for i := range 5000 {
					w.put(api.Key(fmt.Sprintf("a/p%04d", i)), fmt.Sprintf("%x", i*i))
				}
				w.header = header
				response := w.request(http.MethodGet, "/api/v1/pods")
				require.Equal(t, 200, response.StatusCode)
				_, err := io.CopyN(io.Discard, response.Body, 10)
				require.NoError(t, err)
				synctest.Wait() // the handler is blocked until the client reads
				for range 20 {
					w.put("a/p4999", "web")
				}
				synctest.Wait()
				_, err = io.Copy(io.Discard, response.Body)
				require.ErrorIs(t, err, io.ErrUnexpectedEOF)
				w.header = http.Header{}
				assert.Contains(t, metrics(w), `watchglass_kubeapi_requests_total{code="410",verb="list"} 1`)
			})
		})
	}
}

// breaks is a backend whose lists fail after the given number of objects.
type breaks struct {
	kubeapi.Backend
	after int
}

func (b breaks) List(_ context.Context, _ api.Resource, _ kubeapi.ListOptions) (*kubeapi.List, error) {
	return &kubeapi.List{ResourceVersion: 7, Items: func(yield func(kubeapi.Object, error) bool) {
		for range b.after {
			if !yield(stone{}, nil) {
				return
			}
		}
		yield(nil, api.Expired("too slow"))
	}}, nil
}

func TestListThatFailsBeforeItsFirstByteIsAStatus(t *testing.T) {
	run(t, kubeapi.Config{Backend: breaks{still{}, 3}}, func(t *testing.T, w *world) {
		requireStatus(t, w.get("/api/v1/pods"), 410, "Expired")
	})
}
