package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/limit"
	"github.com/watchglass/watchglass/host/source/kube"
)

// The values of --auth.
const (
	authNone  = "none"
	authToken = "token-file"
	authKube  = "kube"
)

// authFlags say who may read, and how the way to here is protected.
type authFlags struct {
	auth      string
	tokenFile string
	tlsCert   string
	tlsKey    string
	weakness  string // of the token
}

func (f *authFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.auth, "auth", "", `who may read: "none" lets everyone read everything and is for loopback only; `+
		`"token-file" wants the token of --token-file; "kube" asks the cluster of --kubeconfig, with TokenReview and SubjectAccessReview, `+
		`what the reader's own token may list and watch (default "token-file" with --token-file, else "none")`)
	flags.StringVar(&f.tokenFile, "token-file", "", "file with the token that readers must present")
	flags.StringVar(&f.tlsCert, "tls-cert-file", "", "file with the certificate to serve TLS with, and those that lead to its CA")
	flags.StringVar(&f.tlsKey, "tls-private-key-file", "", "file with the key of --tls-cert-file")
}

// policy is what --auth asks for. public are the addresses at which others than
// this machine can connect.
func (f *authFlags) policy(up *upstream, public []string, limits *limit.Set) (access.Policy, error) {
	auth := f.auth
	switch {
	case auth == "" && f.tokenFile != "":
		auth = authToken
	case auth == "":
		auth = authNone
	}
	if auth != authToken && f.tokenFile != "" {
		return nil, fmt.Errorf("--token-file is for --auth %s, and --auth is %s", authToken, auth)
	}
	switch auth {
	case authNone:
		if public != nil {
			return nil, fmt.Errorf("everyone who can reach %s could read the cluster: give --token-file FILE or --auth kube, "+
				"or listen on loopback, such as 127.0.0.1:8080", strings.Join(public, " and "))
		}
		return access.Everyone(), nil
	case authToken:
		return f.tokenPolicy(public)
	case authKube:
		src, ok := up.source.(*kube.Source)
		if !ok {
			return nil, errors.New("--auth kube asks a kube-apiserver, and an etcd is read: give --kubeconfig or --in-cluster instead of --etcd-endpoints")
		}
		return src.Policy(limits), nil
	}
	return nil, fmt.Errorf("--auth %q: expected %s, %s or %s", f.auth, authNone, authToken, authKube)
}

func (f *authFlags) tokenPolicy(public []string) (access.Policy, error) {
	if f.tokenFile == "" {
		return nil, errors.New("--auth token-file needs --token-file FILE")
	}
	secret, err := readToken(f.tokenFile)
	if err != nil {
		return nil, err
	}
	f.weakness = weakness(secret)
	if f.weakness != "" && public != nil {
		return nil, fmt.Errorf("--token-file %s: %s, and everyone who can reach %s can try to guess it: %s",
			f.tokenFile, f.weakness, strings.Join(public, " and "), makeToken)
	}
	return access.Token(secret), nil
}

// readToken reads the file of a --token-file.
func readToken(name string) (string, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	token := strings.TrimSpace(string(content))
	if token == "" {
		return "", fmt.Errorf("--token-file %s: the file is empty", name)
	}
	return token, nil
}

// protect makes listeners speak TLS, if that is asked for.
func (f *authFlags) protect(l *listeners) error {
	if (f.tlsCert == "") != (f.tlsKey == "") {
		return errors.New("--tls-cert-file and --tls-private-key-file belong together: give both or none")
	}
	if f.tlsCert == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(f.tlsCert, f.tlsKey)
	if err != nil {
		return fmt.Errorf("--tls-cert-file and --tls-private-key-file: %w", err)
	}
	config := &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair},
		NextProtos: []string{"http/1.1"}, // WebSocket upgrades need it
	}
	l.main, l.secure = tls.NewListener(l.main, config), true
	if l.kubeAPI != nil {
		l.kubeAPI = tls.NewListener(l.kubeAPI, config)
	}
	return nil
}
