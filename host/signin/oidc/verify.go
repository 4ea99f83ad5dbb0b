package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	jose "github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
)

const (
	// clockSkew is how far the issuer's clock may be ahead of this server's clock. It
	// applies only to the claim "nbf"; the claim "exp" is checked without tolerance.
	clockSkew = 30 * time.Second

	allAuthenticated = "system:authenticated"
	reserved         = "system:"
)

// Verify returns the user of a token, or an error status that does not contain the token. The
// token must be verified again no later than the user's ReviewAt.
func (v *Verifier) Verify(ctx context.Context, token string) (*access.User, *api.Status) {
	if refused := v.checkForm(token); refused != nil {
		return nil, refused
	}
	keys, undecided := v.current(ctx, nil)
	if undecided != nil {
		return nil, undecided
	}
	verified, signed, err := v.verify(ctx, token, keys)
	if !signed.verified {
		newer, undecided := v.current(ctx, keys)
		if undecided != nil {
			return nil, undecided
		}
		if newer != keys {
			keys = newer
			verified, signed, err = v.verify(ctx, token, keys)
		}
	}
	switch {
	case !signed.verified && !signed.known && v.unreachable():
		return nil, unavailable("its key is unknown, and the issuer cannot be read")
	case !signed.verified:
		return nil, api.Unauthorized("the token is not signed with a key of the issuer")
	case err != nil:
		return nil, v.explain(err, signed.payload)
	}
	return v.user(verified, signed.payload, keys)
}

// checkForm refuses malformed tokens and tokens of other issuers. It does not verify the
// signature. A token that it refuses causes no request to the issuer.
func (v *Verifier) checkForm(token string) *api.Status {
	if strings.ContainsFunc(token, notInToken) {
		return malformed()
	}
	parsed, err := jose.ParseSignedCompact(token, v.config.algorithms())
	switch {
	case errors.As(err, new(*jose.ErrUnexpectedSignatureAlgorithm)):
		return api.Unauthorized("the token is signed with an algorithm that the server does not accept: expected " + strings.Join(v.config.SigningAlgorithms, " or "))
	case err != nil:
		return malformed()
	}
	var claims jwt.RegisteredClaims
	if json.Unmarshal(parsed.UnsafePayloadWithoutVerification(), &claims) != nil {
		return malformed()
	}
	if claims.Issuer != v.config.IssuerURL {
		return api.Unauthorized("the token is of another issuer: expected one of " + v.config.IssuerURL)
	}
	return nil
}

func notInToken(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.')
}

func malformed() *api.Status {
	return api.Unauthorized("the token is not an ID token: expected a signed JWT of the issuer")
}

// verify verifies a token with the given keys. The returned signature is never nil, even if
// verification fails.
func (v *Verifier) verify(ctx context.Context, token string, keys *keySet) (*oidc.IDToken, *signature, error) {
	s := &signature{keys: keys.keys, algorithms: v.config.algorithms()}
	verified, err := oidc.NewVerifier(v.config.IssuerURL, s, &oidc.Config{
		ClientID: v.config.ClientID, SupportedSigningAlgs: v.config.SigningAlgorithms,
	}).Verify(ctx, token)
	return verified, s, err
}

// signature is an oidc.KeySet that verifies the signature of one token and records the
// result.
type signature struct {
	keys       []jose.JSONWebKey
	algorithms []jose.SignatureAlgorithm

	known    bool // a key with the ID and algorithm of the token exists
	verified bool
	payload  []byte // of a verified token
}

// VerifySignature implements oidc.KeySet.
func (s *signature) VerifySignature(_ context.Context, token string) ([]byte, error) {
	parsed, err := jose.ParseSignedCompact(token, s.algorithms)
	if err != nil {
		return nil, err
	}
	for _, of := range parsed.Signatures {
		for _, key := range s.keys {
			if of.Header.KeyID != "" && of.Header.KeyID != key.KeyID || key.Algorithm != "" && key.Algorithm != of.Header.Algorithm {
				continue
			}
			s.known = true
			if payload, err := parsed.Verify(key); err == nil {
				s.verified, s.payload = true, payload
				return payload, nil
			}
		}
	}
	return nil, errors.New("no key of the issuer verifies the signature")
}

