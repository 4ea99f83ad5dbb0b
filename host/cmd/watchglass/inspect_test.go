package main

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/connector/connectortest"
	"github.com/watchglass/watchglass/host/internal/freeport"
	"github.com/watchglass/watchglass/host/limit"
)

func freeAddress(t *testing.T) string {
	t.Helper()
	port, err := freeport.Reserve()
	require.NoError(t, err)
	return freeport.Address(port)
}

func TestInspectShowsReadersAndSubscriptions(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	admin := freeAddress(t)
	demo := start(t, "demo", "--pods", "50", "--rate", "0", "--listen", "127.0.0.1:0", "--admin", admin)
	r := dial(t, demo.url(), "")
	s, err := r.Subscribe(t.Context(), wire.Subscribe{Subscription: 1, Resource: "v1/pods", Namespace: "shop", Credit: connectortest.Endless})
	require.NoError(t, err)
	until(t, r, func() bool { return s.Synced })

	table := start(t, "inspect", "--admin", "http://"+admin)
	<-table.ended
	require.Zero(t, table.code, table.log.String())
	assert.Regexp(t, `(?m)^watchglass .*, from a simulated cluster$`, table.out.String())
	assert.Regexp(t, `(?m)^v1/pods +ready +50 +\d+ +[\d.]+ kB +\d+s ago +1$`, table.out.String())
	assert.Regexp(t, `(?m)^system:anonymous +\d+s +[\d.]+ k?B +v1/pods in shop at \d+$`, table.out.String())

	all := start(t, "inspect", "--admin", "http://"+admin, "-o", "json")
	<-all.ended
	var i inspection
	require.NoError(t, json.Unmarshal([]byte(all.out.String()), &i))
	assert.Equal(t, "shop", i.Readers[0].Subscriptions[0].Namespace)
	hangUp(r)
	foreign := request(t, "http://"+admin+"/inspect", func(r *http.Request) { r.Host = "evil.example.com" })
	assert.Equal(t, 403, foreign.StatusCode, "DNS rebinding is refused")

	short := start(t, "inspect", "--admin", admin)
	<-short.ended
	assert.Zero(t, short.code, "an address without a scheme is accepted: %s", short.log)

	wrong := start(t, "inspect", "--admin", "http://"+freeAddress(t))
	<-wrong.ended
	assert.NotZero(t, wrong.code)
	assert.Contains(t, wrong.log.String(), "start it with serve --admin")
	page := start(t, "inspect", "--admin", demo.url())
	<-page.ended
	assert.Contains(t, page.log.String(), "is it the address of serve --admin?")
}

func TestInspectReportsInvalidFlags(t *testing.T) {
	for args, message := range map[string]string{
		"--output yaml":       `--output "yaml": expected json, or no value for a table`,
		"--admin=":            `--admin "": expected an address such as 127.0.0.1:8082`,
		"--admin ftp://x:1":   `--admin "ftp://x:1": expected an address such as 127.0.0.1:8082`,
		"--admin 127.0.0.1:x": `--admin "127.0.0.1:x": expected an address such as 127.0.0.1:8082`,
	} {
		c := start(t, append([]string{"inspect"}, strings.Fields(args)...)...)
		<-c.ended
		assert.Equal(t, 1, c.code)
		assert.Contains(t, c.log.String(), message)
	}
}

func TestInspectShowsEveryLimit(t *testing.T) {
	address := freeAddress(t)
	c := start(t, "serve", "--etcd-endpoints", "127.0.0.1:1", "--listen", "127.0.0.1:0", "--admin", address, "--max-readers", "7")
	c.url()
	table, document := start(t, "inspect", "--admin", "http://"+address), start(t, "inspect", "--admin", "http://"+address, "-o", "json")
	<-table.ended
	<-document.ended
	require.Zero(t, table.code, table.log)
	require.Zero(t, document.code, document.log)
	var shown inspection
	require.NoError(t, json.Unmarshal([]byte(document.out.String()), &shown))
	require.Len(t, shown.Limits, len(limit.All()))
	for i, l := range limit.All() {
		value := l.Default
		if l == limit.MaxReaders {
			value = 7
		}
		got := shown.Limits[i]
		assert.Equal(t, l.Name, got.Name)
		if l.Automatic == "" {
			assert.Equal(t, limit.Format(l.Unit, value), got.Text, l.Name)
		}
		assert.Regexp(t, `(?m)^`+l.Name+` +`+regexp.QuoteMeta(got.Text)+`\s`, table.out.String())
	}
}
