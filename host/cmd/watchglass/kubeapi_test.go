package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// kubeURL waits until the command prints the address of the Kubernetes API.
func (c *command) kubeURL() string {
	return strings.Fields(c.find(`kubectl --server http://[0-9.:]+ get`))[2]
}

func request(t *testing.T, url string, change func(*http.Request)) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	change(r)
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { response.Body.Close() })
	return response
}

func TestServeTheKubernetesAPI(t *testing.T) {
	store := startEtcd(t)
	rv := putPod(t, store, "one")
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte(strongToken+"\n"), 0o600))
	c := start(t, "serve", "--etcd-endpoints", store.Endpoints()[0],
		"--listen", "127.0.0.1:0", "--kube-api", "127.0.0.1:0", "--token-file", file)
	url := c.kubeURL()
	withToken := func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+strongToken) }

	code, body := get(t, url+"/api/v1/pods")
	assert.Equal(t, 401, code)
	assert.Contains(t, body, `"kind":"Status"`)
	code, body = get(t, url+"/readyz")
	assert.Equal(t, 200, code)
	assert.Equal(t, "ok", body, "probes have no token")
	foreign := request(t, url+"/api/v1/pods", func(r *http.Request) { withToken(r); r.Host = "evil.example.com" })
	assert.Equal(t, 403, foreign.StatusCode)
	foreign = request(t, url+"/api/v1/pods", func(r *http.Request) { withToken(r); r.Header.Set("Origin", "https://evil.example.com") })
	assert.Equal(t, 403, foreign.StatusCode)

	watch := request(t, url+"/api/v1/namespaces/default/pods?watch=1", withToken)
	require.Equal(t, 200, watch.StatusCode)
	lines := bufio.NewReader(watch.Body)
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	assert.Contains(t, line, fmt.Sprintf(`{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"%d"`, rv))
	page := strings.Fields(c.find(`watchglass serve: http://[0-9.:]+`))[2]
	code, body = get(t, page+"/metrics")
	assert.Equal(t, 401, code, body)
	text, err := io.ReadAll(request(t, page+"/metrics", withToken).Body)
	require.NoError(t, err)
	metrics := string(text)
	assert.Contains(t, metrics, "watchglass_kubeapi_watches 1\n")
	assert.Contains(t, metrics, `watchglass_kubeapi_requests_total{code="401",verb="other"}`)
	assert.Contains(t, metrics, `watchglass_authentications_total{result="refused"} 1`)

	assert.Zero(t, c.stop(), c.log)
	_, err = lines.ReadString('\n')
	assert.ErrorIs(t, err, io.EOF, "the watch ended in order")
	assert.Regexp(t, `^.*msg=started .*\n.*msg="token refused" remote=127.0.0.1.*\n.*msg=stopped\n$`, c.log.String())
	assert.NotContains(t, c.log.String(), strongToken)
}

func TestDemoServesTheKubernetesAPI(t *testing.T) {
	c := start(t, "demo", "--pods", "50", "--rate", "0", "--listen", "127.0.0.1:0", "--kube-api", "127.0.0.1:0")
	code, body := get(t, c.kubeURL()+"/api/v1/pods?limit=500")
	assert.Equal(t, 200, code)
	assert.Equal(t, 50, strings.Count(body, `"kind":"Pod"`))
	assert.Zero(t, c.stop())
}

func TestKubernetesAPIPortIsBoundBeforeStart(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	c := start(t, "serve", "--etcd-endpoints", "127.0.0.1:1", "--listen", "127.0.0.1:0", "--kube-api", taken.Addr().String())
	<-c.ended
	assert.Equal(t, 1, c.code)
	assert.Contains(t, c.log.String(), "choose another port with --kube-api (--kube-api 127.0.0.1:0 selects a free port)")
}
