package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// logLines parses a log with --log-format json.
func logLines(t *testing.T, text string) (lines []map[string]any) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	for decoder.More() {
		var line map[string]any
		require.NoError(t, decoder.Decode(&line), text)
		lines = append(lines, line)
	}
	return lines
}

// find returns the lines with the given message.
func find(lines []map[string]any, message string) (found []map[string]any) {
	for _, line := range lines {
		if line["msg"] == message {
			found = append(found, line)
		}
	}
	return found
}

// Logs contain no secrets. The test puts secrets into requests, objects and the token
// file.
func TestLogsHaveNoSecrets(t *testing.T) {
	const good, bad, content = "planted-good-d41d8cd98f00b204", "planted-bad-e9800998ecf8427e", "planted-content-0b2049e98009"
	store := startEtcd(t)
	for key, value := range map[string]string{
		"secrets/a/broken":  `{"metadata":{"name":"broken","namespace":"a","uid":"u"},"data":{"password":"` + content + `"`,
		"secrets/a/strange": `{"metadata":{"name":"other","namespace":"a","uid":"u"},"data":{"password":"` + content + `"}}`,
		"secrets/a/typed":   `{"metadata":{"name":["` + content + `"],"namespace":"a","uid":"u"}}`,
	} {
		_, err := store.Client().Put(t.Context(), "/registry/"+key, value)
		require.NoError(t, err)
	}
	audit := filepath.Join(t.TempDir(), "audit.jsonl")
	p := startProcess(t, "serve", "--etcd-endpoints", store.Endpoints()[0], "--listen", "127.0.0.1:0", "--kube-api", "127.0.0.1:0", "--shutdown-delay", "0s",
		"--token-file", file(t, "tokens", good+"\n"), "--audit-log", audit, "--log-level", "debug", "--log-format", "json")
	url, kubeURL := p.url(), p.kubeURL()

	for _, token := range []string{good, bad} {
		encoded := base64.RawURLEncoding.EncodeToString([]byte(token))
		for _, target := range []string{url + "/metrics", url + "/watch", url + "/none", kubeURL + "/api/v1/secrets", kubeURL + "/api/v1/secrets?watch=1&timeoutSeconds=1", kubeURL + "/none"} {
			separator := "?"
			if strings.Contains(target, "?") {
				separator = "&"
			}
			request(t, target, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) })
			request(t, target+separator+"token="+token, func(r *http.Request) {
				r.Header.Set("Authorization", "Basic "+encoded)
				r.Header.Set("Cookie", "session="+token)
				r.Header.Set("X-Request-Id", token)
				r.Header.Set("User-Agent", "kubectl")
				r.Header.Set("Sec-WebSocket-Protocol", "base64url.bearer.authorization.k8s.io."+encoded)
			})
		}
		hangUp(dial(t, url, token))
	}
	p.signal(syscall.SIGTERM)
	<-p.ended
	require.NoError(t, p.wait, p.log)

	decisions, err := os.ReadFile(audit)
	require.NoError(t, err)
	for name, text := range map[string]string{"log": p.log.String(), "output": p.out.String(), "audit log": string(decisions)} {
		assert.NotContains(t, text, "planted", name)
		for _, secret := range []string{good, bad, content} {
			assert.NotContains(t, text, base64.RawURLEncoding.EncodeToString([]byte(secret)), name)
		}
	}
	lines := logLines(t, p.log.String())
	assert.Len(t, find(lines, "started"), 1)
	assert.Len(t, find(lines, "stopped"), 1)
	assert.NotEmpty(t, find(lines, "token refused"))
	assert.NotEmpty(t, find(lines, "object cannot be served; readers keep its last good version"))
	assert.NotEmpty(t, find(lines, "reader connected"))
}

func TestLogsAndResponsesNameTheRequest(t *testing.T) {
	store := startEtcd(t)
	audit := filepath.Join(t.TempDir(), "audit.jsonl")
	p := startProcess(t, "serve", "--etcd-endpoints", store.Endpoints()[0], "--listen", "127.0.0.1:0", "--kube-api", "127.0.0.1:0", "--trusted-proxy", "127.0.0.1",
		"--shutdown-delay", "0s", "--token-file", file(t, "tokens", strongToken), "--audit-log", audit, "--log-level", "debug", "--log-format", "json")
	url, kubeURL := p.url(), p.kubeURL()
	health := request(t, url+"/healthz", func(*http.Request) {}).Header.Get("X-Request-Id")
	listed := request(t, kubeURL+"/api/v1/pods", func(r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+strongToken)
		r.Header.Set("X-Request-Id", "of-the-proxy")
	}).Header.Get("X-Request-Id")
	assert.Equal(t, "of-the-proxy", listed)
	hangUp(dial(t, url, "wrong"))
	p.signal(syscall.SIGTERM)
	<-p.ended
	require.NoError(t, p.wait, p.log)

	lines := logLines(t, p.log.String())
	requests := map[any]any{} // paths by ID
	for _, line := range find(lines, "request") {
		requests[line["request"]] = line["path"]
	}
	assert.Equal(t, "/healthz", requests[health])
	assert.Equal(t, "/api/v1/pods", requests[listed])
	refused, connected, disconnected := find(lines, "token refused"), find(lines, "reader connected"), find(lines, "reader disconnected")
	require.Len(t, refused, 1)
	require.Len(t, connected, 1)
	require.Len(t, disconnected, 1)
	assert.NotEmpty(t, refused[0]["request"])
	assert.Equal(t, refused[0]["request"], connected[0]["request"])
	assert.Equal(t, refused[0]["request"], disconnected[0]["request"])

	decisions, err := os.ReadFile(audit)
	require.NoError(t, err)
	ids := map[any]any{} // verbs by ID
	for line := range bytes.Lines(decisions) {
		var decision map[string]any
		require.NoError(t, json.Unmarshal(line, &decision))
		ids[decision["requestId"]] = decision["verb"]
	}
	assert.Equal(t, "list", ids[listed])
	assert.Equal(t, "authenticate", ids[refused[0]["request"]])
}
