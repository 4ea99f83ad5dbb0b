package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/audit"
	"github.com/watchglass/watchglass/host/connector/connectortest"
)

// strongToken is a token for tests that is hard to guess.
const strongToken = "3f9c0a7be1d24c58"

func TestTokensThatCanBeGuessedAreWeak(t *testing.T) {
	for token, weak := range map[string]bool{
		strongToken: false, "abcdef.0123456789abcdef": false, "correct horse battery staple": false,
		"": true, "secret": true, "3f9c0a7be1d24c5": true, strings.Repeat("x", 100): true, strings.Repeat("abcd", 20): true,
	} {
		assert.Equal(t, weak, weakness(token) != "", token)
	}
}

// serveBriefly starts a server, stops it once it is ready, and returns its log.
func serveBriefly(t *testing.T, endpoint string, args ...string) string {
	t.Helper()
	c := start(t, append([]string{"serve", "--etcd-endpoints", endpoint}, args...)...)
	c.find(`watchglass serve: https?://`)
	assert.Zero(t, c.stop())
	return c.log.String()
}

const (
	guessable = "the token can be guessed"
	readable  = "other users of this machine can read a secret"
	plain     = "tokens arrive over plain HTTP"
)

func TestServeWarnsAboutRiskySecrets(t *testing.T) {
	strong, weak := file(t, "token", strongToken), file(t, "token", "secret")
	cert, key, _ := certificate(t)
	store := startEtcd(t)
	local, public := "127.0.0.1:0", "0.0.0.0:0"
	for name, c := range map[string]struct {
		args     []string
		mode     os.FileMode
		warnings []string
	}{
		"strong":     {[]string{"--listen", local, "--token-file", strong}, 0o600, nil},
		"weak":       {[]string{"--listen", local, "--token-file", weak}, 0o600, []string{guessable}},
		"readable":   {[]string{"--listen", local, "--token-file", strong, "--tls-cert-file", cert, "--tls-private-key-file", key}, 0o644, []string{readable, "--token-file", "--tls-private-key-file"}},
		"group":      {[]string{"--listen", local, "--token-file", strong}, 0o640, []string{readable, "mode=0640"}},
		"plain":      {[]string{"--listen", public, "--token-file", strong}, 0o600, []string{plain}},
		"plain kube": {[]string{"--listen", local, "--kube-api", public, "--token-file", strong}, 0o600, []string{plain}},
		"TLS":        {[]string{"--listen", public, "--token-file", strong, "--tls-cert-file", cert, "--tls-private-key-file", key}, 0o600, nil},
		"no token":   {[]string{"--listen", local}, 0o600, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{strong, weak, key} {
				require.NoError(t, os.Chmod(path, c.mode))
			}
			log := serveBriefly(t, store.Endpoints()[0], c.args...)
			for _, text := range []string{guessable, readable, plain} {
				want := len(c.warnings) > 0 && c.warnings[0] == text
				assert.Equal(t, want, strings.Contains(log, text), "%s in:\n%s", text, log)
			}
			for _, text := range c.warnings {
				assert.Contains(t, log, text)
			}
			assert.NotContains(t, log, strongToken)
		})
	}
}

func TestWeakTokenIsRefusedOnPublicAddress(t *testing.T) {
	c := start(t, "serve", "--etcd-endpoints", "127.0.0.1:1", "--listen", "0.0.0.0:0", "--token-file", file(t, "token", "s3cret"))
	<-c.ended
	assert.Equal(t, 1, c.code)
	assert.Contains(t, c.log.String(), "the token is shorter than 16 characters")
	assert.Contains(t, c.log.String(), "openssl rand -base64 32")
	assert.NotContains(t, c.log.String(), "s3cret")
}

