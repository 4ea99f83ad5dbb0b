package signin

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
)

// ProxyConfig configures a Proxy. The fields correspond to the --requestheader flags of
// kube-apiserver.
type ProxyConfig struct {
	// AllowedNames are the common names of the client certificates that identify the
	// proxy. If AllowedNames is empty, every client certificate from the authorities
	// identifies the proxy.
	AllowedNames []string
	// UsernameHeaders, UIDHeaders and GroupHeaders name the headers with the username, UID
	// and groups. A user is in the groups of all GroupHeaders. A request with different
	// usernames or different UIDs is refused.
	UsernameHeaders, UIDHeaders, GroupHeaders []string
	// ExtraHeaderPrefixes are the prefixes of headers with extra attributes of the user.
	ExtraHeaderPrefixes []string
}

// Proxy is a policy for a front proxy that authenticates users and sends their names in
// headers. The proxy identifies itself by a client certificate. Requests without a valid
// certificate are refused.
type Proxy struct {
	authorizer access.Policy
	config     ProxyConfig
	roots      atomic.Pointer[x509.CertPool]
}

// NewProxy returns a policy that delegates authorization to authorizer. It refuses all
// clients until SetAuthorities has been called.
func NewProxy(config ProxyConfig, authorizer access.Policy) *Proxy {
	return &Proxy{authorizer: authorizer, config: config}
}

// SetAuthorities sets the certificate authorities, in PEM, that verify the proxy's
// certificate. If a proxy's certificate is no longer valid, the users of that proxy are
// disconnected at their next review.
func (p *Proxy) SetAuthorities(pem []byte) error {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return errors.New("the file contains no certificate: expected the certificates of authorities in PEM")
	}
	p.roots.Store(roots)
	return nil
}

// Authenticate implements access.Policy.
func (p *Proxy) Authenticate(ctx context.Context, _ string) (*access.User, *api.Status) {
	client := access.ClientOf(ctx)
	if refused := p.verify(client); refused != nil {
		return nil, refused
	}
	user := &access.User{Extra: map[string][]string{}}
	var sameName, sameUID bool
	user.Name, sameName = only(client.Header, p.config.UsernameHeaders)
	user.UID, sameUID = only(client.Header, p.config.UIDHeaders)
	switch {
	case !sameName || !sameUID:
		return nil, api.Unauthorized("the request names several users: the proxy must remove the headers of its clients before it adds its own")
	case user.Name == "":
		return nil, api.Unauthorized("the proxy has not named a user: expected one of the headers of --requestheader-username-headers")
	}
	for _, name := range p.config.GroupHeaders {
		user.Groups = append(user.Groups, client.Header.Values(name)...)
	}
	for _, prefix := range p.config.ExtraHeaderPrefixes {
		for key, values := range prefixed(client.Header, prefix) {
			user.Extra[key] = append(user.Extra[key], values...)
		}
	}
	if user.Name != anonymous {
		addAuthenticated(user)
	}
	return user, nil
}

// verify checks the client certificate against the current authorities, the current time
// and AllowedNames. It returns nil or a refusal.
func (p *Proxy) verify(client access.Client) *api.Status {
	if client.TLS == nil || len(client.TLS.PeerCertificates) == 0 {
		return api.Unauthorized("the client has not presented a certificate: connect through the authenticating proxy")
	}
	roots := p.roots.Load()
	if roots == nil { // without roots, Verify would use the authorities of the system
		return api.Unauthorized("the server has no authorities for the certificate of the authenticating proxy")
	}
	certificate := client.TLS.PeerCertificates[0]
	options := x509.VerifyOptions{
		Roots: roots, Intermediates: x509.NewCertPool(), CurrentTime: time.Now(),
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for _, c := range client.TLS.PeerCertificates[1:] {
		options.Intermediates.AddCert(c)
	}
	if _, err := certificate.Verify(options); err != nil {
		return api.Unauthorized("the certificate of the client is not one of the authenticating proxy: " + err.Error())
	}
	if len(p.config.AllowedNames) > 0 && !slices.Contains(p.config.AllowedNames, certificate.Subject.CommonName) {
		return api.Unauthorized("the certificate of the client has a name that --requestheader-allowed-names does not contain")
	}
	return nil
}

// only returns the value of the headers with the given names, or "" if all are empty or
// missing. The result ok is false if the headers have different values.
func only(h http.Header, names []string) (value string, ok bool) {
	for _, name := range names {
		for _, v := range h.Values(name) {
			if value != "" && v != "" && v != value {
				return "", false
			}
			value = cmp.Or(value, v)
		}
	}
	return value, true
}

// Authorize implements access.Policy.
func (p *Proxy) Authorize(ctx context.Context, user *access.User, r access.Request) (time.Time, *api.Status) {
	return p.authorizer.Authorize(ctx, user, r)
}

// Rules implements access.Ruler.
func (p *Proxy) Rules(ctx context.Context, _ string, user *access.User, namespace string) (*access.Rules, *api.Status) {
	return access.RulesOf(ctx, p.authorizer, "", user, namespace)
}

// Unwrap returns the policy that authorizes requests. See [access.Unwrap].
func (p *Proxy) Unwrap() access.Policy { return p.authorizer }
