package oidc_test

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/internal/certtest"
	"github.com/watchglass/watchglass/host/signin/oidc"
)

// code verifies a token and returns the code of the refusal, or 200 if the token is
// accepted.
func code(v *oidc.Verifier, token string) int {
	if _, refused := v.Verify(context.Background(), token); refused != nil {
		return refused.Code
	}
	return 200
}

func TestRotatedKeysAreLoaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(key("rsa", rsaKey()))
		v := i.verifier(t, nil)
		assert.Equal(t, 200, code(v, good(nil)))
		assert.Equal(t, 1, i.loads())
		i.set(func() { i.keys = []jose.JSONWebKey{key("rsa", rsaKey()), key("next", otherRSA())} })
		next := func() string { return token(jwt.SigningMethodRS256, "next", otherRSA(), nil) }
		assert.Equal(t, 401, code(v, next()), "the keys were loaded a moment ago")
		time.Sleep(10 * time.Second)
		assert.Equal(t, 200, code(v, next()))
		assert.Equal(t, 200, code(v, good(nil)))
		assert.Equal(t, 2, i.loads())
		i.set(func() { i.keys = []jose.JSONWebKey{key("next", rsaKey())} })
		time.Sleep(10 * time.Second)
		assert.Equal(t, 200, code(v, token(jwt.SigningMethodRS256, "next", rsaKey(), nil)), "another key with the same ID")
		assert.Equal(t, 401, code(v, next()))
		assert.Equal(t, 3, i.loads())
	})
}

func TestUnknownKeysDoNotFloodTheIssuer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(key("rsa", rsaKey()))
		i.takes = time.Second
		v := i.verifier(t, nil)
		var tokens []string
		for n := range 20 {
			tokens = append(tokens, token(jwt.SigningMethodRS256, fmt.Sprint("unknown-", n), otherRSA(), nil))
		}
		for range 60 {
			var all sync.WaitGroup
			for _, forged := range tokens {
				all.Go(func() { assert.Equal(t, 401, code(v, forged)) })
			}
			all.Wait()
			time.Sleep(time.Second)
		}
		assert.LessOrEqual(t, i.loads(), 8, "one in ten seconds")
		assert.Equal(t, 200, code(v, good(nil)))
	})
}

func TestWithdrawnKeysAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(key("rsa", rsaKey()), key("other", otherRSA()))
		v := i.verifier(t, nil)
		user, refused := v.Verify(t.Context(), good(nil))
		require.Nil(t, refused)
		i.set(func() { i.keys = i.keys[1:] })
		withdrawn := time.Now()
		time.Sleep(time.Until(user.ReviewAt))
		assert.Equal(t, 401, code(v, good(nil)))
		assert.LessOrEqual(t, time.Since(withdrawn), access.ReviewInterval)
	})
}

func TestReadyOnceTheIssuerResponds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(key("rsa", rsaKey()))
		i.down = true
		var log bytes.Buffer
		v := i.verifier(t, logTo(&log))
		assert.ErrorContains(t, v.Ready(), "not been loaded yet")
		ended := make(chan struct{})
		go func() { defer close(ended); v.Run(t.Context()) }()
		time.Sleep(10 * time.Minute)
		assert.ErrorContains(t, v.Ready(), "connection refused")
		assert.Equal(t, 503, code(v, good(nil)))
		attempts := i.attempts()
		assert.Less(t, attempts, 40, "with backoff")
		assert.Greater(t, attempts, 10)
		assert.Equal(t, 1, strings.Count(log.String(), "\n"), "one line per change of state: %s", &log)
		assert.Contains(t, log.String(), "users cannot sign in until it responds")
		i.set(func() { i.down = false })
		<-ended
		assert.NoError(t, v.Ready())
		assert.Equal(t, 200, code(v, good(nil)))
		assert.Equal(t, 2, strings.Count(log.String(), "\n"), &log)
		i.set(func() { i.down = true })
		time.Sleep(time.Hour)
		assert.Equal(t, 200, code(v, good(nil)), "the known keys stay in use")
		assert.NoError(t, v.Ready())
		assert.Equal(t, 503, code(v, token(jwt.SigningMethodRS256, "next", otherRSA(), nil)), "no decision about an unknown key")
		assert.Equal(t, 401, code(v, token(jwt.SigningMethodRS256, "rsa", otherRSA(), nil)), "a forged token of a known key")
		assert.Equal(t, 3, strings.Count(log.String(), "\n"), &log)
	})
}

func (i *issuer) attempts() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.requests)
}

func TestRunEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer()
		i.down = true
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		i.verifier(t, nil).Run(ctx)
		assert.Error(t, ctx.Err())
	})
}

// A load continues after the request that started it has been canceled, because other
// clients wait for the load.
func TestLoadsContinueWithoutTheClientThatStartedThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(key("rsa", rsaKey()))
		i.takes = time.Second
		v := i.verifier(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		go v.Verify(ctx, good(nil))
		synctest.Wait()
		cancel()
		assert.Equal(t, 200, code(v, good(nil)))
		assert.Equal(t, 1, i.loads())
	})
}

// endless is the body of a response that never ends.
type endless struct{ context.Context }

func (endless) Read(p []byte) (int, error) {
	for n := range p {
		p[n] = ' '
	}
	return len(p), nil
}
func (endless) Close() error { return nil }

