package main

import (
	"encoding/json"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/connector/connectortest"
)

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

func TestInspectShowsWhoReadsWhat(t *testing.T) {
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

	wrong := start(t, "inspect", "--admin", "http://"+freeAddress(t))
	<-wrong.ended
	assert.NotZero(t, wrong.code)
	assert.Contains(t, wrong.log.String(), "start it with serve --admin")
	page := start(t, "inspect", "--admin", demo.url())
	<-page.ended
	assert.Contains(t, page.log.String(), "is it the address of serve --admin?")
}

func TestInspectNamesAnOutputThatThereIsNot(t *testing.T) {
	c := start(t, "inspect", "--output", "yaml")
	<-c.ended
	assert.Contains(t, c.log.String(), `--output "yaml": expected json, or nothing for a table`)
}
