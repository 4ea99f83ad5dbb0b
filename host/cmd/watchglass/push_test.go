package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/internal/workerd"
)

// edgeGrant is what the objects of js/test/edge take for a token.
const edgeGrant = `{"resources":["*"],"namespaces":["*"],"expires":4000000000,"cluster":"test","user":"test","feed":true}`

// An etcd is pushed to a Durable Object in workerd, which has all that is in it
// and everything that comes.
func TestPush(t *testing.T) {
	if testing.Short() {
		t.Skip("runs workerd")
	}
	const root = "../../.."
	_, err := os.Stat(filepath.Join(root, "js/dist/edge.js"))
	require.NoError(t, err, `build the npm package first: "make js"`)
	binary, err := workerd.Find(root)
	require.NoError(t, err)
	edge, err := workerd.Start(t.Context(), workerd.Config{
		Binary: binary, Path: filepath.Join(root, "js/test/edge/config.capnp"), Flags: []string{"--directory-path=objects=" + t.TempDir()},
	})
	require.NoError(t, err)
	t.Cleanup(func() { edge.Stop() })

	store := startEtcd(t)
	putPod(t, store, "one")
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte(edgeGrant+"\n"), 0o600))
	c := start(t, "push", "ws://"+edge.Address()+"/pushed/feed", "--resources", "pods", "--token-file", token,
		"--etcd-endpoints", strings.Join(store.Endpoints(), ","))
	awaitPushed(t, edge.Address(), 1)
	putPod(t, store, "two")
	awaitPushed(t, edge.Address(), 2)
	assert.Zero(t, c.stop(), c.log.String())
	assert.Contains(t, c.log.String(), "feeding the edge")

	require.NoError(t, os.WriteFile(token, []byte(strings.Replace(edgeGrant, "true", "false", 1)), 0o600))
	c = start(t, "push", "ws://"+edge.Address()+"/pushed/feed", "--resources", "pods", "--token-file", token,
		"--etcd-endpoints", strings.Join(store.Endpoints(), ","))
	<-c.ended
	assert.NotZero(t, c.code)
	assert.Contains(t, c.log.String(), "403 Forbidden: test may read here, and not bring data")
}

// awaitPushed waits until the object is live with so many pods.
func awaitPushed(t *testing.T, address string, pods int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/pushed/status", nil)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+edgeGrant)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		var status struct {
			Resources map[string]struct {
				State   string
				Objects int
			}
		}
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&status))
		resp.Body.Close()
		if s := status.Resources["v1/pods"]; s.State == "live" && s.Objects == pods {
			return
		}
	}
}

func TestMistakesOfPushAreNamed(t *testing.T) {
	for args, message := range map[string]string{
		"push":                                               "accepts 1 arg(s), received 0",
		"push wss://edge/feed":                               "say what to bring: --resources pods,deployments",
		"push wss://edge/feed --resources pods":              "say what to read: --kubeconfig FILE",
		"push wss://edge/feed --resources podz":              `resource "podz" is not known by name`,
		"push wss://edge/feed --resources po --progress 1ms": "--progress 1ms: expected a second at least",
		"push ws://edge.example/feed --resources po --etcd-endpoints x:1":      "in the clear",
		"push edge/feed --resources po --etcd-endpoints x:1":                   "expected a URL such as wss://",
		"push wss://u:p@edge.example/feed --resources po --etcd-endpoints x:1": "carries credentials",
	} {
		t.Run(args, func(t *testing.T) {
			c := start(t, strings.Fields(args)...)
			<-c.ended
			assert.Equal(t, 1, c.code)
			assert.Contains(t, c.log.String(), message)
		})
	}
}
