package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/watchglass/watchglass/host/internal/redact"
	"github.com/watchglass/watchglass/host/internal/reload"
	"github.com/watchglass/watchglass/host/internal/settings"
	"github.com/watchglass/watchglass/host/source/etcd"
)

// etcdFlags select the etcd cluster and the credentials.
type etcdFlags struct {
	endpoints         []string
	prefix            string
	cacert, cert, key string
}

func (f *etcdFlags) add(flags *pflag.FlagSet) {
	flags.StringSliceVar(&f.endpoints, "etcd-endpoints", nil, "members of the etcd cluster, as host:port or URL, comma-separated")
	settings.MarkURLs(flags, "etcd-endpoints")
	flags.StringVar(&f.prefix, "etcd-prefix", etcd.DefaultPrefix, "common prefix of the keys of all objects")
	flags.StringVar(&f.cacert, "etcd-cacert", "", "file with the CA certificate to verify etcd's certificates with")
	flags.StringVar(&f.cert, "etcd-cert", "", "file with the client certificate for etcd")
	flags.StringVar(&f.key, "etcd-key", "", "file with the key of --etcd-cert")
}

// detail returns the first given flag that requires --etcd-endpoints, or "".
func (f *etcdFlags) detail() string {
	switch {
	case f.prefix != etcd.DefaultPrefix:
		return "--etcd-prefix"
	case f.cacert != "":
		return "--etcd-cacert"
	case f.cert != "":
		return "--etcd-cert"
	case f.key != "":
		return "--etcd-key"
	}
	return ""
}

// check returns an error for an invalid address or prefix, which the etcd client would
// otherwise retry indefinitely.
func (f *etcdFlags) check() error {
	if !strings.HasPrefix(f.prefix, "/") {
		return fmt.Errorf("--etcd-prefix %q: expected a prefix that begins with a slash, such as %s", f.prefix, etcd.DefaultPrefix)
	}
	for _, endpoint := range f.endpoints {
		address, found := endpoint, true
		if scheme, rest, isURL := strings.Cut(endpoint, "://"); isURL {
			address, found = rest, scheme == "http" || scheme == "https"
		}
		host, port, err := net.SplitHostPort(address)
		if _, bad := strconv.ParseUint(port, 10, 16); !found || host == "" || err != nil || bad != nil {
			return fmt.Errorf("--etcd-endpoints %q: expected host:port or a URL such as https://10.0.0.1:2379", redact.URL(endpoint))
		}
	}
	return nil
}

// reconnect limits gRPC's pauses between connection attempts to one second. By default,
// the pauses grow to two minutes, which would delay recovery after a restart of etcd.
var reconnect = grpc.ConnectParams{
	Backoff:           backoff.Config{BaseDelay: 200 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
	MinConnectTimeout: 3 * time.Second,
}

// client returns an etcd client that connects in the background, because etcd may start
// after the command.
func (f *etcdFlags) client(files *reload.Watcher, more ...grpc.DialOption) (*clientv3.Client, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	config, options, err := f.secure(files)
	if err != nil {
		return nil, err
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints:            f.endpoints,
		TLS:                  config,
		DialOptions:          slices.Concat(options, []grpc.DialOption{grpc.WithConnectParams(reconnect)}, more),
		DialTimeout:          5 * time.Second,
		DialKeepAliveTime:    10 * time.Second,
		DialKeepAliveTimeout: 5 * time.Second, // pings are sent only while a watch is open, because etcd closes idle connections that ping
		Logger:               zap.NewNop(),
	})
	if err != nil {
		return nil, fmt.Errorf("--etcd-endpoints %s: %w", strings.Join(f.endpoints, ","), err)
	}
	return client, nil
}

// secure returns the TLS configuration and gRPC options for etcd, or nil if no flag names
// a certificate. Each new connection uses the certificates that were loaded last.
func (f *etcdFlags) secure(files *reload.Watcher) (*tls.Config, []grpc.DialOption, error) {
	if (f.cert == "") != (f.key == "") {
		return nil, nil, errors.New("--etcd-cert and --etcd-key belong together: give both or none")
	}
	if f.cacert == "" && f.cert == "" {
		return nil, nil, nil
	}
	var current atomic.Pointer[tls.Config]
	err := files.Add(reload.Group{
		Name: "--etcd-cert",
		Files: func() []string {
			return slices.DeleteFunc([]string{f.cacert, f.cert, f.key}, func(path string) bool { return path == "" })
		},
		Load: func() error {
			config, err := f.tls()
			if err == nil {
				current.Store(config)
			}
			return err
		},
	})
	if err != nil || strings.HasPrefix(f.endpoints[0], "http://") { // the etcd client uses the scheme of the first endpoint for all endpoints
		return current.Load(), nil, err
	}
	return current.Load(), []grpc.DialOption{grpc.WithTransportCredentials(etcd.Credentials(current.Load))}, nil
}

// tls returns a TLS configuration with the certificates in the files.
func (f *etcdFlags) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.cacert != "" {
		pem, err := os.ReadFile(f.cacert)
		if err != nil {
			return nil, fmt.Errorf("--etcd-cacert: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--etcd-cacert %s: the file contains no PEM certificate", f.cacert)
		}
	}
	if f.cert != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return nil, fmt.Errorf("--etcd-cert and --etcd-key: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
