// Package accept parses the Accept-Encoding header of HTTP requests.
package accept

import (
	"net/http"
	"strconv"
	"strings"
)

// Gzip reports whether the client accepts a gzip-compressed response.
func Gzip(header http.Header) bool {
	for text := range strings.SplitSeq(strings.Join(header.Values("Accept-Encoding"), ","), ",") {
		coding, params, _ := strings.Cut(text, ";")
		if strings.TrimSpace(coding) != "gzip" {
			continue
		}
		q, ok := strings.CutPrefix(strings.TrimSpace(params), "q=")
		quality, err := strconv.ParseFloat(q, 64)
		return !ok || err == nil && quality > 0
	}
	return false
}
