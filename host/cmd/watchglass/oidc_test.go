package main

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"encoding/pem"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	jose "github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/connector/connectortest"
)

// tokenIssuer is an OpenID Connect issuer. It responds with errors until up is true.
type tokenIssuer struct {
	url, ca string // issuer URL, and path of the file with the CA of its certificate
	up      atomic.Bool
}

var issuerKey = sync.OnceValue(func() crypto.Signer {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

func startIssuer(t *testing.T) *tokenIssuer {
	t.Helper()
	i := &tokenIssuer{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !i.up.Load() {
			http.Error(w, "starting", http.StatusServiceUnavailable)
			return
		}
		body := any(map[string]any{"issuer": i.url, "jwks_uri": i.url + "/keys"})
		if r.URL.Path == "/keys" {
			body = jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: issuerKey().Public(), KeyID: "1", Use: "sig"}}}
		}
		assert.NoError(t, json.NewEncoder(w).Encode(body))
	}))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	server.StartTLS()
	t.Cleanup(server.Close)
	i.url = server.URL
	i.ca = file(t, "ca.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	return i
}

// token signs an ID token.
func (i *tokenIssuer) token(t *testing.T, user, audience string) string {
	t.Helper()
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{
		"iss": i.url, "aud": audience, "name": user, "team": "web", "exp": time.Now().Add(time.Hour).Unix(),
	})
	token.Header["kid"] = "1"
	signed, err := token.SignedString(issuerKey())
	require.NoError(t, err)
	return signed
}

func TestServeAcceptsIDTokens(t *testing.T) {
	i := startIssuer(t)
	i.up.Store(true)
	c := start(t, "serve", "--kubeconfig", reviewingCluster(t), "--auth", "oidc", "--oidc-issuer-url", i.url, "--oidc-client-id", "dashboard",
		"--oidc-ca-file", i.ca, "--oidc-username-claim", "name", "--oidc-username-prefix", "-", "--oidc-required-claim", "team=web",
		"--auth-cookie", "session", "--listen", "127.0.0.1:0", "--kube-api", "127.0.0.1:0")
	url, client := c.kubeURL(), http.DefaultClient
	const pods = "/api/v1/namespaces/default/pods"
	ann, ben := i.token(t, "ann", "dashboard"), i.token(t, "ben", "dashboard")
	assert.Equal(t, 200, code(t, client, url+pods, "Authorization", "Bearer "+ann))
	assert.Equal(t, 403, code(t, client, url+pods, "Authorization", "Bearer "+ben), "ben has no rights")
	assert.Equal(t, 401, code(t, client, url+pods, "Authorization", "Bearer "+i.token(t, "ann", "other")))
	assert.Equal(t, 401, code(t, client, url+pods, "Authorization", "Bearer t-ann"), "a token of the cluster")
	assert.Equal(t, 401, code(t, client, url+pods))
	assert.Equal(t, 200, code(t, client, url+pods, "Cookie", "session="+ann, "Origin", url))
	assert.Equal(t, 403, code(t, client, url+pods, "Cookie", "session="+ann), "without an origin")
	assert.Equal(t, 200, code(t, client, url+pods, "Authorization", "Bearer "+i.token(t, "root", "dashboard"), "Impersonate-User", "ann"))
	for presented, want := range map[string]int{ann: 0, ben: 403, "t-ann": 401} {
		assert.Equal(t, want, subscribe(t, c.url(), presented), presented)
	}
}

// subscribe connects over WebSocket with a token and subscribes to pods. It returns the
// code of the refusal, or 0.
func subscribe(t *testing.T, url, token string) int {
	t.Helper()
	ws, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(url, "http")+"/watch", &websocket.DialOptions{Subprotocols: []string{wire.Subprotocol}})
	require.NoError(t, err)
	reader := connectortest.NewReader(connectortest.Over(ws))
	require.NoError(t, reader.Hello(t.Context(), token))
	if reader.Status != nil {
		return reader.Status.Code
	}
	sub, err := reader.Subscribe(t.Context(), wire.Subscribe{Subscription: 1, Resource: "v1/pods", Credit: connectortest.Endless})
	require.NoError(t, err)
	require.NoError(t, reader.UntilSynced(t.Context(), sub))
	ws.CloseNow()
	if sub.Status != nil {
		return sub.Status.Code
	}
	return 0
}

func TestServeIsReadyOnceTheIssuerResponds(t *testing.T) {
	i := startIssuer(t)
	admin := freeAddress(t)
	c := start(t, "serve", "--kubeconfig", reviewingCluster(t), "--auth", "oidc", "--oidc-issuer-url", i.url, "--oidc-client-id", "dashboard",
		"--oidc-ca-file", i.ca, "--oidc-username-claim", "name", "--oidc-username-prefix", "-",
		"--listen", "127.0.0.1:0", "--kube-api", "127.0.0.1:0", "--admin", admin)
	url, kubeAPI := c.url(), c.kubeURL()
	status, text := get(t, url+"/readyz")
	assert.Equal(t, 503, status)
	assert.Equal(t, "not ready: users cannot sign in\n", text)
	require.Eventually(t, func() bool {
		_, text = get(t, "http://"+admin+"/readyz")
		return strings.Contains(text, "503 Service Unavailable: starting")
	}, time.Minute, 10*time.Millisecond, "operators see the reason: %s", text)
	status, text = get(t, kubeAPI+"/readyz")
	assert.Equal(t, 500, status)
	assert.Contains(t, text, "[-]sign-in failed: reason withheld")
	token := i.token(t, "ann", "dashboard")
	assert.Equal(t, 503, code(t, http.DefaultClient, kubeAPI+"/api/v1/namespaces/default/pods", "Authorization", "Bearer "+token))
	i.up.Store(true)
	require.Eventually(t, func() bool {
		status, _ = get(t, url+"/readyz")
		return status == 200
	}, time.Minute, 10*time.Millisecond)
	assert.Equal(t, 200, code(t, http.DefaultClient, kubeAPI+"/api/v1/namespaces/default/pods", "Authorization", "Bearer "+token))
	_, flags := get(t, "http://"+admin+"/flagz")
	assert.Contains(t, flags, "\noidc-client-id=\"dashboard\"\n")
	assert.Contains(t, flags, "\noidc-signing-algs=[\"RS256\"]\n")
}

func TestSettingsOfTheIssuerAreChecked(t *testing.T) {
	cluster := reviewingCluster(t)
	for args, want := range map[string]string{
		"--oidc-issuer-url http://i":                           `--auth oidc: issuer URL "http://i": expected an https URL`,
		"--oidc-issuer-url https://i --oidc-signing-algs none": `signing algorithm "none": expected one of RS256`,
		"--oidc-issuer-url https://i --oidc-required-claim a":  `--oidc-required-claim "a": expected NAME=VALUE`,
		"--oidc-issuer-url https://i --oidc-ca-file /no/file":  "--oidc-ca-file: open /no/file",
		"--oidc-issuer-url https://i --oidc-ca-file /dev/null": "--oidc-ca-file: the file contains no certificate",
	} {
		c := start(t, append([]string{"serve", "--kubeconfig", cluster, "--auth", "oidc", "--oidc-client-id", "c", "--listen", "127.0.0.1:0"}, strings.Fields(args)...)...)
		<-c.ended
		assert.Equal(t, 1, c.code, args)
		assert.Contains(t, c.log.String(), want)
	}
}
