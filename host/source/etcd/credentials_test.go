package etcd_test

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/internal/certtest"
	"github.com/watchglass/watchglass/host/source/etcd"
)

// Each new connection uses the current client certificate and CA.
func TestNewConnectionsUseTheCurrentCertificates(t *testing.T) {
	oldCA, newCA := certtest.New(t, 1), certtest.New(t, 2)
	config := func(server, client certtest.Pair) *tls.Config {
		return &tls.Config{RootCAs: server.Pool(), Certificates: []tls.Certificate{client.TLS(t)}}
	}
	client1, client2 := certtest.New(t, 3), certtest.New(t, 4)
	current := config(oldCA, client1)
	credentials := etcd.Credentials(func() *tls.Config { return current }).Clone()
	assert.Equal(t, "tls", credentials.Info().SecurityProtocol)

	// handshake returns the serial number of the client certificate that the server
	// receives, or an error.
	handshake := func(server certtest.Pair) (int64, error) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer listener.Close()
		seen := make(chan *x509.Certificate, 1)
		go func() {
			defer close(seen)
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			secure := tls.Server(conn, &tls.Config{
				Certificates: []tls.Certificate{server.TLS(t)}, ClientAuth: tls.RequireAnyClientCert, NextProtos: []string{"h2"},
			})
			if secure.Handshake() == nil {
				seen <- secure.ConnectionState().PeerCertificates[0]
			}
		}()
		conn, err := net.Dial("tcp", listener.Addr().String())
		require.NoError(t, err)
		defer conn.Close()
		_, _, err = credentials.ClientHandshake(t.Context(), listener.Addr().String(), conn)
		if err != nil {
			return 0, err
		}
		return (<-seen).SerialNumber.Int64(), nil
	}
	serial, err := handshake(oldCA)
	require.NoError(t, err)
	assert.EqualValues(t, 3, serial)
	_, err = handshake(newCA)
	assert.ErrorContains(t, err, "unknown authority")

	current = config(newCA, client2)
	serial, err = handshake(newCA)
	require.NoError(t, err)
	assert.EqualValues(t, 4, serial)
	_, err = handshake(oldCA)
	assert.ErrorContains(t, err, "unknown authority")
}
