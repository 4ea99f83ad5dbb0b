package oidc_test

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/signin/oidc"
)

func TestTokensNameTheirUser(t *testing.T) {
	i := newIssuer(key("rsa", rsaKey()), key("ec", ecKey()))
	for name, c := range map[string]struct {
		token  string
		change func(*oidc.Config)
		user   string
		groups []string
	}{
		"RS256":             {token: good(nil), user: issuerURL + "#ann"},
		"ES256":             {token: token(jwt.SigningMethodES256, "ec", ecKey(), nil), change: func(c *oidc.Config) { c.SigningAlgorithms = []string{"ES256"} }, user: issuerURL + "#ann"},
		"PS256":             {token: token(jwt.SigningMethodPS256, "rsa", rsaKey(), nil), change: func(c *oidc.Config) { c.SigningAlgorithms = []string{"RS256", "PS256"} }, user: issuerURL + "#ann"},
		"no key ID":         {token: token(jwt.SigningMethodRS256, "", rsaKey(), nil), user: issuerURL + "#ann"},
		"several audiences": {token: good(claims{"aud": []string{"other", clientID}}), user: issuerURL + "#ann"},
		"prefixes": {token: good(claims{"groups": []string{"devs", "ops"}}),
			change: func(c *oidc.Config) { c.UsernamePrefix, c.GroupsClaim, c.GroupsPrefix = "acme:", "groups", "acme:" },
			user:   "acme:ann", groups: []string{"acme:devs", "acme:ops"}},
		"one group":                     {token: good(claims{"groups": "devs"}), change: func(c *oidc.Config) { c.UsernamePrefix, c.GroupsClaim = "-", "groups" }, user: "ann", groups: []string{"devs"}},
		"no groups":                     {token: good(nil), change: func(c *oidc.Config) { c.UsernamePrefix, c.GroupsClaim = "-", "groups" }, user: "ann"},
		"groups that are not requested": {token: good(claims{"groups": []string{"system:masters"}}), change: func(c *oidc.Config) { c.UsernamePrefix = "-" }, user: "ann"},
		"email":                         {token: good(claims{"email": "ann@example.com"}), change: func(c *oidc.Config) { c.UsernameClaim = "email" }, user: "ann@example.com"},
		"verified email":                {token: good(claims{"email": "ann@example.com", "email_verified": true}), change: func(c *oidc.Config) { c.UsernameClaim = "email" }, user: "ann@example.com"},
		"required claim":                {token: good(claims{"hd": "example.com"}), change: func(c *oidc.Config) { c.RequiredClaims = map[string]string{"hd": "example.com"} }, user: issuerURL + "#ann"},
		"a clock that is ahead":         {token: good(claims{"nbf": time.Now().Add(20 * time.Second).Unix()}), user: issuerURL + "#ann"},
	} {
		t.Run(name, func(t *testing.T) {
			user, refused := i.verifier(t, c.change).Verify(t.Context(), c.token)
			require.Nil(t, refused)
			assert.Equal(t, c.user, user.Name)
			assert.Equal(t, append(c.groups, "system:authenticated"), user.Groups)
			assert.WithinRange(t, user.Expires, time.Now().Add(time.Minute), time.Now().Add(time.Hour))
			assert.WithinRange(t, user.ReviewAt, time.Now(), time.Now().Add(50*time.Second))
			assert.False(t, user.Shared)
		})
	}
}

