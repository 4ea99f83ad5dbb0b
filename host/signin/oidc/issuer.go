package oidc

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	jose "github.com/go-jose/go-jose/v4"
)

const (
	// issuerTimeout limits one load. It is shorter than access.ReviewTimeout, so that
	// a review still succeeds with the known keys if the issuer does not respond.
	issuerTimeout = 4 * time.Second
	// maxDocumentBytes limits each document of the issuer.
	maxDocumentBytes = 1 << 20
	// maxHeaderBytes limits the headers of each response of the issuer.
	maxHeaderBytes = 64 << 10
	// maxKeys limits the number of an issuer's keys, because a token without a key ID is
	// checked against every key.
	maxKeys = 100
	// maxErrorBytes limits the length of an error message, which may contain the body of
	// a response.
	maxErrorBytes = 300
	// maxRedirects limits the number of redirects that one request follows.
	maxRedirects = 5
)

// newClient returns an HTTP client for the requests of a Verifier. A nil transport
// selects HTTPS with the given certificate authorities. If they are nil too, the
// system's authorities are used.
func newClient(transport http.RoundTripper, authorities *x509.CertPool) *http.Client {
	if transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: authorities}
		t.MaxResponseHeaderBytes = maxHeaderBytes
		t.DisableKeepAlives = true // requests are rare
		transport = t
	}
	return &http.Client{Transport: bounded{transport}, CheckRedirect: checkRedirect}
}

// checkRedirect refuses redirects to unencrypted URLs, and more than maxRedirects
// redirects.
func checkRedirect(r *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	if r.URL.Scheme != "https" {
		return fmt.Errorf("redirect to a URL with the scheme %q: expected https", r.URL.Scheme)
	}
	return nil
}

// bounded is a transport that limits the size of response bodies.
type bounded struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		response.Body = http.MaxBytesReader(nil, response.Body, maxDocumentBytes)
	}
	return response, err
}

// discover returns the URL of the issuer's keys.
func (v *Verifier) discover(ctx context.Context) (string, error) {
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, v.client.Load()), v.config.IssuerURL)
	if err != nil {
		return "", fmt.Errorf("the configuration of the issuer cannot be loaded: %w", err)
	}
	var document struct {
		KeysURL string `json:"jwks_uri"`
	}
	if err := provider.Claims(&document); err != nil {
		return "", fmt.Errorf("the configuration of the issuer cannot be read: %w", err)
	}
	if err := checkKeysURL(document.KeysURL); err != nil {
		return "", err
	}
	return document.KeysURL, nil
}

func checkKeysURL(text string) error {
	r, err := http.NewRequest(http.MethodGet, text, nil)
	if err != nil || r.URL.Scheme != "https" || r.URL.Host == "" {
		return fmt.Errorf("the configuration of the issuer has the jwks_uri %q: expected an https URL", text)
	}
	return nil
}

// fetchKeys loads the keys of the issuer.
func (v *Verifier) fetchKeys(ctx context.Context, from string) ([]jose.JSONWebKey, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Cache-Control", "no-cache")
	response, err := v.client.Load().Do(request)
	if err != nil {
		return nil, fmt.Errorf("the keys of the issuer cannot be loaded: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New("GET " + from + ": " + response.Status)
	}
	if err != nil {
		return nil, fmt.Errorf("the keys of the issuer cannot be loaded: %w", err)
	}
	return parseKeys(body)
}

// parseKeys returns the public signing keys of a JWK set. It skips all other keys. RFC 7517
// recommends that programs skip keys of unknown types.
func parseKeys(body []byte) ([]jose.JSONWebKey, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(body, &set); err != nil {
		return nil, fmt.Errorf("the keys of the issuer are not a JWK set: %w", err)
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("the issuer has %d keys: expected at most %d", len(set.Keys), maxKeys)
	}
	var keys []jose.JSONWebKey
	for _, text := range set.Keys {
		var key jose.JSONWebKey
		if json.Unmarshal(text, &key) == nil && key.IsPublic() && key.Valid() && (key.Use == "" || key.Use == "sig") {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("none of the %d keys of the issuer is a public key for signatures", len(set.Keys))
	}
	return keys, nil
}

// shorten truncates an error message to maxErrorBytes.
func shorten(err error) error {
	if text := err.Error(); len(text) > maxErrorBytes {
		return errors.New(text[:maxErrorBytes] + "...")
	}
	return err
}
