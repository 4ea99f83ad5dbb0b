package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/pflag"

	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/internal/reload"
	"github.com/watchglass/watchglass/host/limit"
	"github.com/watchglass/watchglass/host/signin"
	"github.com/watchglass/watchglass/host/source/kube"
)

// These are the values of --auth.
const (
	authNone  = "none"
	authToken = "token-file"
	authKube  = "kube"
	authProxy = "proxy"
	authOIDC  = "oidc"
)

// authFlags configure authentication, authorization and the encryption of connections.
type authFlags struct {
	auth      string
	tokenFile string
	tlsCert   string
	tlsKey    string
	cookie    string
	proxyFlags
	oidcFlags
	weakness string // why a token can be guessed; empty if none can
}

func (f *authFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.auth, "auth", "", `who may read: "none" permits everything to everyone, on loopback only; `+
		`"token-file" requires a token of --token-file; "kube" grants the rights of the reader's own token in the cluster `+
		`of --kubeconfig, by TokenReview and SubjectAccessReview; "proxy" grants the rights of the user named by an authenticating `+
		`proxy, by SubjectAccessReview; "oidc" does the same for the user of an ID token (default "token-file" with --token-file, else "none")`)
	flags.StringVar(&f.tokenFile, "token-file", "", "file with the tokens that readers may present, one per line; "+
		"when a token is removed, its connections end within seconds")
	flags.StringVar(&f.cookie, "auth-cookie", "", "name of a cookie that contains the reader's token, for pages that sign in with an HttpOnly cookie, "+
		"such as __Host-session; only pages of this server and of --allow-origin may use it")
	f.proxyFlags.add(flags)
	f.oidcFlags.add(flags)
	flags.StringVar(&f.tlsCert, "tls-cert-file", "", "file with the certificate to serve TLS with, followed by its intermediate certificates")
	flags.StringVar(&f.tlsKey, "tls-private-key-file", "", "file with the key of --tls-cert-file")
}

// policy returns the policy that --auth selects. The slice public contains the addresses
// that other machines can reach, and is nil if there are none.
func (f *authFlags) policy(up *upstream, public []string, limits *limit.Set, files *reload.Watcher, log *slog.Logger) (access.Policy, error) {
	auth := f.auth
	switch {
	case auth == "" && f.tokenFile != "":
		auth = authToken
	case auth == "":
		auth = authNone
	}
	if err := f.check(auth); err != nil {
		return nil, err
	}
	switch auth {
	case authNone:
		if public != nil {
			return nil, fmt.Errorf("every client that can reach %s could read the cluster: give --token-file FILE or --auth kube, "+
				"or listen on loopback, such as 127.0.0.1:8080", strings.Join(public, " and "))
		}
		return access.Everyone(), nil
	case authToken:
		policy, err := f.tokenPolicy(public, files)
		return f.withCookie(policy, limits), err
	}
	policy, err := f.clusterPolicy(auth, up, limits, files, log)
	if err != nil {
		return nil, err
	}
	return signin.Impersonation(policy, limits), nil
}

// clusterPolicy returns the policy for --auth kube, proxy or oidc. The cluster decides
// what its users may read.
func (f *authFlags) clusterPolicy(auth string, up *upstream, limits *limit.Set, files *reload.Watcher, log *slog.Logger) (access.Policy, error) {
	src, ok := up.source.(*kube.Source)
	if !ok {
		return nil, fmt.Errorf("--auth %s requires a kube-apiserver, and the source is an etcd: give --kubeconfig or --in-cluster instead of --etcd-endpoints", auth)
	}
	switch auth {
	case authProxy:
		return f.proxyPolicy(src.Policy(limits), files)
	case authOIDC:
		if err := f.oidcFlags.open(log, files); err != nil {
			return nil, err
		}
		return f.withCookie(src.PolicyFor(f.issuer, limits), limits), nil
	}
	return f.withCookie(src.Policy(limits), limits), nil
}

