package cacher_test

import (
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
)

func token(json string) string { return base64.RawURLEncoding.EncodeToString([]byte(json)) }

func TestC49_Format(t *testing.T) {
	assert.Equal(t, token(`{"v":"meta.k8s.io/v1","rv":42,"start":"ns/a\u0000"}`), cacher.FormatContinue(42, "ns/a\x00"))
	assert.Equal(t, token(`{"v":"meta.k8s.io/v1","rv":-1,"start":"a\u0000"}`), cacher.FormatContinue(0, "a\x00"))
}

func TestC50_Decode(t *testing.T) {
	const head = `{"v":"meta.k8s.io/v1","rv":`
	for _, c := range []struct {
		name, text string
		rv         api.ResourceVersion
		start      string
		refused    bool
	}{
		{"valid", token(head + `1,"start":"key"}`), 1, "key", false},
		{"valid, after a key", token(head + `9223372036854775807,"start":"ns/a\u0000"}`), 1<<63 - 1, "ns/a\x00", false},
		{"slash in front", token(head + `1,"start":"/key"}`), 1, "key", false},
		{"root", token(head + `1,"start":"/"}`), 1, "", false},
		{"C51 latest", token(head + `-1,"start":"key"}`), 0, "key", false},
		{"C51 any negative", token(head + `-7,"start":"key"}`), 0, "key", false},
		{"empty version", token(`{"v":"","rv":1,"start":"key"}`), 0, "", true},
		{"other version", token(`{"v":"v1","rv":1,"start":"key"}`), 0, "", true},
		{"no version", token(`{"rv":1,"start":"key"}`), 0, "", true},
		{"rv 0", token(head + `0,"start":"key"}`), 0, "", true},
		{"rv missing", token(head + `,"start":"key"}`), 0, "", true},
		{"rv beyond 63 bits", token(head + `9223372036854775808,"start":"key"}`), 0, "", true},
		{"no start", token(head + `1}`), 0, "", true},
		{"empty start", token(head + `1,"start":""}`), 0, "", true},
		{"parent", token(head + `1,"start":"../key"}`), 0, "", true},
		{"self", token(head + `1,"start":"./key"}`), 0, "", true},
		{"self and parent", token(head + `1,"start":"./../key"}`), 0, "", true},
		{"parent at the end", token(head + `1,"start":"key/../.."}`), 0, "", true},
		{"empty segment", token(head + `1,"start":"a//b"}`), 0, "", true},
		{"slash at the end", token(head + `1,"start":"a/"}`), 0, "", true},
		{"two slashes", token(head + `1,"start":"//"}`), 0, "", true},
		{"quote", token(head + `1,"start":"a","x":"b"}`), 0, "", true},
		{"not JSON", token("x"), 0, "", true},
		{"not base64", "*", 0, "", true},
		{"padded", token(head+`1,"start":"key"}`) + "=", 0, "", true},
		{"cut", token(head + `1,"start":"key"}`)[:40], 0, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			rv, start, status := cacher.ParseContinue(c.text)
			require.Equal(t, c.refused, status != nil, "%v", status)
			if c.refused {
				assert.Equal(t, 400, status.Code)
				return
			}
			assert.Equal(t, c.rv, rv)
			assert.Equal(t, c.start, start)
		})
	}
}

func FuzzBase64(f *testing.F) {
	f.Add([]byte("a"), "YQ")
	f.Add([]byte("ab"), "YR")
	f.Add([]byte{0xfb, 0xff}, "-_-")
	f.Fuzz(func(t *testing.T, plain []byte, coded string) {
		strict := base64.RawURLEncoding.Strict()
		assert.Equal(t, strict.EncodeToString(plain), cacher.EncodeBase64(string(plain)))
		got, ok := cacher.DecodeBase64(coded)
		for _, c := range coded {
			if c == '\r' || c == '\n' { // skipped by the library
				assert.False(t, ok)
				return
			}
		}
		want, err := strict.DecodeString(coded)
		require.Equal(t, err == nil, ok)
		if ok {
			assert.Equal(t, string(want), got)
		}
	})
}

func FuzzParseContinue(f *testing.F) {
	f.Add(`{"v":"meta.k8s.io/v1","rv":42,"start":"ns/a\u0000"}`)
	f.Add(`{"v":"meta.k8s.io/v1","rv":-1,"start":"/"}`)
	f.Fuzz(func(t *testing.T, json string) {
		rv, start, status := cacher.ParseContinue(token(json))
		if status != nil || start == "" {
			return
		}
		again, startAgain, status := cacher.ParseContinue(cacher.FormatContinue(rv, start))
		require.Nil(t, status)
		assert.Equal(t, rv, again)
		assert.Equal(t, start, startAgain)
	})
}
