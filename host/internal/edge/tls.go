package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// front terminates TLS in front of the runtime, as Cloudflare does. kubectl needs the
// front, because it sends tokens only over TLS.
type front struct {
	listener net.Listener
	server   http.Server
	// caFile is the path of the file with the self-signed certificate.
	caFile string
}

func newFront(listen, dir, runtime string) (*front, error) {
	certificate, err := newCertificate()
	if err != nil {
		return nil, err
	}
	f := &front{caFile: filepath.Join(dir, "edge.crt")}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})
	if err := os.WriteFile(f.caFile, text, 0o600); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, err
	}
	f.listener = tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: runtime})
	proxy.FlushInterval = -1 // flush every event of a watch
	f.server.Handler = proxy
	f.server.ReadHeaderTimeout = 5 * time.Second
	return f, nil
}

// run serves until ctx is done.
func (f *front) run(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { f.server.Close() })()
	if err := f.server.Serve(f.listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func newCertificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(tokenTTL),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
