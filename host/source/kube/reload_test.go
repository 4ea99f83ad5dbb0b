package kube_test

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/internal/certtest"
	"github.com/watchglass/watchglass/host/source/kube"
)

// identities is a server that records the certificate and the token of the last request.
type identities struct {
	*httptest.Server
	certificate atomic.Pointer[tls.Certificate]
	last        atomic.Value // string
}

func newIdentities(t *testing.T) *identities {
	s := &identities{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.last.Store(fmt.Sprint(r.TLS.PeerCertificates[0].SerialNumber, " ", r.Header.Get("Authorization")))
		io.WriteString(w, "{}")
	}))
	s.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return &tls.Config{ClientAuth: tls.RequireAnyClientCert, Certificates: []tls.Certificate{*s.certificate.Load()}}, nil
	}}
	t.Cleanup(s.Close)
	return s
}

func (s *identities) use(t *testing.T, p certtest.Pair) {
	pair := p.TLS(t)
	s.certificate.Store(&pair)
}

func TestReconfigureUsesTheNewFiles(t *testing.T) {
	server := newIdentities(t)
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	ca, client := certtest.New(t, 1), certtest.New(t, 2)
	server.use(t, ca)
	server.StartTLS()
	write := func(ca, client certtest.Pair, token string) {
		client.Write(t, path("client.crt"), path("client.key"))
		require.NoError(t, os.WriteFile(path("ca.crt"), ca.Cert, 0o600))
		require.NoError(t, os.WriteFile(path("token"), []byte(token+"\n"), 0o600))
	}
	write(ca, client, "first")
	address := func(url string) {
		config, err := json.Marshal(map[string]any{
			"apiVersion": "v1", "kind": "Config", "current-context": "c",
			"clusters": []any{map[string]any{"name": "c", "cluster": map[string]any{"server": url, "certificate-authority": path("ca.crt")}}},
			"contexts": []any{map[string]any{"name": "c", "context": map[string]any{"cluster": "c", "user": "u"}}},
			"users": []any{map[string]any{"name": "u", "user": map[string]any{
				"client-certificate": path("client.crt"), "client-key": path("client.key"), "tokenFile": path("token")}}},
		})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path("config"), config, 0o600))
	}
	address(server.URL)
	access := kube.Access{Kubeconfig: path("config")}
	rest, err := kube.Load(access)
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{path("ca.crt"), path("client.crt"), path("client.key"), path("token"), path("config")}, kube.Files(access, rest))
	s, err := kube.New(kube.Config{REST: rest})
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.Ready(t.Context()))
	assert.Equal(t, "2 Bearer first", server.last.Load())

	ca, client = certtest.New(t, 3), certtest.New(t, 4)
	server.use(t, ca)
	write(ca, client, "second")
	require.NoError(t, s.Reconfigure(rest))
	require.NoError(t, s.Ready(t.Context()))
	assert.Equal(t, "4 Bearer second", server.last.Load())

	// After invalid files or another address, the source keeps its credentials.
	require.NoError(t, os.WriteFile(path("client.key"), certtest.New(t, 5).Key, 0o600))
	assert.ErrorContains(t, s.Reconfigure(rest), "private key does not match")
	write(ca, client, "")
	assert.ErrorContains(t, s.Reconfigure(rest), "token is empty")
	write(ca, client, "third")
	address("https://127.0.0.1:1")
	moved, err := kube.Load(access)
	require.NoError(t, err)
	assert.ErrorContains(t, s.Reconfigure(moved), "restart to read another server")
	require.NoError(t, s.Ready(t.Context()))
	assert.Equal(t, "4 Bearer second", server.last.Load())
}