func TestMetricsOnAdmin(t *testing.T) {
	admin := freeAddress(t)
	c := start(t, "serve", "--etcd-endpoints", "127.0.0.1:1", "--listen", "127.0.0.1:0", "--admin", admin, "--metrics-on-admin")
	url := c.url()
	_, body := get(t, url+"/metrics")
	assert.NotContains(t, body, "watchglass_readers")
	code, body := get(t, url+"/readyz")
	assert.Equal(t, 503, code)
	assert.Equal(t, "not ready: the source cannot be reached\n", body)

	code, body = get(t, "http://"+admin+"/metrics")
	assert.Equal(t, 200, code)
	assert.Contains(t, body, "watchglass_readers 0\n")
	assert.Contains(t, body, "watchglass_unauthenticated_connections")
	code, body = get(t, "http://"+admin+"/readyz")
	assert.Equal(t, 503, code)
	assert.Contains(t, body, "127.0.0.1:1")
	resp := request(t, "http://"+admin+"/inspect", func(*http.Request) {})
	assert.Equal(t, "nosniff", resp.Header.Get("X-Content-Type-Options"))
	assert.Equal(t, "same-origin", resp.Header.Get("Cross-Origin-Resource-Policy"))
	resp = request(t, "http://"+admin+"/inspect", func(r *http.Request) { r.Header.Set("X-Long", strings.Repeat("x", 64<<10)) })
	assert.Equal(t, http.StatusRequestHeaderFieldsTooLarge, resp.StatusCode)
}

func TestAuditLogRecordsAccesses(t *testing.T) {
	store := startEtcd(t)
	putPod(t, store, "one")
	path := filepath.Join(t.TempDir(), "audit.log")
	c := start(t, "serve", "--etcd-endpoints", store.Endpoints()[0], "--listen", "127.0.0.1:0", "--kube-api", "127.0.0.1:0",
		"--token-file", file(t, "token", strongToken), "--audit-log", path)
	bearer := func(token string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
	}
	assert.Equal(t, 200, request(t, c.kubeURL()+"/api/v1/namespaces/default/pods/one", bearer(strongToken)).StatusCode)
	assert.Equal(t, 401, request(t, c.kubeURL()+"/api/v1/pods", bearer("not the token")).StatusCode)
	r := dial(t, strings.Fields(c.find(`watchglass serve: http://[0-9.:]+`))[2], strongToken)
	s, err := r.Subscribe(t.Context(), wire.Subscribe{Subscription: 1, Resource: "v1/pods", Namespace: "default", Credit: connectortest.Endless})
	require.NoError(t, err)
	until(t, r, func() bool { return s.Synced })
	hangUp(r)
	assert.Zero(t, c.stop(), c.log)

	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.NotContains(t, string(text), strongToken)
	assert.NotContains(t, string(text), "not the token")
	var recorded []string
	for line := range strings.Lines(string(text)) {
		var e audit.Event
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		assert.False(t, e.Time.IsZero())
		recorded = append(recorded, strings.Join([]string{e.Decision, e.User, e.Address, e.Verb, e.Resource, e.Namespace, e.Name}, " "))
	}
	assert.Equal(t, []string{
		"allowed token 127.0.0.1 get v1/pods default one",
		"denied  127.0.0.1 authenticate   ",
		"allowed token 127.0.0.1 list,watch v1/pods default ",
	}, recorded)
}

func TestAuditLogCanBeWrittenToStandardOutput(t *testing.T) {
	c := start(t, "demo", "--pods", "50", "--rate", "0", "--listen", "127.0.0.1:0", "--kube-api", "127.0.0.1:0", "--audit-log", "-")
	code, _ := get(t, c.kubeURL()+"/api/v1/pods?limit=1")
	assert.Equal(t, 200, code)
	c.find(`\{"time":"[^"]+","user":"system:anonymous","groups":\["system:unauthenticated"\],"address":"127.0.0.1","requestId":"[A-Z2-7]+","verb":"list","resource":"v1/pods","decision":"allowed"\}\n`)
}
