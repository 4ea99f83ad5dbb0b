package deploy

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/embedetcd"
)

const (
	apiserver = "../kubernetes/bin/kube-apiserver-v1.36.3"
	kubectl   = "../kubernetes/bin/kubectl-v1.36.3"
	binary    = "../../../build/watchglass"
	examples  = "../../../examples/deploy"
)

// The users of the server, by token.
const (
	admin     = "admin-token"     // of system:masters
	developer = "developer-token" // of shop-developers
)

// cluster is a kube-apiserver with the admission plugins that are on by default, without
// controllers. PodSecurity is among the plugins; the namespace asks it to enforce.
type cluster struct {
	url        string
	kubeconfig string
}

// newCluster starts a cluster that ends with the test.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	for _, path := range []string{apiserver, kubectl, binary} {
		require.FileExists(t, path, "run make conformance, which builds it")
	}
	etcd, err := embedetcd.Start(embedetcd.Config{UnsafeNoFsync: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, etcd.Close()) })
	dir := t.TempDir()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	block := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	write(t, dir, "key", string(block))
	write(t, dir, "tokens", admin+",admin,1,\"system:masters\"\n"+developer+",dev,2,\"shop-developers\"\n")
	port := freePort(t)
	cmd := exec.Command(apiserver,
		"--etcd-servers="+etcd.Endpoints()[0], "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", fmt.Sprint("--secure-port=", port),
		"--cert-dir="+filepath.Join(dir, "certs"), "--token-auth-file="+filepath.Join(dir, "tokens"), "--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+filepath.Join(dir, "key"),
		"--service-account-signing-key-file="+filepath.Join(dir, "key"), "--service-cluster-ip-range=10.0.0.0/24",
		"--endpoint-reconciler-type=none", "--etcd-compaction-interval=0")
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { // before its etcd: the other way round takes minutes
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // killed is its exit status
	})
	c := &cluster{url: fmt.Sprintf("https://127.0.0.1:%d", port)}
	c.kubeconfig = c.config(t, admin)
	require.Eventually(t, func() bool {
		code, _, err := request(t.Context(), c.url+"/readyz", admin)
		return err == nil && code == http.StatusOK
	}, 2*time.Minute, 50*time.Millisecond, "kube-apiserver is not ready")
	return c
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func write(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// config writes the kubeconfig of a user.
func (c *cluster) config(t *testing.T, token string) string {
	t.Helper()
	return write(t, t.TempDir(), "kubeconfig", fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c",
		"clusters":[{"name":"c","cluster":{"server":%q,"insecure-skip-tls-verify":true}}],
		"users":[{"name":"u","user":{"token":%q}}],
		"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}]}`, c.url, token))
}

// try runs kubectl as the administrator, with an input.
func (c *cluster) try(t *testing.T, input string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), kubectl, append([]string{"--kubeconfig", c.kubeconfig}, args...)...)
	var out, failure strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &failure
	err = cmd.Run()
	return out.String(), failure.String(), err
}

// kubectl is try for what has to succeed without a warning.
func (c *cluster) kubectl(t *testing.T, input string, args ...string) string {
	t.Helper()
	out, failure, err := c.try(t, input, args...)
	require.NoError(t, err, "kubectl %s: %s", strings.Join(args, " "), failure)
	require.NotContains(t, failure, "Warning", "kubectl %s", strings.Join(args, " "))
	return strings.TrimSpace(out)
}

// client trusts every certificate: the server signs its own.
var client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}

func request(ctx context.Context, url, token string) (int, string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}
