// Package redact removes secrets from messages and logs.
package redact

import "strings"

// URL replaces the user and password of a URL by a placeholder. The text need not be a
// valid URL, because the password itself may be malformed. URL therefore replaces all
// text between the scheme and the last @.
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
