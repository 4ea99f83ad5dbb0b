package lite

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQuoteAgreesWithPackageStrconv(t *testing.T) {
	for _, text := range []string{"", "web", `a"b\c`, "tab\tline\nreturn\r", "\x00\x1f\x7f", "é 日本 🎈", "\xff a \xc3", "�"} {
		require.Equal(t, strconv.Quote(text), Quote(text))
	}
}

func FuzzParseAgreesWithPackageStrconv(f *testing.F) {
	for _, text := range []string{
		"", "0", "7", "+7", "-7", "-", "+", "--1", "1a", "007", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
		"-9223372036854775809", "18446744073709551615", "18446744073709551616", "99999999999999999999999", "1_000",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		signed, err := strconv.ParseInt(text, 10, 64)
		n, ok := ParseInt(text)
		require.Equal(t, err == nil, ok)
		if ok {
			require.Equal(t, signed, n)
		}
		unsigned, err := strconv.ParseUint(text, 10, 64)
		m, ok := ParseUint(text)
		require.Equal(t, err == nil, ok)
		if ok {
			require.Equal(t, unsigned, m)
		}
	})
}

func TestEqualFoldIgnoresTheCaseOfASCII(t *testing.T) {
	require.True(t, EqualFold("Restarts", "rEstArtS"))
	require.False(t, EqualFold("Restarts", "Restart"))
	require.False(t, EqualFold("k", "\u212a"), "the sign of Kelvin is no ASCII letter")
	require.False(t, EqualFold("@", "`"))
}

func TestHasAny(t *testing.T) {
	for _, text := range []string{"", "abc", "a,b", `\`} {
		require.Equal(t, strings.ContainsAny(text, `\,`), HasAny(text, `\,`))
	}
}

func TestCutAndJoinAgreeWithPackageStrings(t *testing.T) {
	for _, text := range []string{"", "/", "a", "a/", "/a", "a/b", "a/b/c"} {
		before, after, found := strings.Cut(text, "/")
		b, a, f := Cut(text, '/')
		require.Equal(t, []any{before, after, found}, []any{b, a, f})
		require.Equal(t, text, Join(strings.Split(text, "/"), "/"))
	}
	require.Empty(t, Join(nil, ","))
}
