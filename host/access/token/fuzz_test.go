package token_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/access/token"
)

// signedBy reports whether the last part of a text is the HMAC-SHA256 of the preceding
// text. It does not use the JWT library.
func signedBy(text, key string) bool {
	at := strings.LastIndexByte(text, '.')
	if at < 0 {
		return false
	}
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(text[:at]))
	return text[at+1:] == base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func checkVerified(t *testing.T, text string) {
	claims, status := keys(t, oldKey+" "+newKey).Verify(text, now)
	if status != nil {
		require.Nil(t, claims)
		require.Equal(t, 401, status.Code)
		require.NotEmpty(t, status.Message)
		require.True(t, len(text) < 20 || !strings.Contains(status.Message, text), "a refusal does not repeat the token")
		return
	}
	require.True(t, signedBy(text, oldKey) || signedBy(text, newKey), "accepted without a signature")
	require.LessOrEqual(t, len(text), token.MaxBytes)
	require.True(t, claims.Expires.After(now))
}

// Any text that is presented as a token is accepted only with a valid signature
// and before its expiry.
func FuzzVerify(f *testing.F) {
	good := forge(hs256, reader, newKey)
	for _, seed := range []string{
		"", ".", "..", "...", good, good + "=", good[:len(good)-1], good + ".", strings.ToUpper(good), forge(hs256, reader, otherKey),
		forge(`{"alg":"none"}`, reader, newKey), strings.TrimRight(forge(`{"alg":"none"}`, reader, newKey), "-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"),
		"Bearer " + good, " " + good, good + "\n", "a.b.c", strings.Repeat("a.", 5000),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > token.MaxBytes {
			_, status := keys(t, newKey).Verify(text, now)
			require.NotNil(t, status)
		}
		checkVerified(t, text)
	})
}

// Of the tokens signed with a known key, only those with valid claims are accepted.
// Signing the accepted claims again yields a token with equal claims.
func FuzzSignedClaims(f *testing.F) {
	for _, payload := range []string{
		reader, with("1800003600", "1799999999"), with("1800003600", "1e400"), with("1800003600", "-1"), with("1800003600", `"soon"`), with("1800003600", "1800003600.9"),
		with(`"iss":"watchglass"`, `"iss":"somebody"`), with(`"sub":"ada"`, `"sub":{}`), with(`["v1/pods"]`, `["v1/pods",1]`), with(`["v1/pods"]`, "null"),
		`{}`, `[]`, `null`, `{"exp":1800003600,"exp":1}`, with(`"exp"`, `"nbf":1800000001,"exp"`), with("ada", "\\u0000\x1b[2J"),
	} {
		f.Add(hs256, payload)
	}
	for _, header := range []string{`{"alg":"none"}`, `{"alg":"HS384"}`, `{"alg":"RS256"}`, `{"alg":["HS256"]}`, `{}`, `{"alg":"HS256","crit":["x"]}`, `{"alg":"HS256","kid":"../../key"}`} {
		f.Add(header, reader)
	}
	f.Fuzz(func(t *testing.T, header, payload string) {
		text := forge(header, payload, newKey)
		checkVerified(t, text)
		k := keys(t, newKey)
		claims, status := k.Verify(text, now)
		if status != nil {
			return
		}
		again, err := k.Sign(*claims, now)
		if err != nil {
			return // it grants no rights, or was not signed by Sign
		}
		second, status := k.Verify(again, now)
		require.Nil(t, status)
		assert.Equal(t, claims.Resources, second.Resources)
		assert.Equal(t, claims.Namespaces, second.Namespaces)
		assert.Equal(t, claims.Cluster, second.Cluster)
		assert.Equal(t, claims.Feed, second.Feed)
		assert.Equal(t, claims.User, second.User)
		assert.Equal(t, claims.Expires.Unix(), second.Expires.Unix())
	})
}
