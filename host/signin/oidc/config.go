package oidc

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	jose "github.com/go-jose/go-jose/v4"
)

// Algorithms returns the signing algorithms that Config.SigningAlgorithms may contain.
// All are asymmetric. If symmetric algorithms were accepted, an attacker could use the
// issuer's public key as the shared secret and sign tokens with it.
func Algorithms() []string {
	return []string{"RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512"}
}

const (
	// DefaultUsernameClaim is the default of Config.UsernameClaim.
	DefaultUsernameClaim = "sub"
	// DefaultSigningAlgorithm is the default of Config.SigningAlgorithms. Every issuer
	// supports it.
	DefaultSigningAlgorithm = "RS256"
	// NoPrefix is the UsernamePrefix that adds no prefix.
	NoPrefix = "-"

	emailClaim = "email"
)

// Config configures a Verifier. IssuerURL and ClientID are required.
type Config struct {
	// IssuerURL is the https URL of the issuer, exactly as in the claim "iss" of its
	// tokens.
	IssuerURL string
	// ClientID must be in the audience of every token.
	ClientID string
	// UsernameClaim is the claim with the name of the user. Empty means
	// DefaultUsernameClaim. If UsernameClaim is "email", the claim "email_verified"
	// must be true or absent.
	UsernameClaim string
	// UsernamePrefix is prepended to each username, so that the result differs from the
	// usernames of other authenticators. Empty selects the issuer URL and "#", or no
	// prefix if UsernameClaim is "email". NoPrefix adds no prefix.
	UsernamePrefix string
	// GroupsClaim is the claim with one group or a list of groups. If it is empty, groups
	// in tokens are ignored.
	GroupsClaim string
	// GroupsPrefix is prepended to each group.
	GroupsPrefix string
	// RequiredClaims maps each claim that a token must contain to the required value.
	RequiredClaims map[string]string
	// SigningAlgorithms are the accepted algorithms, a subset of Algorithms. Empty
	// means DefaultSigningAlgorithm.
	SigningAlgorithms []string
	// Transport sends requests to the issuer. Nil means HTTPS with the certificate
	// authorities of the system, or those set by Verifier.SetAuthorities.
	Transport http.RoundTripper
	// Logger receives a line when the issuer becomes unavailable or available. Nil means
	// slog.Default.
	Logger *slog.Logger
}

func (c Config) withDefaults() (Config, error) {
	if err := checkURL(c.IssuerURL); err != nil {
		return c, fmt.Errorf("issuer URL %q: %w", c.IssuerURL, err)
	}
	if c.ClientID == "" {
		return c, fmt.Errorf("the client ID is missing: expected the audience of the tokens of %s", c.IssuerURL)
	}
	if c.UsernameClaim == "" {
		c.UsernameClaim = DefaultUsernameClaim
	}
	switch {
	case c.UsernamePrefix == NoPrefix:
		c.UsernamePrefix = ""
	case c.UsernamePrefix == "" && c.UsernameClaim != emailClaim:
		c.UsernamePrefix = c.IssuerURL + "#"
	}
	if len(c.SigningAlgorithms) == 0 {
		c.SigningAlgorithms = []string{DefaultSigningAlgorithm}
	}
	for _, a := range c.SigningAlgorithms {
		if !slices.Contains(Algorithms(), a) {
			return c, fmt.Errorf("signing algorithm %q: expected one of %s", a, strings.Join(Algorithms(), ", "))
		}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c, nil
}

// checkURL returns an error if text is not a valid issuer URL.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return fmt.Errorf("expected a URL such as https://issuer.example.com")
	case u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("expected an https URL such as https://issuer.example.com, because its keys decide who may read")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return fmt.Errorf("expected a URL without credentials, query and fragment")
	}
	return nil
}

func (c Config) algorithms() []jose.SignatureAlgorithm {
	var all []jose.SignatureAlgorithm
	for _, a := range c.SigningAlgorithms {
		all = append(all, jose.SignatureAlgorithm(a))
	}
	return all
}
