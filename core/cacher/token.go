package cacher

import (
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
)

// A continue token is base64url without padding of
// {"v":"meta.k8s.io/v1","rv":N,"start":"KEY\u0000"}. KEY is the last key of the current
// page, without the prefix of the namespace; the next page starts after it (rule C49). A
// negative rv means the latest state (rule C51).
type continueToken struct {
	rv    api.ResourceVersion // zero for the latest state
	start string
}

const (
	tokenHead  = `{"v":"meta.k8s.io/v1","rv":`
	tokenStart = `"start":"`
	tokenTail  = `"}`
)

func formatContinue(rv api.ResourceVersion, start string) string {
	number := rv.String()
	if rv == 0 {
		number = "-1"
	}
	return encodeBase64(tokenHead + number + "," + tokenStart + escapeNUL(start) + tokenTail)
}

// parseContinue parses a continue token. Keys are Kubernetes names and need no JSON
// escapes except for the NUL byte.
func parseContinue(text string) (continueToken, *api.Status) {
	bad := func(why string) (continueToken, *api.Status) {
		return continueToken{}, api.BadRequest("continue key is not valid: " + why)
	}
	json, ok := decodeBase64(text)
	if !ok {
		return bad("it is not base64url without padding")
	}
	rest, ok := strings.CutPrefix(json, tokenHead)
	number, rest, _ := lite.Cut(rest, ',')
	rest, ok2 := strings.CutPrefix(rest, tokenStart)
	start, ok3 := strings.CutSuffix(rest, tokenTail)
	if !ok || !ok2 || !ok3 {
		return bad("it is not a token of version meta.k8s.io/v1")
	}
	start = unescapeNUL(start)
	if !cleanStart(start) {
		return bad("its start key is " + lite.Quote(start))
	}
	rv, ok := lite.ParseInt(number)
	if !ok || rv == 0 {
		return bad("its resource version is " + lite.Quote(number))
	}
	return continueToken{api.ResourceVersion(max(rv, 0)), strings.TrimPrefix(start, "/")}, nil
}

// cleanStart reports whether a start key stays inside the collection (rule C50).
// A leading slash is allowed and ignored.
func cleanStart(start string) bool {
	if start == "" || lite.HasAny(start, `"\`) {
		return false
	}
	start = strings.TrimPrefix(start, "/")
	if start == "" {
		return true
	}
	for more := true; more; {
		var segment string
		segment, start, more = lite.Cut(start, '/')
		if segment == "" || segment == "." || segment == ".." {
			return false
		}
	}
	return true
}

const escapedNUL = `\u0000`

func escapeNUL(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if s[i] == 0 {
			b.WriteString(escapedNUL)
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

func unescapeNUL(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if strings.HasPrefix(s[i:], escapedNUL) {
			b.WriteByte(0)
			i += len(escapedNUL) - 1
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

const base64Alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// encodeBase64 encodes base64url without padding. Package encoding/base64 would
// add reflection to the module.
func encodeBase64(s string) string {
	var b strings.Builder
	var bits, n uint
	for i := 0; i < len(s); i++ {
		bits, n = bits<<8|uint(s[i]), n+8
		for ; n >= 6; n -= 6 {
			b.WriteByte(base64Alphabet[bits>>(n-6)&63])
		}
	}
	if n > 0 {
		b.WriteByte(base64Alphabet[bits<<(6-n)&63])
	}
	return b.String()
}

func decodeBase64(s string) (string, bool) {
	var b strings.Builder
	var bits, n uint
	for i := 0; i < len(s); i++ {
		v := strings.IndexByte(base64Alphabet, s[i])
		if v < 0 {
			return "", false
		}
		if bits, n = bits<<6|uint(v), n+6; n >= 8 {
			n -= 8
			b.WriteByte(byte(bits >> n))
		}
	}
	return b.String(), len(s)%4 != 1 && bits&(1<<n-1) == 0
}
