package deploy

import (
	"context"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/conformance/internal/kubeapiserver"
)

const (
	kubectl  = "../kubernetes/bin/kubectl-v1.36.3"
	binary   = "../../../build/watchglass"
	examples = "../../../examples/deploy"
)

// These are the tokens of the server's users.
const (
	admin     = kubeapiserver.Admin
	developer = "developer-token" // token of a user in the group shop-developers
)

// cluster is a kube-apiserver with the default admission plugins. The plugin PodSecurity
// enforces the standard that the labels of a namespace select.
type cluster struct {
	*kubeapiserver.Server
	kubeconfig string
}

// newCluster starts a cluster and stops it when the test ends.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	for _, path := range []string{kubectl, binary} {
		require.FileExists(t, path, "run make conformance, which builds it")
	}
	server, err := kubeapiserver.Start(kubeapiserver.Config{Users: developer + ",dev,dev,\"shop-developers\"\n"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	c := &cluster{Server: server}
	c.kubeconfig = c.config(t, admin)
	return c
}

// config writes the kubeconfig of a user.
func (c *cluster) config(t *testing.T, token string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, c.WriteKubeconfig(path, token))
	return path
}

// try runs kubectl as the administrator, with the given standard input.
func (c *cluster) try(t *testing.T, input string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), kubectl, append([]string{"--kubeconfig", c.kubeconfig}, args...)...)
	var out, failure strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &failure
	err = cmd.Run()
	return out.String(), failure.String(), err
}

// kubectl is like try, but returns only stdout, and fails the test on an error or a
// warning.
func (c *cluster) kubectl(t *testing.T, input string, args ...string) string {
	t.Helper()
	out, failure, err := c.try(t, input, args...)
	require.NoError(t, err, "kubectl %s: %s", strings.Join(args, " "), failure)
	require.NotContains(t, failure, "Warning", "kubectl %s", strings.Join(args, " "))
	return strings.TrimSpace(out)
}

func (c *cluster) get(ctx context.Context, url, token string) (code int, body string, err error) {
	code, content, err := c.Request(ctx, http.MethodGet, url, token, nil)
	return code, string(content), err
}
