package client

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/internal/skewtest"
)

// A recorded connector of this version accepts the client. A connector of another version
// refuses the client, and the program receives the refusal.
func TestSkewOfConnectors(t *testing.T) {
	for _, v := range skewtest.Load(t) {
		t.Run(v.Subprotocol(), func(t *testing.T) {
			welcomed := make(chan wire.Type, 1000)
			v.Welcomed = welcomed
			server := httptest.NewServer(v)
			defer server.Close()
			w := &world{t: t, ctx: dialContext(t), network: &network{}}
			c, err := Open(w.ctx, Config{URL: "ws" + strings.TrimPrefix(server.URL, "http"), Module: testModule(t), CacheDir: cacheDir(t)})
			require.NoError(t, err)
			defer c.Close()
			pods, err := c.Collection(w.ctx, "v1/pods", CollectionOptions{})
			require.NoError(t, err)
			if v.Current() {
				select {
				case next := <-welcomed:
					require.Equal(t, wire.TypeSubscribe, next)
				case <-w.ctx.Done():
					require.Fail(t, "the client did not accept the welcome", "%v", pods.Status().Err)
				}
				return
			}
			refused := w.reach(pods, func(s Status) bool { return s.Err != nil })
			for _, part := range []string{v.Subprotocol(), wire.Subprotocol, "reload the page", "upgrade the older one"} {
				require.ErrorContains(t, refused.Err, part)
			}
		})
	}
}