func TestResponsesOfTheIssuerAreChecked(t *testing.T) {
	discovery := func(keys string) *http.Response {
		return respond(200, map[string]any{"issuer": issuerURL, "jwks_uri": keys})
	}
	text := func(text string) func(string) (*http.Response, error) {
		return func(path string) (*http.Response, error) {
			if path != "/jwks" {
				return discovery("https://keys.example.com/jwks"), nil
			}
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text))}, nil
		}
	}
	unbounded := func(*http.Request) *http.Response {
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: endless{}}
	}
	oct := `{"keys":[{"kty":"oct","kid":"rsa","k":"` + encode(strings.Repeat("x", 64)) + `"}]}`
	for want, document := range map[string]func(string) (*http.Response, error){
		"http: request body too large": func(path string) (*http.Response, error) { return unbounded(nil), nil },
		"the keys of the issuer cannot be loaded: http: request body too large": func(path string) (*http.Response, error) {
			if path == "/jwks" {
				return unbounded(nil), nil
			}
			return discovery("https://keys.example.com/jwks"), nil
		},
		`did not match the issuer URL`: func(string) (*http.Response, error) {
			return respond(200, map[string]any{"issuer": "https://mallory.example.com", "jwks_uri": "https://keys.example.com/jwks"}), nil
		},
		`jwks_uri "http://keys.example.com/jwks": expected an https URL`: func(string) (*http.Response, error) { return discovery("http://keys.example.com/jwks"), nil },
		`jwks_uri "": expected an https URL`:                             func(string) (*http.Response, error) { return discovery(""), nil },
		`redirect to a URL with the scheme "http": expected https`: func(string) (*http.Response, error) {
			return &http.Response{StatusCode: 302, Header: http.Header{"Location": {"http://mallory.example.com/"}}, Body: http.NoBody}, nil
		},
		"more than 5 redirects": func(string) (*http.Response, error) {
			return &http.Response{StatusCode: 302, Header: http.Header{"Location": {"https://issuer.example.com/again"}}, Body: http.NoBody}, nil
		},
		"GET https://keys.example.com/jwks: Forbidden": func(path string) (*http.Response, error) {
			if path == "/jwks" {
				return respond(403, "no"), nil
			}
			return discovery("https://keys.example.com/jwks"), nil
		},
		"are not a JWK set":             text("<html>"),
		"none of the 0 keys":            text(`{}`),
		"none of the 1 keys":            text(oct),
		"none of the 2 keys":            text(`{"keys":[{"kty":"AKP"},7]}`),
		"101 keys: expected at most 10": text(`{"keys":[` + strings.TrimSuffix(strings.Repeat(`{},`, 101), ",") + `]}`),
		"...":                           func(string) (*http.Response, error) { return respond(500, strings.Repeat("x", 10_000)), nil },
		"no response within 4s":         nil,
	} {
		t.Run(want, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				i := newIssuer()
				if i.document = document; document == nil {
					i.takes = time.Hour
				}
				v := i.verifier(t, nil)
				start := time.Now()
				assert.Equal(t, 503, code(v, good(nil)))
				assert.LessOrEqual(t, time.Since(start), access.ReviewTimeout)
				err := v.Ready()
				require.ErrorContains(t, err, want)
				assert.Less(t, len(err.Error()), 400)
			})
		})
	}
}

func TestUnsupportedKeysAreSkipped(t *testing.T) {
	i := newIssuer()
	set := `{"keys":[{"kty":"OKP","crv":"X448","kid":"x","x":"AA"},{"kty":"new","kid":"y"},` +
		string(must(jose.JSONWebKey{Key: otherRSA().Public(), KeyID: "rsa", Use: "enc"}.MarshalJSON())) + `,` + string(must(key("rsa", rsaKey()).MarshalJSON())) + `]}`
	i.document = func(path string) (*http.Response, error) {
		if path == "/jwks" {
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(set))}, nil
		}
		return respond(200, map[string]any{"issuer": issuerURL, "jwks_uri": "https://keys.example.com/jwks"}), nil
	}
	v := i.verifier(t, nil)
	assert.Equal(t, 200, code(v, good(nil)))
	assert.Equal(t, 401, code(v, token(jwt.SigningMethodRS256, "rsa", otherRSA(), nil)), "a key for encryption")
}

func TestTheCertificateOfTheIssuerIsVerified(t *testing.T) {
	var server *httptest.Server
	server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := any(map[string]any{"issuer": server.URL, "jwks_uri": server.URL + "/jwks"})
		if r.URL.Path == "/jwks" {
			body = jose.JSONWebKeySet{Keys: []jose.JSONWebKey{key("rsa", rsaKey())}}
		}
		io.Copy(w, respond(200, body).Body)
	}))
	defer server.Close()
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	signed := good(claims{"iss": server.URL})
	for name, want := range map[string]int{"none": 503, "another": 503, "its own": 200} {
		v, err := oidc.New(oidc.Config{IssuerURL: server.URL, ClientID: clientID, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		switch name {
		case "another":
			require.NoError(t, v.SetAuthorities(certtest.New(t, 2).Cert))
		case "its own":
			require.NoError(t, v.SetAuthorities(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
		}
		assert.Equal(t, want, code(v, signed), name)
		if want != 200 {
			assert.ErrorContains(t, v.Ready(), "certificate", name)
		}
	}
}
