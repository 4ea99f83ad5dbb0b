package accept_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/watchglass/watchglass/host/internal/accept"
)

func TestGzip(t *testing.T) {
	for header, want := range map[string]bool{
		"gzip": true, "deflate, gzip": true, "br;q=1.0, gzip;q=0.8": true, " gzip ; q=1": true, "gzip;x=y": true,
		"": false, "deflate": false, "gzip;q=0": false, "gzip;q=0.000": false, "gzip;q=high": false, "xgzip": false, "*": false,
	} {
		assert.Equal(t, want, accept.Gzip(http.Header{"Accept-Encoding": {header}}), header)
	}
	assert.False(t, accept.Gzip(http.Header{}))
	assert.True(t, accept.Gzip(http.Header{"Accept-Encoding": {"br", "gzip"}}), "on two lines")
}