// check returns an error if the value of --auth is unknown, another flag conflicts with it,
// or a required flag is missing.
func (f *authFlags) check(auth string) error {
	switch {
	case !slices.Contains([]string{authNone, authToken, authKube, authProxy, authOIDC}, auth):
		return fmt.Errorf("--auth %q: expected %s, %s, %s, %s or %s", f.auth, authNone, authToken, authKube, authProxy, authOIDC)
	case auth != authToken && f.tokenFile != "":
		return fmt.Errorf("--token-file requires --auth %s, and --auth is %s", authToken, auth)
	case f.cookie != "" && !slices.Contains([]string{authToken, authKube, authOIDC}, auth):
		return fmt.Errorf("--auth-cookie requires --auth %s, %s or %s, and --auth is %s", authToken, authKube, authOIDC, auth)
	case auth == authProxy && f.tlsCert == "":
		return errors.New("--auth proxy requires --tls-cert-file: the proxy identifies itself by a client certificate")
	case auth == authProxy && f.clientCA == "":
		return errors.New("--auth proxy requires --requestheader-client-ca-file, with the authorities of the proxy's certificate")
	case auth != authProxy && f.clientCA != "":
		return fmt.Errorf("--requestheader-client-ca-file requires --auth %s, and --auth is %s", authProxy, auth)
	}
	return f.oidcFlags.check(auth)
}

func (f *authFlags) withCookie(policy access.Policy, limits *limit.Set) access.Policy {
	if f.cookie == "" || policy == nil {
		return policy
	}
	return signin.Cookie(f.cookie, policy, limits)
}

func (f *authFlags) tokenPolicy(public []string, files *reload.Watcher) (access.Policy, error) {
	if f.tokenFile == "" {
		return nil, errors.New("--auth token-file requires --token-file FILE")
	}
	policy := &access.Tokens{}
	return policy, files.Add(reload.Group{
		Name:  "--token-file",
		Files: func() []string { return []string{f.tokenFile} },
		Load: func() error {
			secrets, err := f.readTokens(public)
			if err == nil {
				policy.Set(secrets)
			}
			return err
		},
	})
}

// readTokens returns the tokens of --token-file. If other machines can reach the server,
// readTokens returns an error for a token that can be guessed.
func (f *authFlags) readTokens(public []string) ([]string, error) {
	secrets, err := readTokens(f.tokenFile)
	if err != nil {
		return nil, err
	}
	f.weakness = ""
	for _, secret := range secrets {
		if w := weakness(secret); w != "" {
			f.weakness = w
		}
	}
	if f.weakness != "" && public != nil {
		return nil, fmt.Errorf("--token-file %s: %s, and every client that can reach %s can try to guess it: %s",
			f.tokenFile, f.weakness, strings.Join(public, " and "), makeToken)
	}
	return secrets, nil
}

// readTokens reads a file with one token per line. It ignores empty lines.
func readTokens(name string) ([]string, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("--token-file: %w", err)
	}
	var tokens []string
	for line := range strings.Lines(string(content)) {
		if token := strings.TrimSpace(line); token != "" {
			tokens = append(tokens, token)
		}
	}
	if len(tokens) == 0 {
		return nil, fmt.Errorf("--token-file %s: the file is empty", name)
	}
	return tokens, nil
}

// protect makes the listeners use TLS if the flags name a certificate.
func (f *authFlags) protect(l *listeners, files *reload.Watcher) error {
	if (f.tlsCert == "") != (f.tlsKey == "") {
		return errors.New("--tls-cert-file and --tls-private-key-file belong together: give both or none")
	}
	if f.tlsCert == "" {
		return nil
	}
	var current atomic.Pointer[tls.Certificate]
	err := files.Add(reload.Group{
		Name:  "--tls-cert-file",
		Files: func() []string { return []string{f.tlsCert, f.tlsKey} },
		Load: func() error {
			pair, err := tls.LoadX509KeyPair(f.tlsCert, f.tlsKey)
			if err != nil {
				return fmt.Errorf("--tls-cert-file and --tls-private-key-file: %w", err)
			}
			current.Store(&pair)
			return nil
		},
	})
	if err != nil {
		return err
	}
	config := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return current.Load(), nil },
		NextProtos:     []string{"http/1.1"}, // WebSocket upgrades need HTTP/1.1
	}
	if f.auth == authProxy {
		config.ClientAuth = tls.RequestClientCert // the policy verifies the certificate, with the current authorities
	}
	l.main, l.secure = tls.NewListener(l.main, config), true
	if l.kubeAPI != nil {
		l.kubeAPI = tls.NewListener(l.kubeAPI, config)
	}
	return nil
}
