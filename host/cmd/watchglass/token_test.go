package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/host/access/token"
)

// testKey is a signing key for tests.
const testKey = "a-key-that-is-for-this-test-and-for-nothing-else"

func keyFile(t *testing.T, content string) string { return file(t, "key", content) }

func TestTokenGrantsOnlyItsFlags(t *testing.T) {
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"token", "--key-file", keyFile(t, testKey+"\n"), "--resources", "po,deployments.apps,example.com/v1/gadgets",
		"--namespaces", "shop,web", "--cluster", "demo", "--user", "ada", "--ttl", "90m"}, &stdout, &stderr)
	require.Zero(t, code, stderr.String())
	keys, err := token.ParseKeys(testKey)
	require.NoError(t, err)
	claims, status := keys.Verify(strings.TrimSpace(stdout.String()), time.Now())
	require.Nil(t, status)
	assert.WithinDuration(t, time.Now().Add(90*time.Minute), claims.Expires, time.Minute)
	claims.Expires = time.Time{}
	assert.Equal(t, &token.Claims{
		User: "ada", Cluster: "demo", Resources: []string{"v1/pods", "apps/v1/deployments", "example.com/v1/gadgets"},
		Namespaces: []string{"shop", "web"},
	}, claims)
}

func TestTokenReportsInvalidFlags(t *testing.T) {
	good := keyFile(t, testKey)
	for _, c := range []struct {
		want string
		args []string
	}{
		{`--key-file and --resources are required, such as --key-file edge.key --resources pods`, nil},
		{"--key-file: open", []string{"--key-file", filepath.Join(t.TempDir(), "none"), "--resources", "*"}},
		{"no key is given", []string{"--key-file", keyFile(t, "\n"), "--resources", "*"}},
		{"expected at least 32", []string{"--key-file", keyFile(t, "secret"), "--resources", "*"}},
		{"--ttl 0s: expected at least a second", []string{"--key-file", good, "--resources", "*", "--ttl", "0"}},
		{`--resources: resource "unicorns" is not built in`, []string{"--key-file", good, "--resources", "unicorns"}},
		{`--namespaces: "Shop_1" is not the name of a namespace`, []string{"--key-file", good, "--resources", "*", "--namespaces", "web,Shop_1"}},
		{`--cluster "a b": expected a name`, []string{"--key-file", good, "--resources", "*", "--cluster", "a b"}},
		{"without resources", []string{"--key-file", good, "--resources", ""}},
	} {
		var stdout, stderr bytes.Buffer
		assert.Equal(t, 1, run(t.Context(), append([]string{"token"}, c.args...), &stdout, &stderr))
		assert.Contains(t, stderr.String(), c.want)
		assert.Empty(t, stdout.String())
		assert.NotContains(t, stderr.String(), testKey)
	}
}
