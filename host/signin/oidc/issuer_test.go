package oidc_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/signin/oidc"
)

const (
	issuerURL = "https://issuer.example.com/realm"
	clientID  = "dashboard"
)

// The keys are created once, because generating RSA keys is slow.
var (
	rsaKey   = sync.OnceValue(func() crypto.Signer { return must(rsa.GenerateKey(rand.Reader, 2048)) })
	otherRSA = sync.OnceValue(func() crypto.Signer { return must(rsa.GenerateKey(rand.Reader, 2048)) })
	ecKey    = sync.OnceValue(func() crypto.Signer { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) })
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// issuer is an in-memory OpenID Connect issuer. It needs no sockets, so tests can use
// virtual time.
type issuer struct {
	mu       sync.Mutex
	keys     []jose.JSONWebKey
	down     bool
	document func(path string) (*http.Response, error) // if not nil, creates all responses
	takes    time.Duration
	requests []string // paths
	waiting  int      // requests that have not been answered
}

func newIssuer(keys ...jose.JSONWebKey) *issuer { return &issuer{keys: keys} }

// key returns a public key of the issuer.
func key(id string, signer crypto.Signer) jose.JSONWebKey {
	return jose.JSONWebKey{Key: signer.Public(), KeyID: id, Use: "sig"}
}

// RoundTrip implements http.RoundTripper.
func (i *issuer) RoundTrip(r *http.Request) (*http.Response, error) {
	i.mu.Lock()
	i.requests = append(i.requests, r.URL.Path)
	keys, down, document, takes := i.keys, i.down, i.document, i.takes
	i.waiting++
	i.mu.Unlock()
	defer i.set(func() { i.waiting-- })
	if takes > 0 {
		select {
		case <-time.After(takes):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	switch {
	case document != nil:
		return document(r.URL.Path)
	case down:
		return nil, errors.New("connection refused")
	case r.URL.Path == "/realm/.well-known/openid-configuration":
		return respond(200, map[string]any{"issuer": issuerURL, "jwks_uri": "https://keys.example.com/jwks"}), nil
	case r.URL.String() == "https://keys.example.com/jwks":
		return respond(200, jose.JSONWebKeySet{Keys: keys}), nil
	}
	return respond(404, "nothing"), nil
}

func respond(code int, body any) *http.Response {
	text := must(json.Marshal(body))
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(string(text))),
	}
}

func (i *issuer) set(f func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	f()
}

// loads returns the number of requests for the keys.
func (i *issuer) loads() (n int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, path := range i.requests {
		if path == "/jwks" {
			n++
		}
	}
	return n
}

// verifier returns a Verifier for the issuer's tokens. The function change may edit the
// config.
func (i *issuer) verifier(t testing.TB, change func(*oidc.Config)) *oidc.Verifier {
	t.Helper()
	config := oidc.Config{IssuerURL: issuerURL, ClientID: clientID, Transport: i, Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&config)
	}
	v, err := oidc.New(config)
	require.NoError(t, err)
	return v
}

// groupsAs returns a function that sets GroupsClaim to "groups" and GroupsPrefix to the
// prefix.
func groupsAs(prefix string) func(*oidc.Config) {
	return func(c *oidc.Config) { c.GroupsClaim, c.GroupsPrefix = "groups", prefix }
}

func logTo(w io.Writer) func(*oidc.Config) {
	return func(c *oidc.Config) { c.Logger = slog.New(slog.NewTextHandler(w, nil)) }
}

type claims = jwt.MapClaims

// token returns a signed ID token of the user ann with changed claims. A nil value in
// changes removes the claim.
func token(method jwt.SigningMethod, id string, signer any, changes claims) string {
	all := claims{"iss": issuerURL, "aud": clientID, "sub": "ann", "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix()}
	maps.Copy(all, changes)
	maps.DeleteFunc(all, func(_ string, value any) bool { return value == nil })
	t := jwt.NewWithClaims(method, all)
	if id != "" {
		t.Header["kid"] = id
	}
	return must(t.SignedString(signer))
}

// good returns a token that is signed with the issuer's key "rsa".
func good(changes claims) string { return token(jwt.SigningMethodRS256, "rsa", rsaKey(), changes) }

func encode(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
