// Package redact takes secrets out of what is said to people and logs.
package redact

import "strings"

// URL is a URL without the user and the password that it may have. The text need
// not be a URL that parses: what is wrong with it may be the password, so all up
// to the last @ counts as that.
func URL(text string) string {
	at := strings.LastIndexByte(text, '@')
	if at < 0 {
		return text
	}
	start := 0
	if i := strings.Index(text[:at], "://"); i >= 0 {
		start = i + len("://")
	}
	return text[:start] + "xxxxx" + text[at:]
}
