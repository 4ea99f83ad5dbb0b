package cacher

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/selector"
	"github.com/watchglass/watchglass/core/watcher"
)

// FormatContinue returns a continue token. An rv of zero means the latest
// state.
func FormatContinue(rv api.ResourceVersion, start string) string { return formatContinue(rv, start) }

// ParseContinue parses a continue token.
func ParseContinue(text string) (rv api.ResourceVersion, start string, status *api.Status) {
	token, status := parseContinue(text)
	return token.rv, token.start, status
}

// EncodeBase64 and DecodeBase64 expose the functions of the package to tests.
func EncodeBase64(s string) string         { return encodeBase64(s) }
func DecodeBase64(s string) (string, bool) { return decodeBase64(s) }

// Waiting returns the number of reads that wait for a version.
func (c *Cacher) Waiting() int { return len(c.waits.list) }

// NewFilter returns a filter for this collection.
func (c *Cacher) NewFilter(namespace string, s selector.Selection) (*watcher.Filter, *api.Status) {
	return c.newFilter(namespace, s)
}
