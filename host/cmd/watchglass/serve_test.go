package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/connector/connectortest"
	"github.com/watchglass/watchglass/host/embedetcd"
)

func dial(t *testing.T, url, token string) *connectortest.Reader {
	t.Helper()
	conn, err := connectortest.Dial(t.Context(), "ws"+strings.TrimPrefix(url, "http")+"/watch")
	require.NoError(t, err)
	t.Cleanup(func() { connectortest.Socket(conn).CloseNow() })
	r := connectortest.NewReader(conn)
	require.NoError(t, r.Hello(t.Context(), token))
	return r
}

var everyPod = wire.Subscribe{Subscription: 1, Resource: "v1/pods", Credit: connectortest.Endless}

// hangUp disconnects the reader without the close handshake of WebSocket, for which the
// test would have to wait.
func hangUp(r *connectortest.Reader) { connectortest.Socket(r.Conn).CloseNow() }

// until receives messages until done returns true, and fails after a minute.
func until(t *testing.T, r *connectortest.Reader, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, r.Until(ctx, done))
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(body)
}

func TestDemo(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	file := filepath.Join(t.TempDir(), "endpoint")
	c := start(t, "demo", "--pods", "200", "--rate", "500", "--listen", "127.0.0.1:0", "--etcd-endpoint-file", file)
	ready := c.find(`watchglass demo: .*\n`)
	assert.Regexp(t, `^watchglass demo: http://127\.0\.0\.1:\d+  \(200 pods, 500 changes/s; Ctrl-C stops\)\n$`, ready)
	url := strings.Fields(ready)[2]

	code, _ := get(t, url)
	assert.Equal(t, 200, code)
	code, body := get(t, url+"/readyz")
	assert.Equal(t, 200, code)
	assert.Equal(t, "ready\n", body)
	assert.Contains(t, c.out.String(), "populating: ")

	r := dial(t, url, "")
	s, err := r.Subscribe(t.Context(), everyPod)
	require.NoError(t, err)
	until(t, r, func() bool { return s.Synced })
	assert.InDelta(t, 200, len(s.Objects), 60)
	until(t, r, func() bool { return s.Events > 50 })

	endpoint, err := os.ReadFile(file)
	require.NoError(t, err)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{strings.TrimSpace(string(endpoint))}})
	require.NoError(t, err)
	defer client.Close()
	resp, err := client.Get(t.Context(), "/registry/pods/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	require.NoError(t, err)
	rv := api.ResourceVersion(resp.Header.Revision)
	until(t, r, func() bool { return s.ResourceVersion >= rv })
	assert.InDelta(t, len(resp.Kvs), len(s.Objects), 60)

	hangUp(r)
	assert.Zero(t, c.stop())
	assert.Empty(t, c.log.String())
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestDemoAtRestIsExact(t *testing.T) {
	c := start(t, "demo", "--pods", "300", "--rate", "0", "--listen", "127.0.0.1:0")
	c.find("watchglass demo: ")
	r := dial(t, c.find(`http://[0-9.:]+`), "")
	s, err := r.Subscribe(t.Context(), everyPod)
	require.NoError(t, err)
	until(t, r, func() bool { return s.Synced })
	assert.Len(t, s.Objects, 300)
	for key, o := range s.Objects {
		require.Contains(t, o.JSON, fmt.Sprintf(`"name":%q`, key.Name()))
	}
}

func TestDemoReplacesTheDataOfItsDirectory(t *testing.T) {
	dir := t.TempDir()
	for _, pods := range []string{"30", "20"} {
		c := start(t, "demo", "--pods", pods, "--rate", "0", "--listen", "127.0.0.1:0", "--data-dir", dir)
		c.find("watchglass demo: ")
		r := dial(t, c.url(), "")
		s, err := r.Subscribe(t.Context(), everyPod)
		require.NoError(t, err)
		until(t, r, func() bool { return s.Synced })
		assert.Equal(t, pods, fmt.Sprint(len(s.Objects)))
		hangUp(r)
		assert.Zero(t, c.stop())
		assert.DirExists(t, dir)
	}
}

func TestDemoCanBeStoppedWhilePopulating(t *testing.T) {
	c := start(t, "demo", "--pods", "20000", "--listen", "127.0.0.1:0")
	c.find("etcd: ")
	assert.Zero(t, c.stop(), c.log)
}

// startEtcd starts an etcd for a test. Call it before starting commands, so that the
// commands stop first. Otherwise, the etcd would wait seconds for their connections to
// close.
func startEtcd(t *testing.T) *embedetcd.Server {
	t.Helper()
	store, err := embedetcd.Start(embedetcd.Config{UnsafeNoFsync: true})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, store.Close()) })
	return store
}

