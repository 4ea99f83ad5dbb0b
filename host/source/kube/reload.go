package kube

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Files returns the paths of the files that Load read, and of the files that the
// configuration names.
func Files(a Access, config *rest.Config) []string {
	files := []string{config.CAFile, config.CertFile, config.KeyFile, config.BearerTokenFile}
	switch {
	case a.InCluster:
	case a.Kubeconfig != "":
		files = append(files, a.Kubeconfig)
	default:
		files = append(files, clientcmd.NewDefaultClientConfigLoadingRules().Precedence...)
	}
	return slices.DeleteFunc(files, func(path string) bool { return path == "" })
}

// Reconfigure replaces the credentials and certificates of the Source, and reads the
// files that config names. It returns an error if config contains another address. Open
// watches keep the previous credentials until they end, within seconds.
func (s *Source) Reconfigure(config *rest.Config) error {
	if base, _, err := rest.DefaultServerUrlFor(config); err != nil || base.String() != s.base.String() {
		return fmt.Errorf("the address of kube-apiserver has changed from %s to %s: restart to read another server", s.base.Host, config.Host)
	}
	client, err := clientOf(config)
	if err != nil {
		return err
	}
	anonymous, err := anonymousClient(config)
	if err != nil {
		return err
	}
	s.client.Swap(client).CloseIdleConnections()
	s.anonymous.Swap(anonymous).CloseIdleConnections()
	return nil
}

// anonymousClient returns a client without credentials for the server in config. It does
// not follow redirects, because its requests contain the token of a reader.
func anonymousClient(config *rest.Config) (*http.Client, error) {
	client, err := clientOf(rest.AnonymousClientConfig(config))
	if err != nil {
		return nil, err
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client, nil
}

// clientOf returns a client that uses the current content of the files that config names.
// It clears the file names in a copy of config, because client-go would otherwise reuse
// the transport of an earlier client.
func clientOf(config *rest.Config) (*http.Client, error) {
	config = rest.CopyConfig(config)
	if file := config.BearerTokenFile; file != "" {
		token, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if config.BearerToken = strings.TrimSpace(string(token)); config.BearerToken == "" {
			return nil, errors.New(file + " is empty: expected a bearer token")
		}
		config.BearerTokenFile = ""
	}
	if err := rest.LoadTLSFiles(config); err != nil {
		return nil, err
	}
	config.CAFile, config.CertFile, config.KeyFile = "", "", ""
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	client.Timeout = 0 // watches have no timeout; other requests have their own
	return client, nil
}
