//go:build unix

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// authority is a certificate authority that issues the certificates of the connectors.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	serial      int64
	dir         string
}

// root returns the root authority. All runs in a process share it, because Go reads the
// system's root certificates only once.
var root = sync.OnceValues(func() (*authority, error) {
	a := &authority{}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	template := a.template()
	template.IsCA, template.KeyUsage = true, x509.KeyUsageCertSign
	raw, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	a.certificate, err = x509.ParseCertificate(raw)
	return a, err
})

// newAuthority returns the authority of a run, which writes certificates to a directory.
// newAuthority also issues the first certificate.
func newAuthority(dir string) (*authority, error) {
	ca, err := root()
	if err != nil {
		return nil, err
	}
	a := &authority{certificate: ca.certificate, key: ca.key, serial: ca.serial, dir: dir}
	if err := writePEM(a.caFile(), "CERTIFICATE", a.certificate.Raw); err != nil {
		return nil, err
	}
	_, err = a.issue()
	return a, err
}

func (a *authority) caFile() string   { return filepath.Join(a.dir, "ca.crt") }
func (a *authority) certFile() string { return filepath.Join(a.dir, "tls.crt") }
func (a *authority) keyFile() string  { return filepath.Join(a.dir, "tls.key") }

func (a *authority) template() *x509.Certificate {
	a.serial++
	return &x509.Certificate{
		SerialNumber: big.NewInt(a.serial), Subject: pkix.Name{CommonName: "watchglass chaos"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
		BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
}

// issue writes a new key and certificate, and returns the certificate's serial number.
func (a *authority) issue() (serial int64, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return 0, err
	}
	raw, err := x509.CreateCertificate(rand.Reader, a.template(), a.certificate, key.Public(), a.key)
	if err != nil {
		return 0, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return 0, err
	}
	if err := writePEM(a.keyFile(), "PRIVATE KEY", private); err != nil {
		return 0, err
	}
	return a.serial, writePEM(a.certFile(), "CERTIFICATE", raw)
}

// writePEM atomically replaces a file with one PEM block.
func writePEM(name, kind string, raw []byte) error {
	if err := os.WriteFile(name+".new", pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}), 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}