// forgeries returns tokens that must be refused. The map keys describe the defects.
func forgeries(t testing.TB) map[string]string {
	der := must(x509.MarshalPKIXPublicKey(rsaKey().Public()))
	text := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	payload := strings.Split(good(nil), ".")[1]
	signature := strings.Split(good(nil), ".")[2]
	jwk := must(key("rsa", otherRSA()).MarshalJSON())
	embedded := jwt.NewWithClaims(jwt.SigningMethodRS256, claims{"iss": issuerURL, "aud": clientID, "sub": "ann", "exp": time.Now().Add(time.Hour).Unix()})
	embedded.Header["jwk"], embedded.Header["kid"] = must(jwtJSON(jwk)), "rsa"
	parts := strings.Split(good(nil), ".")
	return map[string]string{
		"none":                    encode(`{"alg":"none"}`) + "." + payload + ".",
		"none with a signature":   encode(`{"alg":"none","kid":"rsa"}`) + "." + payload + "." + signature,
		"HS256 with the PEM":      token(jwt.SigningMethodHS256, "rsa", text, nil),
		"HS256 with the DER":      token(jwt.SigningMethodHS256, "rsa", der, nil),
		"HS256 with the JWK":      token(jwt.SigningMethodHS256, "rsa", must(key("rsa", rsaKey()).MarshalJSON()), nil),
		"an unaccepted algorithm": token(jwt.SigningMethodRS512, "rsa", rsaKey(), nil),
		"an unknown key":          token(jwt.SigningMethodRS256, "other", otherRSA(), nil),
		"another key":             token(jwt.SigningMethodRS256, "rsa", otherRSA(), nil),
		"no key ID":               token(jwt.SigningMethodRS256, "", otherRSA(), nil),
		"a key in its header":     must(embedded.SignedString(otherRSA())),
		"a changed payload":       parts[0] + "." + encode(`{"iss":"`+issuerURL+`","aud":"dashboard","sub":"root","exp":99999999999}`) + "." + parts[2],
		"no signature":            parts[0] + "." + parts[1] + ".",
		"a short signature":       good(nil)[:len(good(nil))-8],
		"two parts":               parts[0] + "." + parts[1],
		"four parts":              good(nil) + ".x",
		"JSON serialization":      `{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`,
		"a space":                 " " + good(nil),
		"a newline":               parts[0] + ".\n" + parts[1] + "." + parts[2],
		"padding":                 good(nil) + "=",
		"a secret":                "secret",
		"nothing":                 "",
		"no JSON":                 encode("x") + "." + encode("y") + "." + encode("z"),
		"null":                    encode("null") + "." + encode("null") + "." + encode("z"),
		"an encrypted token":      encode(`{"alg":"RSA-OAEP","enc":"A256GCM"}`) + "." + encode("a") + "." + encode("b") + "." + encode("c") + "." + encode("d"),
		"a critical header":       encode(`{"alg":"RS256","kid":"rsa","crit":["x"],"x":1}`) + "." + parts[1] + "." + parts[2],
		"deep claims":             encode(`{"alg":"RS256","kid":"rsa"}`) + "." + encode(strings.Repeat("[", 5000)) + "." + parts[2],
		"a token of the cluster":  token(jwt.SigningMethodRS256, "rsa", rsaKey(), claims{"iss": "https://kubernetes.default.svc"}),
		"a large number":          encode(`{"alg":"RS256","kid":"rsa"}`) + "." + encode(`{"iss":"`+issuerURL+`","exp":1e400}`) + "." + parts[2],
		"base64 with padding":     base64.URLEncoding.EncodeToString([]byte(`{"alg":"RS256"}`)) + "." + parts[1] + "." + parts[2],
	}
}

func TestForgedTokensAreRefused(t *testing.T) {
	i := newIssuer(key("rsa", rsaKey()), key("ec", ecKey()))
	v := i.verifier(t, nil)
	for name, forged := range forgeries(t) {
		user, refused := v.Verify(t.Context(), forged)
		assert.Nil(t, user, name)
		require.NotNil(t, refused, name)
		assert.Equal(t, 401, refused.Code, name)
		for part := range strings.SplitSeq(forged, ".") {
			if len(part) > 10 {
				assert.NotContains(t, refused.Message, part, "%s: tokens are not repeated", name)
			}
		}
	}
	user, refused := v.Verify(t.Context(), good(nil))
	require.Nil(t, refused)
	assert.Equal(t, issuerURL+"#ann", user.Name)
}

