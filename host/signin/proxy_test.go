package signin_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/connector/connectortest"
	"github.com/watchglass/watchglass/host/signin"
	"github.com/watchglass/watchglass/host/source/memory"
)

// authority is a certificate authority that signs client certificates.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	a := &authority{key: key}
	a.cert = a.sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	})
	return a
}

func (a *authority) sign(t *testing.T, template *x509.Certificate) *x509.Certificate {
	t.Helper()
	template.SerialNumber, template.NotBefore = big.NewInt(1), time.Now().Add(-time.Minute)
	parent := a.cert
	if parent == nil {
		parent = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, a.key.Public(), a.key)
	require.NoError(t, err)
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return parsed
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// client returns a signed client certificate with the given common name.
func (a *authority) client(t *testing.T, name string, lifetime time.Duration) *x509.Certificate {
	t.Helper()
	return a.sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(lifetime), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

var defaults = signin.ProxyConfig{
	UsernameHeaders: []string{"X-Remote-User"}, UIDHeaders: []string{"X-Remote-Uid"}, GroupHeaders: []string{"X-Remote-Group"},
	ExtraHeaderPrefixes: []string{"X-Remote-Extra-"},
}

// through returns the context of a request with a client certificate and headers.
func through(t *testing.T, certificate *x509.Certificate, headers ...string) context.Context {
	t.Helper()
	client := access.ClientOf(from(t, headers...))
	if certificate != nil {
		client.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{certificate}}
	}
	return access.WithClient(t.Context(), client)
}

func TestProxyNamesTheUser(t *testing.T) {
	ca := newAuthority(t)
	config := defaults
	config.UsernameHeaders = []string{"X-Forwarded-User", "X-Remote-User"}
	p := signin.NewProxy(config, &cluster{rights: []string{"ann list v1/pods"}})
	require.NoError(t, p.SetAuthorities(ca.pem()))
	user, refused := p.Authenticate(through(t, ca.client(t, "proxy", time.Hour), "X-Remote-User", "ann", "X-Remote-Uid", "7",
		"X-Remote-Group", "devs", "X-Remote-Group", "ops, night", "X-Remote-Extra-Acme%2Forg", "a", "X-Remote-Extra-Acme%2Forg", "b"), "t-mallory")
	require.Nil(t, refused)
	assert.Equal(t, &access.User{
		Name: "ann", UID: "7", Groups: []string{"devs", "ops, night", "system:authenticated"}, Extra: map[string][]string{"acme/org": {"a", "b"}},
	}, user)
	_, refused = p.Authorize(t.Context(), user, access.Request{Resource: api.Resource{Version: "v1", Name: "pods"}, Verb: "list"})
	assert.Nil(t, refused)
	rules, _ := access.RulesOf(t.Context(), p, "t-mallory", user, "a")
	assert.Equal(t, " ann a", rules.EvaluationError, "a token beside the headers is ignored")
	user, refused = p.Authenticate(through(t, ca.client(t, "proxy", time.Hour), "X-Remote-User", "system:anonymous"), "")
	require.Nil(t, refused)
	assert.Empty(t, user.Groups)
}

func TestHeadersWithoutAVerifiedProxyAreIgnored(t *testing.T) {
	ca := newAuthority(t)
	config := defaults
	config.AllowedNames = []string{"proxy"}
	p := signin.NewProxy(config, &cluster{})
	good := ca.client(t, "proxy", time.Hour)
	_, refused := p.Authenticate(through(t, good, "X-Remote-User", "ann"), "")
	assert.ErrorIs(t, refused, api.Unauthorized(""), "before the authorities are loaded")
	require.NoError(t, p.SetAuthorities(ca.pem()))
	server := ca.sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "proxy"}, NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	for name, ctx := range map[string]context.Context{
		"no certificate":            through(t, nil, "X-Remote-User", "ann"),
		"no request":                t.Context(),
		"another authority":         through(t, newAuthority(t).client(t, "proxy", time.Hour), "X-Remote-User", "ann"),
		"another name":              through(t, ca.client(t, "mallory", time.Hour), "X-Remote-User", "ann"),
		"expired":                   through(t, ca.client(t, "proxy", -time.Second), "X-Remote-User", "ann"),
		"a certificate for servers": through(t, server, "X-Remote-User", "ann"),
		"no user":                   through(t, good, "X-Remote-Group", "system:masters"),
	} {
		user, refused := p.Authenticate(ctx, "t-ann")
		assert.Nil(t, user, name)
		assert.ErrorIs(t, refused, api.Unauthorized(""), name)
	}
	user, refused := p.Authenticate(through(t, good, "X-Remote-User", "ann"), "")
	require.Nil(t, refused)
	assert.Equal(t, "ann", user.Name)
	assert.ErrorContains(t, p.SetAuthorities([]byte("nonsense")), "expected the certificates of authorities in PEM")
}

