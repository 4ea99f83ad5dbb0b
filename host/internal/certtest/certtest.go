// Package certtest creates certificates for tests.
package certtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Pair is a self-signed certificate for 127.0.0.1 with its private key.
type Pair struct {
	Cert, Key []byte // as PEM
	Parsed    *x509.Certificate
}

// New returns a new Pair for servers and clients, with the given serial number.
func New(t *testing.T, serial int64) Pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return Pair{
		Cert:   pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:    pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
		Parsed: parsed,
	}
}

// Pool returns a pool that contains only the certificate of the Pair.
func (p Pair) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(p.Parsed)
	return pool
}

// TLS returns the Pair as a tls.Certificate.
func (p Pair) TLS(t *testing.T) tls.Certificate {
	t.Helper()
	pair, err := tls.X509KeyPair(p.Cert, p.Key)
	require.NoError(t, err)
	return pair
}

// Write writes the certificate and the key of the Pair to the files cert and key.
func (p Pair) Write(t *testing.T, cert, key string) {
	t.Helper()
	require.NoError(t, os.WriteFile(cert, p.Cert, 0o600))
	require.NoError(t, os.WriteFile(key, p.Key, 0o600))
}
