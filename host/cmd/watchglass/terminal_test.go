package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/server"
)

// hostile contains control sequences that clear the screen, set the title of the window
// and reverse text.
const hostile = "\x1b[2J\x1b]0;PWNED\x07\u009b31m\u202e\u2066\u200f"

func assertHarmless(t *testing.T, output *output) {
	t.Helper()
	for _, r := range output.String() {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			assert.Fail(t, "a control reaches the terminal", "%U in %q", r, output.String())
			return
		}
	}
}

func TestNamesDoNotControlTheTerminal(t *testing.T) {
	c := newCluster(t)
	name := "web" + hostile
	document, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]string{"name": name, "namespace": "default", "uid": "u"}, "status": map[string]string{"phase": hostile}})
	require.NoError(t, err)
	c.Put(podResource, api.NewKey("default", name), document)
	for _, format := range []string{"name", "wide", "json"} {
		get := start(t, "get", "pods", "-o", format, "--server", c.url)
		<-get.ended
		require.Zero(t, get.code, get.log)
		assert.Contains(t, get.out.String(), "web")
		assertHarmless(t, get.out)
		if format == "json" {
			assert.Contains(t, get.out.String(), `\u202e`)
			var list struct {
				Items []struct{ Metadata struct{ Name string } }
			}
			require.NoError(t, json.Unmarshal([]byte(get.out.String()), &list))
			assert.Equal(t, name, list.Items[0].Metadata.Name)
		}
	}
	for _, format := range []string{"name", "wide", "json"} {
		watch := start(t, "watch", "pods", "-o", format, "--server", c.url)
		watch.find(`web.*\n`)
		watch.stop()
		assertHarmless(t, watch.out)
	}
}

// refusing is a policy that refuses every token with a hostile message.
type refusing struct{ access.Policy }

func (refusing) Authenticate(context.Context, string) (*access.User, *api.Status) {
	return nil, api.Unauthorized("refused" + hostile)
}

func TestErrorsOfAServerDoNotControlTheTerminal(t *testing.T) {
	needsModule(t)
	c := connector.New(connector.Config{Access: refusing{access.Everyone()}})
	handler, err := server.New(server.Config{Connector: c})
	require.NoError(t, err)
	http := httptest.NewServer(handler)
	t.Cleanup(func() {
		require.NoError(t, c.Close(context.Background()))
		http.Close()
	})
	for _, command := range []string{"get", "watch"} {
		read := start(t, command, "pods", "--server", "ws"+strings.TrimPrefix(http.URL, "http")+"/watch")
		<-read.ended
		assert.Contains(t, read.log.String(), "refused")
		assertHarmless(t, read.log)
	}
}

func TestInspectShowsHostileNamesHarmlessly(t *testing.T) {
	shown := inspection{
		Source:    hostile,
		Resources: []inspectedResource{{Resource: "v1/pods" + hostile, Failures: 1, Error: "failed" + hostile}},
		Readers: []inspectedReader{{
			User: "ann\tfake\n" + hostile, Subscriptions: inspected([]session.State{{Namespace: "team-a" + hostile}}),
		}},
	}
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { json.NewEncoder(w).Encode(shown) }))
	defer admin.Close()
	for _, format := range []string{"", "json"} {
		inspect := start(t, "inspect", "--admin", admin.URL, "-o", format)
		<-inspect.ended
		require.Zero(t, inspect.code, inspect.log)
		assert.Contains(t, inspect.out.String(), "team-a")
		assertHarmless(t, inspect.out)
		if format == "" {
			assert.Regexp(t, `(?m)^ann fake .*\d+h\d+m`, inspect.out.String(), "a name stays in its cell")
		}
	}
}
