package main

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/internal/certtest"
)

// certificate writes a self-signed certificate and its key. The pool contains the
// certificate.
func certificate(t *testing.T) (certFile, keyFile string, pool *x509.CertPool) {
	t.Helper()
	pair := certtest.New(t, 1)
	certFile, keyFile = filepath.Join(t.TempDir(), "tls.crt"), filepath.Join(t.TempDir(), "tls.key")
	pair.Write(t, certFile, keyFile)
	return certFile, keyFile, pair.Pool()
}

func TestServeUsesTLSForBrowsersAndKubectl(t *testing.T) {
	cert, key, pool := certificate(t)
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte(strongToken+"\n"), 0o600))
	kubeAPI := freeAddress(t)
	c := start(t, "serve", "--etcd-endpoints", startEtcd(t).Endpoints()[0], "--listen", "127.0.0.1:0", "--kube-api", kubeAPI,
		"--token-file", token, "--tls-cert-file", cert, "--tls-private-key-file", key)
	url := c.url()
	require.True(t, strings.HasPrefix(url, "https://"), url)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	defer client.CloseIdleConnections()

	resp, err := client.Get(url + "/healthz")
	require.NoError(t, err)
	resp.Body.Close()
	assert.Equal(t, 200, resp.StatusCode)

	conn, _, err := websocket.Dial(t.Context(), "wss"+strings.TrimPrefix(url, "https")+"/watch",
		&websocket.DialOptions{HTTPClient: client, Subprotocols: []string{wire.Subprotocol}})
	require.NoError(t, err)
	defer conn.CloseNow()
	assert.Equal(t, wire.Subprotocol, conn.Subprotocol())

	for presented, code := range map[string]int{strongToken: 200, "wrong": 401, "": 401} {
		req, err := http.NewRequest(http.MethodGet, "https://"+kubeAPI+"/api/v1/namespaces/a/pods", nil)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+presented)
		resp, err := client.Do(req)
		require.NoError(t, err)
		resp.Body.Close()
		assert.Equal(t, code, resp.StatusCode, presented)
	}
}