// Certificates of the system's authorities do not identify the proxy, because anyone can
// obtain such a certificate.
func TestAuthoritiesOfTheSystemDoNotIdentifyTheProxy(t *testing.T) {
	ca := newAuthority(t)
	file := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(file, ca.pem(), 0o600))
	t.Setenv("SSL_CERT_FILE", file) // crypto/x509 reads this variable when it first uses the system's authorities
	t.Setenv("SSL_CERT_DIR", t.TempDir())
	client := through(t, ca.client(t, "proxy", time.Hour), "X-Remote-User", "ann")
	p := signin.NewProxy(defaults, &cluster{})
	for _, pem := range [][]byte{nil, []byte("\n"), []byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n")} {
		user, refused := p.Authenticate(client, "")
		assert.Nil(t, user)
		assert.ErrorIs(t, refused, api.Unauthorized(""))
		assert.ErrorContains(t, refused, "no authorities")
		assert.ErrorContains(t, p.SetAuthorities(pem), "contains no certificate")
	}
	require.NoError(t, p.SetAuthorities(newAuthority(t).pem()))
	_, refused := p.Authenticate(client, "")
	assert.ErrorIs(t, refused, api.Unauthorized(""), "other authorities are configured")
	require.NoError(t, p.SetAuthorities(ca.pem()))
	user, refused := p.Authenticate(client, "")
	require.Nil(t, refused)
	assert.Equal(t, "ann", user.Name)
}

// A proxy must remove identity headers that its client sends. If the proxy only adds
// headers, the request contains two usernames and is refused.
func TestTwoNamesOfAUserAreRefused(t *testing.T) {
	ca := newAuthority(t)
	config := defaults
	config.UsernameHeaders, config.UIDHeaders = []string{"X-Remote-User", "X-Forwarded-User"}, []string{"X-Remote-Uid", "X-Forwarded-Uid"}
	p := signin.NewProxy(config, &cluster{})
	require.NoError(t, p.SetAuthorities(ca.pem()))
	proxy := ca.client(t, "proxy", time.Hour)
	for name, headers := range map[string][]string{
		"twice":               {"X-Remote-User", "root", "X-Remote-User", "ann"},
		"in two headers":      {"X-Remote-User", "root", "X-Forwarded-User", "ann"},
		"empty first":         {"X-Remote-User", "", "X-Remote-User", "root", "X-Remote-User", "ann"},
		"in another case":     {"x-remote-user", "root", "X-REMOTE-USER", "ann"},
		"two UIDs":            {"X-Remote-User", "ann", "X-Remote-Uid", "0", "X-Remote-Uid", "7"},
		"UIDs in two headers": {"X-Remote-User", "ann", "X-Remote-Uid", "7", "X-Forwarded-Uid", "0"},
	} {
		user, refused := p.Authenticate(through(t, proxy, headers...), "")
		assert.Nil(t, user, name)
		assert.ErrorIs(t, refused, api.Unauthorized(""), name)
		if refused != nil {
			assert.NotContains(t, refused.Message, "root", name)
		}
	}
	for _, headers := range [][]string{
		{"X-Remote-User", "ann", "X-Forwarded-User", "ann", "X-Remote-Uid", "7", "X-Remote-Uid", "7"},
		{"X-Remote-User", "", "X-Forwarded-User", "ann", "X-Forwarded-Uid", "7"},
		{"X-Remote-User", "ann", "X-Remote-Uid", "7", "X_Remote_User", "root", "X-Remote_user", "root", "X_Remote_Group", "system:masters", "X_Remote_Extra_Scopes", "all"},
	} {
		user, refused := p.Authenticate(through(t, proxy, headers...), "")
		require.Nil(t, refused, headers)
		assert.Equal(t, &access.User{Name: "ann", UID: "7", Groups: []string{"system:authenticated"}, Extra: map[string][]string{}}, user, headers)
	}
}

