package token

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/watchglass/watchglass/core/api"
)

const (
	// MinKeyBytes is the minimum length of a key in bytes, which is the output length of
	// HMAC-SHA256. A shorter key would be the weakest part of a signature.
	MinKeyBytes = 32
	// MaxBytes is the maximum length of a token, in bytes.
	MaxBytes = 8 << 10

	issuer = "watchglass"
	// Any means every resource, or every namespace.
	Any = "*"
)

// Claims contains the user, the rights and the expiry of a token.
type Claims struct {
	User       string
	Cluster    string
	Resources  []string // "v1/pods", or Any
	Namespaces []string // names, or Any; cluster-scoped resources require Any
	Feed       bool     // the token is for feeding these resources, not for reading them
	Expires    time.Time
}

// claims is the JSON form of Claims in a token.
type claims struct {
	jwt.RegisteredClaims
	Cluster    string   `json:"cluster"`
	Resources  []string `json:"resources"`
	Namespaces []string `json:"namespaces"`
	Feed       bool     `json:"feed,omitempty"`
}

// Keys sign and verify tokens. They are safe for concurrent use.
type Keys [][]byte

// ParseKeys parses one or more keys, separated by whitespace, from a file or a secret.
// The error contains no part of a key.
func ParseKeys(text string) (Keys, error) {
	var keys Keys
	for i, key := range strings.Fields(text) {
		if len(key) < MinKeyBytes {
			return nil, fmt.Errorf("key %d has %d bytes, expected at least %d; make one with: openssl rand -base64 48", i+1, len(key), MinKeyBytes)
		}
		keys = append(keys, []byte(key))
	}
	if len(keys) == 0 {
		return nil, errors.New("no key is given; make one with: openssl rand -base64 48")
	}
	return keys, nil
}

// Sign returns a signed token with the claims.
func (k Keys) Sign(c Claims, now time.Time) (string, error) {
	for _, r := range c.Resources {
		if _, err := api.ParseResource(r); err != nil && r != Any {
			return "", err
		}
	}
	switch {
	case len(c.Resources) == 0:
		return "", errors.New("a token without resources grants no rights: name some, or " + Any + " for all")
	case len(c.Namespaces) == 0:
		return "", errors.New("a token without namespaces grants no rights: name some, or " + Any + " for all")
	case c.Cluster == "":
		return "", errors.New("a token is for one cluster: name it")
	case c.Feed && !slices.Equal(c.Namespaces, []string{Any}):
		return "", errors.New("a token for feeding cannot be limited to namespaces, because a connector feeds all of them")
	case !c.Expires.After(now):
		return "", errors.New("the token would expire before it is signed")
	}
	signed, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims{
		jwt.RegisteredClaims{Issuer: issuer, Subject: c.User, IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(c.Expires)},
		c.Cluster, c.Resources, c.Namespaces, c.Feed,
	}).SignedString(k[0])
	if len(signed) > MaxBytes {
		return "", fmt.Errorf("the token would have %d bytes, more than the maximum of %d: grant all with %s, or less", len(signed), MaxBytes, Any)
	}
	return signed, err
}

// Verify returns the claims of a token, or a 401. Signatures are compared in
// constant time.
func (k Keys) Verify(token string, now time.Time) (*Claims, *api.Status) {
	switch {
	case token == "":
		return nil, api.Unauthorized("a token is required and none was presented")
	case len(token) > MaxBytes:
		return nil, api.Unauthorized("the token is too long: expected one from watchglass token")
	case strings.ContainsAny(token, "\r\n"): // the base64 decoder skips line breaks
		return nil, refusal(jwt.ErrTokenMalformed)
	}
	var signed claims
	set := jwt.VerificationKeySet{}
	for _, key := range k {
		set.Keys = append(set.Keys, key)
	}
	_, err := jwt.ParseWithClaims(token, &signed, func(*jwt.Token) (any, error) { return set, nil },
		jwt.WithValidMethods([]string{"HS256"}), jwt.WithStrictDecoding(), jwt.WithExpirationRequired(), jwt.WithIssuer(issuer),
		jwt.WithTimeFunc(func() time.Time { return now }))
	if err != nil {
		return nil, refusal(err)
	}
	return &Claims{
		User: signed.Subject, Cluster: signed.Cluster, Resources: signed.Resources, Namespaces: signed.Namespaces,
		Feed: signed.Feed, Expires: signed.ExpiresAt.Time,
	}, nil
}

// refusal returns a 401 that describes why a token is invalid, without quoting the token.
func refusal(err error) *api.Status {
	switch {
	case errors.Is(err, jwt.ErrTokenMalformed):
		return api.Unauthorized("the token is not a signed token: expected one from watchglass token")
	case errors.Is(err, jwt.ErrTokenExpired):
		return api.Unauthorized("the token has expired: mint another with watchglass token")
	case errors.Is(err, jwt.ErrTokenNotValidYet):
		return api.Unauthorized("the token is not valid yet: compare the clocks")
	case errors.Is(err, jwt.ErrTokenInvalidClaims):
		return api.Unauthorized("the token lacks a claim: expected one from watchglass token")
	}
	return api.Unauthorized("the token is not signed with a key of this edge")
}
