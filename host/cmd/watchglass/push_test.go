package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/internal/workerd/workerdtest"
)

// The command push sends the state of an etcd, and then every change, to a Durable
// Object in workerd.
func TestPush(t *testing.T) {
	address := workerdtest.Objects(t, "../../..")
	store := startEtcd(t)
	putPod(t, store, "one")
	token := file(t, "token", workerdtest.FeedGrant+"\n")
	health, admin := freeAddress(t), freeAddress(t)
	c := start(t, "push", "ws://"+address+"/pushed/feed", "--resources", "pods", "--token-file", token,
		"--etcd-endpoints", strings.Join(store.Endpoints(), ","), "--listen", health, "--admin", admin)
	awaitPushed(t, address, 1)
	putPod(t, store, "two")
	awaitPushed(t, address, 2)
	for path, want := range map[string]string{
		"/healthz": "200 ok\n", "/readyz": "200 ready\n", "/": "404 404 page not found\n", "/watch": "404 404 page not found\n",
	} {
		code, body := get(t, "http://"+health+path)
		assert.Equal(t, want, fmt.Sprint(code, " ", body), path)
	}
	_, metrics := get(t, "http://"+health+"/metrics")
	assert.Contains(t, metrics, "watchglass_readers 1\n", "the object at the edge")
	assert.Contains(t, metrics, "watchglass_accept_failures_total 0\n")
	table := start(t, "inspect", "--admin", admin)
	<-table.ended
	assert.Zero(t, table.code, table.log.String())
	assert.Regexp(t, `(?m)^v1/pods +ready +2 `, table.out.String())
	assert.Zero(t, c.stop(), c.log.String())
	assert.Contains(t, c.log.String(), "feeding the edge")

	require.NoError(t, os.WriteFile(token, []byte(workerdtest.Grant), 0o600))
	c = start(t, "push", "ws://"+address+"/pushed/feed", "--resources", "pods", "--token-file", token,
		"--etcd-endpoints", strings.Join(store.Endpoints(), ","))
	<-c.ended
	assert.NotZero(t, c.code)
	assert.Contains(t, c.log.String(), "403 Forbidden: test may read from this object, but not feed it")
}

// awaitPushed waits until the object is live with the given number of pods.
func awaitPushed(t *testing.T, address string, pods int) {
	t.Helper()
	require.Eventually(t, func() bool {
		s := requestObject(t, address, "pushed", "/status").Resources["v1/pods"]
		return s.State == "live" && s.Objects == pods
	}, time.Minute, 10*time.Millisecond)
}

func TestPushReportsInvalidArguments(t *testing.T) {
	for args, message := range map[string]string{
		"push":                                  "too few arguments, expected: watchglass push URL",
		"push wss://edge/feed":                  "no resources are selected: give --resources",
		"push wss://edge/feed --resources pods": "no source is selected: give --kubeconfig FILE",
		"push http://edge.example/feed --resources pods":                                  "unencrypted; use wss://",
		"push wss://edge/feed --resources podz":                                           `resource "podz" is not built in`,
		"push wss://edge/feed --resources po --progress 1ms":                              "--progress 1ms: expected at least 1s",
		"push ws://edge.example/feed --resources po --etcd-endpoints x:1":                 "unencrypted",
		"push edge/feed --resources po --etcd-endpoints x:1":                              "expected a URL such as wss://",
		"push wss://edge/clusters/a/watch --resources po --etcd-endpoints x:1":            "a connector uses /feed, as in wss://edge.example.com/feed",
		"push wss://u:p@edge.example/feed --resources po --etcd-endpoints x:1":            "contains credentials",
		"push wss://edge/feed --resources po --etcd-endpoints x:1 --token-file /no/file":  "--token-file: open /no/file",
		"push wss://edge/feed --resources po --etcd-endpoints x:1 --metrics-on-admin":     "--metrics-on-admin requires --admin ADDRESS",
		"push wss://edge/feed --resources po --etcd-endpoints x:1 --token-file /dev/null": "--token-file /dev/null: the file is empty",
	} {
		t.Run(args, func(t *testing.T) {
			c := start(t, strings.Fields(args)...)
			<-c.ended
			assert.Equal(t, 1, c.code)
			assert.Contains(t, c.log.String(), message)
			assert.NotContains(t, c.log.String(), "msg=", "nothing was started")
		})
	}
}

func TestPushServesMetricsOnlyOnAdmin(t *testing.T) {
	health, admin := freeAddress(t), freeAddress(t)
	start(t, "push", "ws://127.0.0.1:1/feed", "--resources", "pods", "--etcd-endpoints", "127.0.0.1:1",
		"--listen", health, "--admin", admin, "--metrics-on-admin")
	for _, address := range []string{health, admin} {
		eventually(t, func() bool {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				return false
			}
			return conn.Close() == nil
		})
	}
	code, _ := get(t, "http://"+health+"/metrics")
	assert.Equal(t, 404, code)
	code, body := get(t, "http://"+health+"/readyz")
	assert.Equal(t, "503 not ready: the source cannot be reached\n", fmt.Sprint(code, " ", body))
	code, body = get(t, "http://"+admin+"/metrics")
	assert.Equal(t, 200, code)
	assert.Contains(t, body, "watchglass_readers 0\n")
	for _, url := range []string{"http://" + health + "/healthz", "http://" + admin + "/metrics"} {
		resp := request(t, url, func(*http.Request) {})
		assert.Equal(t, "nosniff", resp.Header.Get("X-Content-Type-Options"), url)
		assert.Equal(t, "same-origin", resp.Header.Get("Cross-Origin-Resource-Policy"), url)
		resp = request(t, url, func(r *http.Request) { r.Header.Set("X-Long", strings.Repeat("x", 64<<10)) })
		assert.Equal(t, http.StatusRequestHeaderFieldsTooLarge, resp.StatusCode, url)
	}
}