// subscribed connects a reader and subscribes. The returned function waits until the
// subscription ends, and returns the time of the end.
func subscribed(ctx context.Context, t *testing.T, c *connector.Connector, token string) (ended func() time.Time) {
	t.Helper()
	here, there := connectortest.Pipe()
	go c.Serve(ctx, here)
	reader := connectortest.NewReader(there)
	require.NoError(t, reader.Hello(t.Context(), token))
	require.Nil(t, reader.Status)
	sub, err := reader.Subscribe(t.Context(), wire.Subscribe{Subscription: 1, Resource: "v1/pods", Credit: connectortest.Endless})
	require.NoError(t, err)
	require.NoError(t, reader.UntilSynced(t.Context(), sub))
	require.Nil(t, sub.Status)
	end := make(chan time.Time, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		assert.NoError(t, reader.Until(ctx, func() bool { return sub.Status != nil || reader.Status != nil }))
		end <- time.Now()
		there.Close(nil)
	}()
	return func() time.Time { return <-end }
}

const revocationBound = time.Minute // as documented

// Access ends within a minute after the credentials or rights that granted it become
// invalid.
func TestRevokedSignInEndsWithinAMinute(t *testing.T) {
	for name, revoke := range map[string]func(t *testing.T) (p access.Policy, ctx context.Context, token string, revoke func()){
		"authority of the proxy": func(t *testing.T) (access.Policy, context.Context, string, func()) {
			ca := newAuthority(t)
			p := signin.NewProxy(defaults, access.Everyone())
			require.NoError(t, p.SetAuthorities(ca.pem()))
			return p, through(t, ca.client(t, "proxy", time.Hour), "X-Remote-User", "ann"), "",
				func() { require.NoError(t, p.SetAuthorities(newAuthority(t).pem())) }
		},
		"certificate of the proxy": func(t *testing.T) (access.Policy, context.Context, string, func()) {
			ca := newAuthority(t)
			p := signin.NewProxy(defaults, access.Everyone())
			require.NoError(t, p.SetAuthorities(ca.pem()))
			certificate := ca.client(t, "proxy", 100*time.Second)
			return p, through(t, certificate, "X-Remote-User", "ann"), "", func() { time.Sleep(time.Until(certificate.NotAfter)) }
		},
		"right to impersonate": func(t *testing.T) (access.Policy, context.Context, string, func()) {
			c := &cluster{rights: []string{"root impersonate v1/users bob", "bob v1/pods"}}
			return signin.Impersonation(c, nil), from(t, "Impersonate-User", "bob"), "t-root", func() { c.set("bob v1/pods") }
		},
		"right of the impersonated user": func(t *testing.T) (access.Policy, context.Context, string, func()) {
			c := &cluster{rights: []string{"root impersonate v1/users bob", "bob v1/pods"}}
			return signin.Impersonation(c, nil), from(t, "Impersonate-User", "bob"), "t-root", func() { c.set("root impersonate v1/users bob") }
		},
		"token of the cookie": func(t *testing.T) (access.Policy, context.Context, string, func()) {
			tokens := access.Token("secret")
			return signin.Cookie("session", tokens, nil), from(t, "Cookie", "session=secret"), "", func() { tokens.Set([]string{"other"}) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				policy, ctx, token, revoke := revoke(t)
				c := connector.New(connector.Config{Source: memory.New(), Access: policy, Logger: slog.New(slog.DiscardHandler)})
				ended := subscribed(ctx, t, c, token)
				time.Sleep(70 * time.Second)
				revoke()
				revoked := time.Now()
				assert.LessOrEqual(t, ended().Sub(revoked), revocationBound)
				require.NoError(t, c.Close(context.Background()))
			})
		})
	}
}

func (c *cluster) set(rights ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rights = rights
}
