package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/client"
	"github.com/watchglass/watchglass/host/clustersim"
	"github.com/watchglass/watchglass/host/embedetcd"
	"github.com/watchglass/watchglass/host/internal/workerd/workerdtest"
	"github.com/watchglass/watchglass/host/source/etcd"
)

// needsModule skips the test with -short, and otherwise fails the test if the wasm module
// is missing.
func needsModule(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: compiles the wasm module")
	}
	_, err := client.EmbeddedModule()
	require.NoError(t, err)
}

// file writes a file with the given content to a new directory.
func file(t *testing.T, name, content string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// simulate populates etcd with a small cluster, and returns a function that changes the
// cluster.
func simulate(t *testing.T, store *embedetcd.Server) (change func()) {
	t.Helper()
	writer, err := etcd.NewWriter(store.Client(), etcd.Config{})
	require.NoError(t, err)
	cluster, err := clustersim.New(writer, clustersim.Config{Pods: 60, Seed: 1})
	require.NoError(t, err)
	require.NoError(t, cluster.Populate(t.Context(), func(int, int) {}))
	return func() {
		for range 60 {
			_, err := cluster.Step(t.Context())
			require.NoError(t, err)
		}
	}
}

// untilRecorded waits until a text is in a recording.
func untilRecorded(t *testing.T, path, text string) {
	t.Helper()
	require.Eventually(t, func() bool {
		content, err := os.ReadFile(path)
		return err == nil && strings.Contains(string(content), text)
	}, time.Minute, 10*time.Millisecond)
}

// objectStatus is the status of an edge object.
type objectStatus struct {
	AwakeSince int64
	Settled    bool // its state is stored
	Feeds      struct{ Connected []struct{ Active bool } }
	Resources  map[string]struct {
		State           string
		Objects         int
		ResourceVersion string
		Stored          struct{ ResourceVersion string }
	}
}

// requestObject sends a request to an edge object, and returns the status in the response.
// It returns the zero objectStatus if the response contains no status.
func requestObject(t *testing.T, address, object, path string) (status objectStatus) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/"+object+path, nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+workerdtest.Grant)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	_ = json.NewDecoder(resp.Body).Decode(&status)
	return status
}
