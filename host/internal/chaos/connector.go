//go:build unix

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/watchglass/watchglass/host/internal/freeport"
)

const connectors = 2

// connector is a "watchglass serve" process and its links to the etcd members.
type connector struct {
	process *process
	address string
	log     string
	command func() *exec.Cmd
	client  *http.Client // verifies the connector's certificate
	etcd    [members]*link
}

func newConnector(n int, binary, dir string, e *etcd, ca *authority, proxies *proxies) (*connector, error) {
	port, err := freeport.Reserve()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(ca.caFile())
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	c := &connector{
		address: "127.0.0.1:" + strconv.Itoa(port),
		log:     filepath.Join(dir, "connector-"+strconv.Itoa(n)+".log"),
		client: &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true,
		}},
	}
	var endpoints []string
	for i := range c.etcd {
		if c.etcd[i], err = proxies.link(fmt.Sprintf("connector-%d-etcd-%d", n, i), e.address(i)); err != nil {
			return nil, err
		}
		endpoints = append(endpoints, c.etcd[i].address())
	}
	c.command = func() *exec.Cmd {
		return exec.Command(binary, "serve", "--etcd-endpoints", strings.Join(endpoints, ","), "--listen", c.address,
			"--tls-cert-file", ca.certFile(), "--tls-private-key-file", ca.keyFile(), "--linger", "1h", "--shutdown-delay", "500ms")
	}
	return c, nil
}

// start starts the process and returns when it is ready.
func (c *connector) start(ctx context.Context) (err error) {
	c.process, err = startUntilReady(ctx, func() (*process, error) { return launch(c.log, c.command()) }, func(ctx context.Context) error {
		_, err := c.serial(ctx)
		return err
	})
	return err
}

// serial returns the serial number of the certificate that the connector presents.
func (c *connector) serial(ctx context.Context) (int64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+c.address+"/healthz", nil)
	if err != nil {
		return 0, err
	}
	response, err := c.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s returned %s", request.URL, response.Status)
	}
	return response.TLS.PeerCertificates[0].SerialNumber.Int64(), nil
}

// terminate sends SIGTERM to the process and waits until it has ended.
func (c *connector) terminate(ctx context.Context) error {
	c.process.signal(syscall.SIGTERM)
	select {
	case <-c.process.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("connector %s did not end after SIGTERM: %w", c.address, ctx.Err())
	}
}

// serves waits until the connector presents the certificate with the given serial number.
func (c *connector) serves(ctx context.Context, serial int64) error {
	for {
		got, err := c.serial(ctx)
		if err == nil && got == serial {
			return nil
		}
		if !pause(ctx, 50*time.Millisecond) {
			return fmt.Errorf("connector %s serves the certificate with serial number %d, expected %d: %v", c.address, got, serial, err)
		}
	}
}
