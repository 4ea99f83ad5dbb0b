// Package redact removes secrets from messages and logs.
package redact

import "strings"

// URL returns the text of a URL with a placeholder instead of the user and password.
// The text need not be a valid URL, because the password may contain invalid
// characters. URL therefore replaces all text between the scheme and the last @.
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
