package redact

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestURL(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "",
		"wss://edge.example/feed":        "wss://edge.example/feed",
		"wss://a:b@edge.example/feed":    "wss://xxxxx@edge.example/feed",
		"wss://a:b@c@edge.example:%zz/f": "wss://xxxxx@edge.example:%zz/f",
		"wss://a:b/c://@edge.example":    "wss://xxxxx@edge.example",
		"a:b@edge.example":               "xxxxx@edge.example",
		"a:b@edge.example://x":           "xxxxx@edge.example://x",
		"://:@":                          "://xxxxx@",
	} {
		assert.Equal(t, want, URL(text), text)
	}
}
