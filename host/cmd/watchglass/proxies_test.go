package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTrustedProxies(t *testing.T) {
	var p proxies
	require.NoError(t, p.Set("10.1.2.3,192.168.7.9/16"))
	require.NoError(t, p.Set("2001:db8::1"))
	assert.Equal(t, "10.1.2.3/32,192.168.0.0/16,2001:db8::1/128", p.String())
	for _, text := range []string{"", "proxy.example.com", "10.0.0.0/33", "10.0.0.1:80"} {
		assert.ErrorContains(t, p.Set(text), "expected an address such as 10.0.0.1")
	}
}
