package main

import (
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/kubeserver"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/audit"
	"github.com/watchglass/watchglass/host/internal/certtest"
)

// reviewingCluster starts a fake kube-apiserver with one pod, and returns the path of a
// kubeconfig. The user ann may read everything, and root may impersonate ann. The token
// "t-NAME" belongs to the user NAME.
func reviewingCluster(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	review := func(path string, answer func(spec map[string]any) map[string]any) {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			var asked struct{ Spec map[string]any }
			assert.NoError(t, json.NewDecoder(r.Body).Decode(&asked))
			w.WriteHeader(http.StatusCreated)
			assert.NoError(t, json.NewEncoder(w).Encode(map[string]any{"status": answer(asked.Spec)}))
		})
	}
	review("/apis/authentication.k8s.io/v1/tokenreviews", func(spec map[string]any) map[string]any {
		name, ok := strings.CutPrefix(spec["token"].(string), "t-")
		return map[string]any{"authenticated": ok, "user": map[string]any{"username": name}}
	})
	review("/apis/authorization.k8s.io/v1/subjectaccessreviews", func(spec map[string]any) map[string]any {
		a, _ := spec["resourceAttributes"].(map[string]any)
		allowed := spec["user"] == "ann" || spec["user"] == "root" && a["verb"] == "impersonate" && a["resource"] == "users" && a["name"] == "ann"
		return map[string]any{"allowed": allowed}
	})
	for path, text := range map[string]string{
		"/version": `{"gitVersion":"v1.36.3"}`, "/api": `{"kind":"APIVersions","versions":["v1"]}`, "/apis": `{"kind":"APIGroupList","groups":[]}`,
		"/api/v1": `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["get","list","watch"]}]}`,
	} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) })
	}
	m := kubeserver.NewMemory()
	m.Put("default/one", func(rv api.ResourceVersion) string {
		return `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"one","namespace":"default","uid":"u","resourceVersion":"` + rv.String() + `"}}`
	})
	pods := kubeserver.NewHandler(&m.Server)
	mux.Handle("GET /", pods)
	server := httptest.NewServer(mux)
	t.Cleanup(func() { pods.EndWatches(); server.CloseClientConnections(); server.Close() })
	return file(t, "kubeconfig", `{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":"`+server.URL+`"}}],`+
		`"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],"users":[{"name":"u","user":{"token":"connector"}}]}`)
}

// code sends a GET and returns the status code.
func code(t *testing.T, client *http.Client, url string, headers ...string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	response, err := client.Do(r)
	require.NoError(t, err)
	io.Copy(io.Discard, response.Body)
	response.Body.Close()
	return response.StatusCode
}

func TestServeAcceptsSessionCookies(t *testing.T) {
	c := start(t, "serve", "--kubeconfig", reviewingCluster(t), "--auth", "kube", "--auth-cookie", "session",
		"--listen", "127.0.0.1:0", "--kube-api", "127.0.0.1:0")
	url, client := c.kubeURL(), http.DefaultClient
	const pods = "/api/v1/namespaces/default/pods"
	assert.Equal(t, 200, code(t, client, url+pods, "Cookie", "session=t-ann", "Sec-Fetch-Site", "same-origin"))
	assert.Equal(t, 200, code(t, client, url+pods, "Cookie", "session=t-ann", "Origin", url))
	assert.Equal(t, 403, code(t, client, url+pods, "Cookie", "session=t-ann"), "without an origin")
	assert.Equal(t, 403, code(t, client, url+pods, "Cookie", "session=t-ann", "Origin", "http://localhost:3000"))
	assert.Equal(t, 403, code(t, client, url+pods, "Cookie", "session=t-ben", "Origin", url), "ben has no rights")
	assert.Equal(t, 401, code(t, client, url+pods, "Cookie", "session=wrong", "Origin", url))
	assert.Equal(t, 200, code(t, client, url+pods, "Authorization", "Bearer t-ann"))
	for origin, want := range map[string]int{c.url(): 101, "http://localhost:3000": 403, "": 403} {
		header := http.Header{"Cookie": {"session=t-ann"}}
		if origin != "" {
			header.Set("Origin", origin)
		}
		ws, response, _ := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(c.url(), "http")+"/watch",
			&websocket.DialOptions{HTTPHeader: header, Subprotocols: []string{wire.Subprotocol}})
		require.NotNil(t, response)
		assert.Equal(t, want, response.StatusCode, origin)
		if ws != nil {
			ws.CloseNow()
		}
	}
}