func putPod(t *testing.T, store *embedetcd.Server, name string) api.ResourceVersion {
	t.Helper()
	resp, err := store.Client().Put(t.Context(), "/registry/pods/default/"+name,
		fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"default","uid":"u"},"spec":{"nodeName":"n1"}}`, name))
	require.NoError(t, err)
	return api.ResourceVersion(resp.Header.Revision)
}

// A restarted connector has no state about earlier readers, which resume by resource
// version.
func TestReadersResumeAfterServeWasRestarted(t *testing.T) {
	store := startEtcd(t)
	for i := range 20 {
		putPod(t, store, fmt.Sprintf("pod-%d", i))
	}
	args := []string{"serve", "--etcd-endpoints", store.Endpoints()[0], "--listen", "127.0.0.1:0"}
	c := start(t, args...)
	r := dial(t, c.url(), "")
	s, err := r.Subscribe(t.Context(), everyPod)
	require.NoError(t, err)
	until(t, r, func() bool { return s.Synced })
	require.Len(t, s.Objects, 20)
	go c.stop()
	require.Error(t, r.UntilEnd(t.Context()))
	require.NotNil(t, r.Status)
	assert.Equal(t, 503, r.Status.Code)
	<-c.ended
	assert.Zero(t, c.code)

	c = start(t, args...)
	r = dial(t, c.url(), "")
	require.NoError(t, r.Resume(t.Context(), s, everyPod))
	until(t, r, func() bool { return s.Schema != nil })
	last := putPod(t, store, "pod-7")
	until(t, r, func() bool { return s.ResourceVersion == last || s.Status != nil })
	assert.Nil(t, s.Status)
	assert.Equal(t, 1, s.Snapshots, "resumed without a snapshot")
	assert.Equal(t, 1, s.Events)

	hangUp(r)
	c.stop()
	putPod(t, store, "without-readers")
	c = start(t, args...)
	r = dial(t, c.url(), "")
	require.NoError(t, r.Resume(t.Context(), s, everyPod))
	until(t, r, func() bool { return s.Status != nil || s.Schema != nil })
	if s.Status != nil { // the new connector's history begins with its list
		assert.Equal(t, 410, s.Status.Code)
		s, err = r.Subscribe(t.Context(), wire.Subscribe{Subscription: 2, Resource: "v1/pods",
			NotOlderThan: s.ResourceVersion, Credit: connectortest.Endless})
		require.NoError(t, err)
	}
	until(t, r, func() bool { return len(s.Objects) == 21 })
}

func TestServeWaitsForItsEtcd(t *testing.T) {
	store, err := embedetcd.Start(embedetcd.Config{UnsafeNoFsync: true})
	require.NoError(t, err)
	endpoint := store.Endpoints()[0]
	require.NoError(t, store.Close())
	c := start(t, "serve", "--etcd-endpoints", endpoint, "--listen", "127.0.0.1:0", "--log-format", "json")
	url := c.url()
	assert.Contains(t, c.log.String(), `"msg":"the source cannot be read`)
	code, body := get(t, url+"/readyz")
	assert.Equal(t, 503, code)
	assert.Equal(t, "not ready: the source cannot be reached\n", body, "only the admin address names the endpoint")
	code, _ = get(t, url+"/healthz")
	assert.Equal(t, 200, code)
	assert.Zero(t, c.stop())
}

func TestServeRequiresTheToken(t *testing.T) {
	store := startEtcd(t)
	token := file(t, "token", strongToken+"\n")
	c := start(t, "serve", "--etcd-endpoints", store.Endpoints()[0], "--listen", "127.0.0.1:0", "--token-file", token)
	r := dial(t, c.url(), "wrong")
	require.NotNil(t, r.Status)
	assert.Equal(t, 401, r.Status.Code)
	r = dial(t, c.url(), strongToken)
	assert.Nil(t, r.Status)
	hangUp(r)
}

func TestServeWithholdsSecretsUnlessAllowed(t *testing.T) {
	store := startEtcd(t)
	_, err := store.Client().Put(t.Context(), "/registry/secrets/default/s",
		`{"kind":"Secret","metadata":{"name":"s","namespace":"default"},"data":{"password":"aHVudGVyMg=="}}`)
	require.NoError(t, err)
	for _, allowed := range []bool{false, true} {
		c := start(t, "serve", "--etcd-endpoints", store.Endpoints()[0], "--listen", "127.0.0.1:0",
			fmt.Sprintf("--allow-secret-data=%t", allowed))
		r := dial(t, c.url(), "")
		s, err := r.Subscribe(t.Context(), wire.Subscribe{Subscription: 1, Resource: "v1/secrets", Credit: connectortest.Endless})
		require.NoError(t, err)
		until(t, r, func() bool { return s.Synced })
		assert.Equal(t, allowed, strings.Contains(s.Objects["default/s"].JSON, "aHVudGVyMg=="))
		hangUp(r)
	}
}
