// Package redact removes secrets from messages and logs.
package redact

import "strings"

// URL returns a URL without its user and password. The text may be an invalid URL,
// because the password itself may be malformed. Everything between the scheme and
// the last @ is therefore removed.
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