func TestServeHonorsImpersonation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	c := start(t, "serve", "--kubeconfig", reviewingCluster(t), "--auth", "kube", "--listen", "127.0.0.1:0", "--kube-api", "127.0.0.1:0", "--audit-log", path)
	url, client := c.kubeURL()+"/api/v1/namespaces/default/pods", http.DefaultClient
	assert.Equal(t, 403, code(t, client, url, "Authorization", "Bearer t-root"))
	assert.Equal(t, 200, code(t, client, url, "Authorization", "Bearer t-root", "Impersonate-User", "ann"))
	assert.Equal(t, 403, code(t, client, url, "Authorization", "Bearer t-root", "Impersonate-User", "ann", "Impersonate-Group", "system:masters"))
	assert.Equal(t, 403, code(t, client, url, "Authorization", "Bearer t-root", "Impersonate-User", "bob"))
	assert.Equal(t, 200, code(t, client, url, "Authorization", "Bearer t-ann"))
	assert.Equal(t, 400, code(t, client, url, "Authorization", "Bearer t-ann", "Impersonate-Group", "system:masters"))
	assert.Zero(t, c.stop(), c.log)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var granted []string
	for line := range strings.Lines(string(text)) {
		var e audit.Event
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		if e.Decision == "allowed" {
			granted = append(granted, e.User+" by "+e.Impersonator)
		}
	}
	assert.Equal(t, []string{"ann by root", "ann by "}, granted)
}

func TestServeRefusesImpersonationWithoutACluster(t *testing.T) {
	c := start(t, "demo", "--pods", "10", "--rate", "0", "--listen", "127.0.0.1:0", "--kube-api", "127.0.0.1:0")
	assert.Equal(t, 403, code(t, http.DefaultClient, c.kubeURL()+"/api/v1/pods", "Impersonate-User", "ann"))
	assert.Equal(t, 200, code(t, http.DefaultClient, c.kubeURL()+"/api/v1/pods"))
}

func TestServeTrustsTheHeadersOfItsProxy(t *testing.T) {
	cert, key, pool := certificate(t)
	proxy, stranger := certtest.New(t, 2), certtest.New(t, 3)
	ca := file(t, "ca.crt", string(proxy.Cert))
	kubeAPI := freeAddress(t)
	c := start(t, "serve", "--kubeconfig", reviewingCluster(t), "--auth", "proxy", "--requestheader-client-ca-file", ca,
		"--requestheader-username-headers", "X-Forwarded-User", "--tls-cert-file", cert, "--tls-private-key-file", key,
		"--listen", "127.0.0.1:0", "--kube-api", kubeAPI)
	page := c.url()
	url := "https://" + kubeAPI + "/api/v1/namespaces/default/pods"
	client := func(certificates ...tls.Certificate) *http.Client {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: certificates}}
		t.Cleanup(transport.CloseIdleConnections)
		return &http.Client{Transport: transport}
	}
	trusted := client(proxy.TLS(t))
	assert.Equal(t, 200, code(t, trusted, url, "X-Forwarded-User", "ann"))
	assert.Equal(t, 403, code(t, trusted, url, "X-Forwarded-User", "ben"))
	assert.Equal(t, 401, code(t, trusted, url, "X-Remote-User", "ann"), "another header")
	assert.Equal(t, 401, code(t, client(), url, "X-Forwarded-User", "ann"))
	assert.Equal(t, 401, code(t, client(), url, "Authorization", "Bearer t-ann"))
	assert.Equal(t, 401, code(t, client(stranger.TLS(t)), url, "X-Forwarded-User", "ann"))
	assert.Equal(t, 200, code(t, client(), page+"/healthz"), "probes have no certificate")
	for origin, want := range map[string]int{page: 101, "http://localhost:3000": 403} {
		ws, response, _ := websocket.Dial(t.Context(), "wss"+strings.TrimPrefix(page, "https")+"/watch", &websocket.DialOptions{
			HTTPClient: trusted, HTTPHeader: http.Header{"X-Forwarded-User": {"ann"}, "Origin": {origin}}, Subprotocols: []string{wire.Subprotocol}})
		require.NotNil(t, response)
		assert.Equal(t, want, response.StatusCode, origin)
		if ws != nil {
			ws.CloseNow()
		}
	}
}
