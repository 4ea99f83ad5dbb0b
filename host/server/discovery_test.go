package server_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/kubeapi"
	"github.com/watchglass/watchglass/host/server"
	"github.com/watchglass/watchglass/host/source/memory"
)

func TestClientsOfWatchCanListTheKinds(t *testing.T) {
	source := memory.New()
	source.Put(api.Resource{Version: "v1", Name: "pods"}, "default/a", []byte(`{"metadata":{"name":"a","namespace":"default","uid":"u"}}`))
	c := connector.New(connector.Config{Source: source})
	t.Cleanup(func() { require.NoError(t, c.Close(context.Background())) })
	r := start(t, server.Config{Discovery: kubeapi.New(kubeapi.Config{Backend: c.Backend(), Access: access.Token("secret")})})
	const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	resp, body := r.get(t, "/api", "Accept", aggregated, "Authorization", "Bearer secret")
	assert.Equal(t, 200, resp.StatusCode)
	assert.Contains(t, body, `"resource":"pods"`)
	resp, body = r.get(t, "/apis", "Accept", aggregated, "Authorization", "Bearer secret")
	assert.Equal(t, 200, resp.StatusCode)
	assert.Contains(t, body, `"resource":"deployments"`)
	resp, _ = r.get(t, "/api", "Accept", aggregated)
	assert.Equal(t, 401, resp.StatusCode, "as a reader without a token")
	for _, path := range []string{"/api/v1", "/api/v1/pods", "/apis/apps/v1/deployments", "/version"} {
		resp, _ = r.get(t, path, "Authorization", "Bearer secret")
		assert.Equal(t, 404, resp.StatusCode, "objects are not served here: %s", path)
	}
}

// Discovery accepts the origins whose pages may connect to /watch, and no others.
func TestOriginsThatListTheKinds(t *testing.T) {
	asked := 0
	kinds := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = io.WriteString(w, "{}")
	})
	for name, c := range map[string]struct {
		config          server.Config
		origin, cookie  string
		code, preflight int
	}{
		"no page":                {server.Config{}, "", "", 200, 204},
		"loopback":               {server.Config{}, "http://localhost:5173", "", 200, 204},
		"other":                  {server.Config{}, "https://evil.example", "", 403, 403},
		"allowed":                {server.Config{AllowOrigins: []string{"https://ok.example"}}, "https://ok.example", "", 200, 204},
		"any":                    {server.Config{AllowOrigins: []string{"*"}}, "https://evil.example", "", 200, 204},
		"session":                {sessionConfig("https://ok.example"), "https://ok.example", "session=secret", 200, 204},
		"session of another":     {sessionConfig(), "http://localhost:5173", "session=secret", 403, 403},
		"other pages of a proxy": {server.Config{ProxySessions: true}, "http://localhost:5173", "", 403, 403},
	} {
		c.config.Discovery = kinds
		r := start(t, c.config)
		for _, method := range []string{http.MethodGet, http.MethodOptions} {
			before := asked
			req, err := http.NewRequestWithContext(t.Context(), method, r.http.URL+"/apis", nil)
			require.NoError(t, err)
			for header, value := range map[string]string{"Origin": c.origin, "Cookie": c.cookie} {
				if value != "" {
					req.Header.Set(header, value)
				}
			}
			resp, err := http.DefaultTransport.RoundTrip(req)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			code := map[string]int{http.MethodGet: c.code, http.MethodOptions: c.preflight}[method]
			assert.Equal(t, code, resp.StatusCode, "%s %s", name, method)
			allowed := ""
			if code != 403 {
				allowed = c.origin
			}
			assert.Equal(t, allowed, resp.Header.Get("Access-Control-Allow-Origin"), name)
			assert.Empty(t, resp.Header.Get("Access-Control-Allow-Credentials"), name)
			assert.Equal(t, code == 200, asked > before, name)
		}
	}
	r := start(t, server.Config{})
	resp, _ := r.get(t, "/apis")
	assert.Equal(t, 404, resp.StatusCode, "without kinds this is a path of the page")
}