// explain returns the refusal of a token whose signature is valid but whose claims are
// invalid.
func (v *Verifier) explain(err error, payload []byte) *api.Status {
	if errors.As(err, new(*oidc.TokenExpiredError)) {
		return api.Unauthorized("the token has expired, or has no expiry: sign in again")
	}
	var claims jwt.RegisteredClaims
	if json.Unmarshal(payload, &claims) != nil {
		return malformed()
	}
	switch {
	case !slices.Contains(claims.Audience, v.config.ClientID):
		return api.Unauthorized("the token is for another client: expected the audience " + v.config.ClientID)
	case claims.NotBefore != nil && claims.NotBefore.After(time.Now()):
		return notYet()
	}
	return api.Unauthorized("the token has no claims of an ID token")
}

func notYet() *api.Status {
	return api.Unauthorized("the token is not valid yet: compare the clocks of the issuer and of this server")
}

// user returns the user that the claims of a verified token describe, or a refusal.
func (v *Verifier) user(token *oidc.IDToken, payload []byte, keys *keySet) (*access.User, *api.Status) {
	var times jwt.RegisteredClaims
	var claims map[string]any
	if json.Unmarshal(payload, &times) != nil || json.Unmarshal(payload, &claims) != nil {
		return nil, malformed()
	}
	now := time.Now()
	if times.NotBefore != nil && times.NotBefore.After(now.Add(clockSkew)) {
		return nil, notYet()
	}
	for claim, value := range v.config.RequiredClaims {
		if claims[claim] != value {
			return nil, api.Unauthorized("the token lacks a required claim: expected " + claim + " with the value of this server's settings")
		}
	}
	name, refused := v.username(claims)
	if refused != nil {
		return nil, refused
	}
	groups, refused := v.groups(claims)
	if refused != nil {
		return nil, refused
	}
	return &access.User{Name: name, Groups: append(groups, allAuthenticated), Expires: token.Expiry, ReviewAt: keys.reviewAt(now)}, nil
}

func (v *Verifier) username(claims map[string]any) (string, *api.Status) {
	name, ok := claims[v.config.UsernameClaim].(string)
	if !ok || name == "" {
		return "", api.Unauthorized("the token has no user: expected a text in the claim " + v.config.UsernameClaim)
	}
	if verified, given := claims["email_verified"]; given && v.config.UsernameClaim == emailClaim && verified != true {
		return "", api.Unauthorized("the email address of the token is not verified by the issuer")
	}
	name = v.config.UsernamePrefix + name
	if strings.HasPrefix(name, reserved) {
		return "", api.Unauthorized("the user of the token begins with " + reserved + ", which is reserved: use --oidc-username-prefix")
	}
	return name, nil
}

func (v *Verifier) groups(claims map[string]any) ([]string, *api.Status) {
	claim, given := claims[v.config.GroupsClaim]
	if v.config.GroupsClaim == "" || !given || claim == nil {
		return nil, nil
	}
	list, ok := claim.([]any)
	if !ok {
		list = []any{claim}
	}
	var groups []string
	for _, each := range list {
		group, ok := each.(string)
		if !ok {
			return nil, api.Unauthorized("the groups of the token are malformed: expected a text or a list of texts in the claim " + v.config.GroupsClaim)
		}
		group = v.config.GroupsPrefix + group
		if strings.HasPrefix(group, reserved) {
			return nil, api.Unauthorized("a group of the token begins with " + reserved + ", which is reserved: use --oidc-groups-prefix")
		}
		groups = append(groups, group)
	}
	return groups, nil
}