func TestTokensWithOtherClaimsAreRefused(t *testing.T) {
	i := newIssuer(key("rsa", rsaKey()))
	now := time.Now()
	groups := func(c *oidc.Config) { c.GroupsClaim = "groups" }
	for name, c := range map[string]struct {
		claims claims
		change func(*oidc.Config)
		want   string
	}{
		"another audience":          {claims{"aud": "other"}, nil, "for another client: expected the audience dashboard"},
		"no audience":               {claims{"aud": nil}, nil, "for another client"},
		"a longer audience":         {claims{"aud": "dashboard2"}, nil, "for another client"},
		"expired":                   {claims{"exp": now.Add(-time.Second).Unix()}, nil, "has expired"},
		"expired long ago":          {claims{"exp": 0}, nil, "has expired"},
		"without an expiry":         {claims{"exp": nil}, nil, "has expired, or has no expiry"},
		"not valid yet":             {claims{"nbf": now.Add(time.Minute + 10*time.Second).Unix()}, nil, "not valid yet"},
		"not valid for long":        {claims{"nbf": now.Add(time.Hour).Unix()}, nil, "not valid yet"},
		"another issuer":            {claims{"iss": issuerURL + "/"}, nil, "of another issuer"},
		"no issuer":                 {claims{"iss": nil}, nil, "of another issuer"},
		"no user":                   {claims{"sub": nil}, nil, "expected a text in the claim sub"},
		"an empty user":             {claims{"sub": ""}, nil, "expected a text in the claim sub"},
		"a number as user":          {claims{"uid": 7}, func(c *oidc.Config) { c.UsernameClaim = "uid" }, "expected a text in the claim uid"},
		"a reserved user":           {claims{"sub": "system:admin"}, func(c *oidc.Config) { c.UsernamePrefix = "-" }, "--oidc-username-prefix"},
		"a reserved group":          {claims{"groups": []string{"a", "system:masters"}}, groups, "--oidc-groups-prefix"},
		"groups by prefix":          {claims{"groups": "masters"}, func(c *oidc.Config) { c.GroupsClaim, c.GroupsPrefix = "groups", "system:" }, "--oidc-groups-prefix"},
		"a number as group":         {claims{"groups": []any{"a", 1}}, groups, "expected a text or a list of texts in the claim groups"},
		"an object as groups":       {claims{"groups": map[string]any{}}, groups, "expected a text or a list"},
		"an unverified email":       {claims{"email": "a@b", "email_verified": false}, func(c *oidc.Config) { c.UsernameClaim = "email" }, "not verified"},
		"an email verified as text": {claims{"email": "a@b", "email_verified": "true"}, func(c *oidc.Config) { c.UsernameClaim = "email" }, "not verified"},
		"no required claim":         {nil, func(c *oidc.Config) { c.RequiredClaims = map[string]string{"hd": "example.com"} }, "lacks a required claim: expected hd"},
		"another required claim":    {claims{"hd": "example.org"}, func(c *oidc.Config) { c.RequiredClaims = map[string]string{"hd": "example.com"} }, "lacks a required claim"},
		"a list as required claim":  {claims{"hd": []string{"example.com"}}, func(c *oidc.Config) { c.RequiredClaims = map[string]string{"hd": "example.com"} }, "lacks a required claim"},
		"distributed groups":        {claims{"_claim_names": map[string]any{"groups": "src"}, "_claim_sources": map[string]any{}}, groups, "the token has no claims of an ID token"},
	} {
		t.Run(name, func(t *testing.T) {
			user, refused := i.verifier(t, c.change).Verify(t.Context(), good(c.claims))
			assert.Nil(t, user)
			require.NotNil(t, refused)
			assert.Equal(t, 401, refused.Code)
			assert.Contains(t, refused.Message, c.want)
		})
	}
}

func TestSettingsOfTheIssuerAreChecked(t *testing.T) {
	valid := oidc.Config{IssuerURL: issuerURL, ClientID: clientID}
	for want, change := range map[string]func(*oidc.Config){
		`"http://issuer.example.com": expected an https URL`:    func(c *oidc.Config) { c.IssuerURL = "http://issuer.example.com" },
		`issuer URL "": expected an https URL`:                  func(c *oidc.Config) { c.IssuerURL = "" },
		`expected a URL such as https://issuer.example.com`:     func(c *oidc.Config) { c.IssuerURL = "https://%zz" },
		"without credentials, query and fragment":               func(c *oidc.Config) { c.IssuerURL = issuerURL + "?a=b" },
		"expected the audience of the tokens":                   func(c *oidc.Config) { c.ClientID = "" },
		`signing algorithm "HS256": expected one of RS256, RS3`: func(c *oidc.Config) { c.SigningAlgorithms = []string{"RS256", "HS256"} },
		`signing algorithm "none": expected one of RS256`:       func(c *oidc.Config) { c.SigningAlgorithms = []string{"none"} },
	} {
		config := valid
		change(&config)
		_, err := oidc.New(config)
		assert.ErrorContains(t, err, want)
	}
	v, err := oidc.New(valid)
	require.NoError(t, err)
	assert.ErrorContains(t, v.SetAuthorities([]byte("nonsense")), "expected the certificates of authorities in PEM")
	assert.ErrorContains(t, v.SetAuthorities(nil), "the file contains no certificate")
}
