package oidc_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func jwtJSON(text []byte) (value any, err error) { return value, json.Unmarshal(text, &value) }

// Verify accepts a string only if it is a token that the issuer has signed.
func FuzzVerify(f *testing.F) {
	i := newIssuer(key("rsa", rsaKey()), key("ec", ecKey()))
	v := i.verifier(f, nil)
	signed := good(nil)
	f.Add(signed)
	f.Add(good(nil) + strings.Repeat("A", 100))
	for _, forged := range forgeries(f) {
		f.Add(forged)
	}
	content := strings.Join(strings.Split(signed, ".")[:2], ".")
	f.Fuzz(func(t *testing.T, text string) {
		user, refused := v.Verify(t.Context(), text)
		if refused == nil {
			require.True(t, strings.HasPrefix(text, content+"."), "%q was accepted", text)
			require.Equal(t, issuerURL+"#ann", user.Name)
			return
		}
		require.Nil(t, user)
		require.Equal(t, 401, refused.Code, refused.Message)
		if len(text) > 40 {
			require.NotContains(t, refused.Message, text)
		}
	})
}
