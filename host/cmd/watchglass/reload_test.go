package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/watchglass/watchglass/host/internal/reload"
)

// replace overwrites a file with the content of another file.
func replace(t *testing.T, to, from string) {
	t.Helper()
	content, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, content, 0o600))
}

// handshakes reports whether the certificate of a TLS server verifies against the pool.
func handshakes(address string, pool *x509.CertPool) bool {
	conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: pool})
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

func TestServeReloadsItsCertificate(t *testing.T) {
	cert, key, first := certificate(t)
	newCert, newKey, second := certificate(t)
	kubeAPI, admin := freeAddress(t), freeAddress(t)
	p := startProcess(t, "serve", "--etcd-endpoints", "127.0.0.1:1", "--listen", "127.0.0.1:0", "--kube-api", kubeAPI, "--admin", admin,
		"--tls-cert-file", cert, "--tls-private-key-file", key)
	address := strings.TrimPrefix(p.url(), "https://")
	require.True(t, handshakes(address, first))

	replace(t, key, newKey)
	replace(t, cert, newCert)
	p.signal(syscall.SIGHUP)
	eventually(t, func() bool { return handshakes(address, second) })
	assert.True(t, handshakes(kubeAPI, second))
	assert.False(t, handshakes(address, first))

	require.NoError(t, os.WriteFile(key, []byte("half of a key"), 0o600))
	p.signal(syscall.SIGHUP)
	eventually(t, func() bool { return strings.Contains(p.log.String(), "cannot be loaded") })
	assert.True(t, handshakes(address, second), "the last good pair stays in use")
	_, metrics := get(t, "http://"+admin+"/metrics")
	assert.Contains(t, metrics, `watchglass_file_reloads_total{files="tls-cert-file",result="failed"} 1`+"\n")
	assert.NotContains(t, p.log.String(), "half of a key")

	p.signal(os.Interrupt)
	<-p.ended
	assert.NoError(t, p.wait, p.log)
}

func TestServeEndsTheSessionsOfRemovedTokens(t *testing.T) {
	const old, other, fresh = strongToken, "84c1d0b29a7f36e5", "c0ffee00d15ea5e5"
	store := startEtcd(t)
	path := file(t, "tokens", old+"\n"+other+"\n")
	p := startProcess(t, "serve", "--etcd-endpoints", store.Endpoints()[0], "--listen", "127.0.0.1:0", "--token-file", path)
	url := p.url()
	leaves, stays := dial(t, url, old), dial(t, url, other)
	require.Nil(t, leaves.Status)
	require.Nil(t, stays.Status)

	require.NoError(t, os.WriteFile(path, []byte(other+"\n"+fresh+"\n"), 0o600))
	p.signal(syscall.SIGHUP)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.Error(t, leaves.UntilEnd(ctx))
	require.NotNil(t, leaves.Status, "the connection does not end")
	assert.Equal(t, 401, leaves.Status.Code)
	assert.Nil(t, dial(t, url, fresh).Status)
	s, err := stays.Subscribe(t.Context(), everyPod)
	require.NoError(t, err)
	until(t, stays, func() bool { return s.Synced })
}

// dialEtcd starts a TLS server with the given certificate, connects a client with the
// options, and returns the certificate that the client presents.
func dialEtcd(t *testing.T, options []grpc.DialOption, cert, key string) *x509.Certificate {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(cert, key)
	require.NoError(t, err)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAnyClientCert, NextProtos: []string{"h2"},
	})
	require.NoError(t, err)
	defer listener.Close()
	client, err := grpc.NewClient("passthrough:///"+listener.Addr().String(), options...)
	require.NoError(t, err)
	defer client.Close()
	client.Connect()
	conn, err := listener.Accept()
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.(*tls.Conn).HandshakeContext(t.Context()), "the client accepts the certificate")
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0]
}

// New connections to etcd use the reloaded CA and client certificate.
func TestEtcdCertificatesAreReloaded(t *testing.T) {
	cert, key, _ := certificate(t)
	newCert, newKey, _ := certificate(t)
	f := etcdFlags{endpoints: []string{"https://127.0.0.1:1"}, cacert: cert, cert: cert, key: key}
	files := reload.NewWatcher(slog.New(slog.DiscardHandler))
	config, options, err := f.secure(files)
	require.NoError(t, err)
	require.Len(t, options, 1)
	require.Len(t, config.Certificates, 1)
	first := dialEtcd(t, options, cert, key)

	now := make(chan struct{})
	go files.Run(t.Context(), now)
	replace(t, key, newKey)
	replace(t, cert, newCert)
	now <- struct{}{}
	now <- struct{}{} // the first reload has ended
	assert.False(t, dialEtcd(t, options, newCert, newKey).Equal(first))
}

func TestEtcdCertificatesAreChecked(t *testing.T) {
	cert, key, _ := certificate(t)
	f := etcdFlags{endpoints: []string{"http://127.0.0.1:1"}, cacert: cert, cert: cert, key: key}
	files := reload.NewWatcher(slog.New(slog.DiscardHandler))
	_, options, err := f.secure(files)
	require.NoError(t, err)
	assert.Empty(t, options, "plain HTTP has no credentials")

	f.cert = file(t, "broken", "no certificate")
	_, _, err = f.secure(files)
	assert.ErrorContains(t, err, "--etcd-cert and --etcd-key")
}
