package apiserver

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
)

// direct is a Node program that reads the server without a connector.
type direct struct {
	*testing.T
	in  io.Writer
	out *bufio.Scanner
}

// holding is the state of one resource, as the program reports it.
type holding struct {
	State, Error, Kind string
	Namespaced         bool
	Versions           map[string]string
	Objects            []map[string]any
	Relists            int
}

func startDirect(t *testing.T, token string) *direct {
	cmd := exec.Command("node", "direct.mjs")
	cmd.Env = append(os.Environ(), "URL="+shared.config(token).Host, "TOKEN="+token,
		"NODE_TLS_REJECT_UNAUTHORIZED=0", "NODE_NO_WARNINGS=1") // the server signs its own certificate
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start(), "the package runs in Node, from 20 on")
	t.Cleanup(func() {
		in.Close()
		assert.NoError(t, cmd.Wait())
	})
	d := &direct{T: t, in: in, out: bufio.NewScanner(out)}
	d.out.Buffer(nil, 64<<20)
	return d
}

func (d *direct) has(resource string) (h holding) {
	d.Helper()
	_, err := fmt.Fprintln(d.in, resource)
	require.NoError(d, err)
	require.True(d, d.out.Scan(), "the program ended; make conformance builds js/dist first")
	require.NoError(d, json.Unmarshal(d.out.Bytes(), &h))
	return h
}

// until waits until holds returns true for the program's state of the resource.
func (d *direct) until(resource string, holds func(h holding) bool) (last holding) {
	d.Helper()
	require.Eventually(d, func() bool {
		last = d.has(resource)
		return holds(last)
	}, patience, 50*time.Millisecond, "of %s: state %s %s", resource, &last.State, &last.Error)
	return last
}

// listed returns the ConfigMaps that the server lists, and their versions by key. Like the
// npm package, it adds the kind and API version, which list items lack, and removes
// managed fields.
func listed(t *testing.T, path string) (versions map[string]string, objects []map[string]any) {
	var list struct{ Items []map[string]any }
	require.NoError(t, json.Unmarshal(shared.must(t, http.MethodGet, path, ""), &list))
	versions = map[string]string{}
	for _, o := range list.Items {
		o["apiVersion"], o["kind"] = "v1", "ConfigMap"
		m := o["metadata"].(map[string]any)
		delete(m, "managedFields")
		versions[fmt.Sprint(m["namespace"], "/", m["name"])] = m["resourceVersion"].(string)
	}
	return versions, list.Items
}

// converged waits until the program has the versions of all ConfigMaps that the server
// lists. It then compares the complete objects.
func (d *direct) converged() holding {
	d.Helper()
	versions, objects := listed(d.T, "/api/v1/configmaps")
	h := d.until("v1/configmaps", func(h holding) bool { return h.State == "live" && assert.ObjectsAreEqual(versions, h.Versions) })
	assert.ElementsMatch(d, objects, h.Objects)
	return h
}

// The npm package reads a real server without a connector, during changes and a restart of
// the server. The token grants only the right to read ConfigMaps.
func TestDirectModeMatchesTheServer(t *testing.T) {
	shared.clear(t)
	grant(t, "ann", "", "configmaps")
	t.Cleanup(func() {
		shared.must(t, http.MethodDelete, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/ann", "")
		shared.must(t, http.MethodDelete, "/apis/rbac.authorization.k8s.io/v1/clusterroles/ann", "")
	})
	put := func(namespace, name string) {
		_, err := shared.put(configMaps, api.NewKey(namespace, name), configMap(namespace, name))
		require.NoError(t, err)
	}
	for i := range 20 {
		put("a", fmt.Sprint("first-", i))
	}
	d := startDirect(t, ann)
	d.converged()
	for i := range 100 {
		put([]string{"a", "b"}[i%2], fmt.Sprint("churn-", i%7))
		if i%5 == 4 {
			_, err := shared.delete(configMaps, api.NewKey([]string{"a", "b"}[i%2], fmt.Sprint("churn-", i%7)))
			require.NoError(t, err)
		}
	}
	h := d.converged()
	assert.Equal(t, 1, h.Relists)
	assert.Equal(t, "ConfigMap", h.Kind)

	shared.Stop()
	require.NoError(t, shared.Launch())
	put("a", "after-the-restart")
	h = d.converged()
	// The history of a restarted server starts empty. If the server writes objects while it
	// starts, it may respond with one 410 (H8).
	assert.LessOrEqual(t, h.Relists, 2)

	secrets := d.until("v1/secrets", func(h holding) bool { return h.State == "forbidden" })
	assert.Contains(t, secrets.Error, `User "ann" cannot watch resource "secrets"`)
	quotas := d.until("v1/resourcequotas", func(h holding) bool { return h.Kind != "" })
	assert.Equal(t, "ResourceQuota", quotas.Kind)
	assert.True(t, quotas.Namespaced)
}

func TestDirectModeWithAnUnknownToken(t *testing.T) {
	d := startDirect(t, "nobody")
	h := d.until("v1/configmaps", func(h holding) bool { return h.State == "forbidden" })
	assert.Contains(t, h.Error, "the credentials are missing, wrong or expired")
}
