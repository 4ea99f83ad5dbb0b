package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/server"
	"github.com/watchglass/watchglass/host/source"
	"github.com/watchglass/watchglass/host/source/memory"
)

var podResource = api.Resource{Version: "v1", Name: "pods"}

// cluster is a connector that serves the objects in a test's source.
type cluster struct {
	*memory.Source
	connector *connector.Connector
	serving   atomic.Pointer[server.Server]
	url       string
}

func newCluster(t *testing.T, custom ...api.Schema) *cluster {
	t.Helper()
	needsModule(t)
	c := &cluster{Source: memory.New(append(catalog.All(), custom...)...)}
	c.connect(t)
	http := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.serving.Load().ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		c.close(t)
		http.Close()
	})
	c.url = "ws" + strings.TrimPrefix(http.URL, "http") + "/watch"
	return c
}

// connect starts a connector. After close, it starts a new one at the same URL.
func (c *cluster) connect(t *testing.T) {
	c.connector = connector.New(connector.Config{Source: c.Source})
	handler, err := server.New(server.Config{Connector: c.connector})
	require.NoError(t, err)
	c.serving.Store(handler)
}

func (c *cluster) close(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	assert.NoError(t, c.connector.Close(ctx))
}

func (c *cluster) pod(key api.Key, phase string) api.ResourceVersion {
	return c.Put(podResource, key, fmt.Appendf(nil,
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"namespace":%q,"uid":"u-%s","labels":{"app":"web"}},"spec":{"nodeName":"n1"},"status":{"phase":%q}}`,
		key.Name(), key.Namespace(), key.Name(), phase))
}

// command runs the command get or watch to completion.
func (c *cluster) command(t *testing.T, cmd *cobra.Command, args string) (stdout, stderr string, err error) {
	var out, log bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err = c.execute(ctx, cmd, args, &out, &log)
	return out.String(), log.String(), err
}

func (c *cluster) execute(ctx context.Context, cmd *cobra.Command, args string, stdout, stderr interface{ Write([]byte) (int, error) }) error {
	cmd.SetArgs(append(strings.Fields(args), "--server", c.url))
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	return cmd.ExecuteContext(ctx)
}

func TestGet(t *testing.T) {
	c := newCluster(t)
	c.pod("default/a", "Running")
	c.pod("default/b", "Pending")
	c.pod("shop/c", "Running")
	c.Put(api.Resource{Version: "v1", Name: "nodes"}, "n1", []byte(`{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1","uid":"u"}}`))
	c.Put(api.Resource{Group: "apps", Version: "v1", Name: "deployments"}, "default/web",
		[]byte(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"default","uid":"u"}}`))

	for args, want := range map[string]string{
		"po":                              "NAME   READY   STATUS    RESTARTS   AGE\na      0/0     Running   0          <unknown>\nb      0/0     Pending   0          <unknown>\n",
		"po --no-headers -n shop":         "c   0/0   Running   0   <unknown>\n",
		"pods -A -o name":                 "pod/a\npod/b\npod/c\n",
		"pods -A --no-headers -l app=web": "default   a   0/0   Running   0   <unknown>\ndefault   b   0/0   Pending   0   <unknown>\nshop      c   0/0   Running   0   <unknown>\n",
		"pods -o name --field-selector status.phase=Pending": "pod/b\n",
		"pod b -o name":  "pod/b\n",
		"pod/b -o name":  "pod/b\n",
		"nodes -o name":  "node/n1\n",
		"deploy -o name": "deployment.apps/web\n",
		"pods -A -o custom-columns=POD:.metadata.name,NODE:{.spec.nodeName},X:.x": "POD   NODE   X\na     n1     <none>\nb     n1     <none>\nc     n1     <none>\n",
		"v1/pods -o name -A": "pod/a\npod/b\npod/c\n",
	} {
		t.Run(args, func(t *testing.T) {
			stdout, stderr, err := c.command(t, newGetCommand(), args)
			require.NoError(t, err)
			assert.Equal(t, want, stdout)
			assert.Empty(t, stderr)
		})
	}
}

func TestGetJSON(t *testing.T) {
	c := newCluster(t)
	rv := c.pod("default/a", "Running").String()
	pod := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"default","uid":"u-a","labels":{"app":"web"},"resourceVersion":"` + rv + `"},"spec":{"nodeName":"n1"},"status":{"phase":"Running"}}`
	stdout, _, err := c.command(t, newGetCommand(), "pods -o json")
	require.NoError(t, err)
	require.JSONEq(t, `{"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":"`+rv+`"},"items":[`+pod+`]}`, stdout)
	stdout, _, err = c.command(t, newGetCommand(), "pods a -o json")
	require.NoError(t, err)
	require.JSONEq(t, pod, stdout)
}

func TestGetReportsErrors(t *testing.T) {
	c := newCluster(t)
	stdout, stderr, err := c.command(t, newGetCommand(), "pods")
	require.NoError(t, err)
	require.Empty(t, stdout)
	require.Equal(t, "No resources found in default namespace.\n", stderr)
	_, stderr, err = c.command(t, newGetCommand(), "pods -A")
	require.NoError(t, err)
	require.Equal(t, "No resources found\n", stderr)

	for args, want := range map[string]string{
		"deploy web":                      `deployments.apps "web" not found`,
		"pods -l a=(":                     "BadRequest",
		"pods -o yaml":                    `--output "yaml": expected wide, name, json or custom-columns=`,
		"pods -o custom-columns=NAME":     `--output "custom-columns=NAME": expected NAME:PATH and commas`,
		"pods -o custom-columns=A:.a[-1]": `column "A": path ".a[-1]"`,
		"example.com/v1/gadgets":          "example.com/v1/gadgets",
		"gadgets":                         `resource "gadgets" is not built in`,
		"pdos":                            `resource "pdos" is not built in: did you mean pods?`,
		"pods --field-selector x.y=1":     "x.y",
		"po/web-1":                        `pods "web-1" not found`,
		"deployments.apps/web":            `deployments.apps "web" not found`,
		"po/web-1 web-2":                  `"po/web-1 web-2": expected one name: get po/NAME`,
		"po/":                             `"po/": expected one name: get po/NAME`,
		"pods a,metadata.namespace=x":     `pods "a,metadata.namespace=x" not found`,
	} {
		_, _, err := c.command(t, newGetCommand(), args)
		require.ErrorContains(t, err, want, args)
	}

	absent := &cluster{url: "ws://127.0.0.1:1/watch"}
	_, _, err = absent.command(t, newGetCommand(), "pods")
	require.ErrorContains(t, err, "--server ws://127.0.0.1:1/watch: no data")
	require.ErrorContains(t, err, "connection refused: start a connector with \"watchglass demo\" or \"watchglass serve\", or name another with --server")

	name := filepath.Join(t.TempDir(), "reader.jsonl")
	_, _, err = absent.command(t, newWatchCommand(), "pods --record "+name)
	require.ErrorContains(t, err, "no data")
	assert.NoFileExists(t, name, "the empty recording is removed, so that the command can be repeated")
}

// unreachable is a source that lists its resources but fails every stream.
type unreachable struct{ *memory.Source }

func (unreachable) Stream(context.Context, api.Resource, api.ResourceVersion, source.Sink) error {
	return errors.New("etcd 10.0.0.1:2379: connection refused")
}

// A client that reads only one namespace receives the code but not the text of the
// source's error, which may name other objects.
func TestGetReportsWhyTheSourceFails(t *testing.T) {
	c := newCluster(t)
	c.close(t)
	c.connector = connector.New(connector.Config{Source: unreachable{c.Source}, Logger: slog.New(slog.DiscardHandler)})
	handler, err := server.New(server.Config{Connector: c.connector})
	require.NoError(t, err)
	c.serving.Store(handler)
	_, _, err = c.command(t, newGetCommand(), "pods -A")
	require.EqualError(t, err, "--server "+c.url+": no data: 503 ServiceUnavailable: the source of v1/pods has failed: etcd 10.0.0.1:2379: connection refused")
	_, _, err = c.command(t, newGetCommand(), "pods")
	require.ErrorContains(t, err, "--server "+c.url+": no data: 503 ServiceUnavailable: the source of v1/pods fails; the reason is withheld")
	require.NotContains(t, err.Error(), "10.0.0.1")
}

// The command reports a refused token, not a missing response.
func TestGetReportsARefusedToken(t *testing.T) {
	t.Setenv("WATCHGLASS_TOKEN", "")
	c := newCluster(t)
	c.close(t)
	c.connector = connector.New(connector.Config{Source: c.Source, Access: access.Token("right")})
	handler, err := server.New(server.Config{Connector: c.connector})
	require.NoError(t, err)
	c.serving.Store(handler)
	c.pod("default/a", "Running")
	stdout, _, err := c.command(t, newGetCommand(), "pods -o name --token right")
	require.NoError(t, err)
	require.Equal(t, "pod/a\n", stdout)

	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := api.Unauthorized("the token has expired")
		if r.Header.Get("Authorization") == "" {
			status = api.Unauthorized("a token is required and none was presented")
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status.Code)
		fmt.Fprintf(w, `{"kind":"Status","reason":%q,"message":%q,"code":%d}`, status.Reason, status.Message, status.Code)
	}))
	defer refuses.Close()
	edge := &cluster{url: "ws" + strings.TrimPrefix(refuses.URL, "http") + "/watch"}

	for _, asked := range []struct {
		of                *cluster
		why, whyWithToken string
	}{
		{c, "a token is required and none was presented", "this connector does not accept the token"},
		{edge, "a token is required and none was presented", "the token has expired"},
	} {
		for _, command := range []func() *cobra.Command{newGetCommand, newWatchCommand} {
			_, _, err := asked.of.command(t, command(), "pods --token wrong")
			require.EqualError(t, err, "--server "+asked.of.url+": the token was refused: 401 Unauthorized: "+asked.whyWithToken+
				"; give another token with --token or in $WATCHGLASS_TOKEN")
			_, _, err = asked.of.command(t, command(), "pods")
			require.EqualError(t, err, "--server "+asked.of.url+": 401 Unauthorized: "+asked.why+
				"; give one with --token or in $WATCHGLASS_TOKEN")
		}
	}
}

// An interrupted get or inspect fails, because its output is incomplete. An interrupted
// watch succeeds.
func TestInterruptedGetFails(t *testing.T) {
	needsModule(t)
	asked := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	defer silent.Close()
	for command, code := range map[string]int{"get pods --server": 1, "watch pods --server": 0, "inspect --admin": 1} {
		c := start(t, append(strings.Fields(command), silent.URL)...)
		select {
		case <-asked:
		case <-c.ended:
			require.Fail(t, "the command ended", c.log)
		}
		assert.Equal(t, code, c.stop(), command)
		assert.Equal(t, code != 0, strings.Contains(c.log.String(), "Error: interrupted"), c.log)
	}
}

// follow starts a command. It returns the command and a function that stops the command
// and returns its error.
func (c *cluster) follow(t *testing.T, cmd *cobra.Command, args string) (*command, func() error) {
	ctx, cancel := context.WithCancel(t.Context())
	run := &command{t: t, out: newOutput(), log: newOutput(), cancel: cancel, ended: make(chan struct{})}
	var err error
	go func() {
		defer close(run.ended)
		err = c.execute(ctx, cmd, args, run.out, run.log)
	}()
	stop := func() error {
		run.stop()
		return err
	}
	t.Cleanup(func() { run.stop() })
	return run, stop
}

// The schema of a custom resource defines whether the resource is namespaced. Without -n,
// get prints objects without a namespace, but no objects of namespaces other than default.
func TestGetOfCustomResources(t *testing.T) {
	racks := api.Resource{Group: "example.com", Version: "v1", Name: "racks"}
	slots := api.Resource{Group: "example.com", Version: "v1", Name: "slots"}
	c := newCluster(t, api.Schema{Resource: racks, Kind: "Rack"}, api.Schema{Resource: slots, Kind: "Slot", Namespaced: true})
	c.Put(racks, "a", []byte(`{"apiVersion":"example.com/v1","kind":"Rack","metadata":{"name":"a","uid":"r"}}`))
	c.Put(slots, "shop/b", []byte(`{"apiVersion":"example.com/v1","kind":"Slot","metadata":{"name":"b","namespace":"shop","uid":"s"}}`))
	for args, want := range map[string]string{
		"example.com/v1/racks":         "rack.example.com/a\n",
		"example.com/v1/racks -n shop": "rack.example.com/a\n",
		"example.com/v1/slots":         "",
		"example.com/v1/slots -n shop": "slot.example.com/b\n",
	} {
		stdout, _, _ := c.call(t, append([]string{"get", "-o", "name"}, strings.Fields(args)...)...)
		require.Equal(t, want, stdout, args)
	}
}

func TestWatch(t *testing.T) {
	c := newCluster(t)
	c.pod("default/a", "Pending")
	run, stop := c.follow(t, newWatchCommand(), "pods --output-watch-events")
	run.find(`EVENT +NAME +READY +STATUS.*\nADDED +a +0/0 +Pending.*\n`)
	c.pod("default/a", "Running")
	run.find(`MODIFIED +a +0/0 +Running.*\n`)
	c.pod("shop/other", "Running")
	c.Delete(podResource, "default/a")
	run.find(`DELETED +a +0/0 +Running.*\n`)
	require.NotContains(t, run.out.String(), "other")
	require.NoError(t, stop(), "an interrupted watch succeeds")

	run, _ = c.follow(t, newGetCommand(), "pods -w -A")
	run.find(`shop +other +0/0 +Running`)
	c.pod("shop/another", "Running")
	run.find(`shop +another +0/0 +Running`)
}

// A watch writes one JSON document per event, followed by a newline (rule P2).
func TestWatchWritesOneJSONFramePerLine(t *testing.T) {
	c := newCluster(t)
	c.pod("default/a", "Pending")
	run, stop := c.follow(t, newWatchCommand(), "pods -o json")
	run.find(`\{"type":"ADDED","object":\{.*"phase":"Pending".*\n`)
	rv := c.Delete(podResource, "default/a")
	line := run.find(`\{"type":"DELETED".*\n`)
	require.Contains(t, line, `"resourceVersion":"`+rv.String()+`"`)
	require.NoError(t, stop())
}

func TestWatchReportsStaleData(t *testing.T) {
	c := newCluster(t)
	rv := c.pod("default/a", "Pending")
	run, stop := c.follow(t, newWatchCommand(), "pods")
	run.find(`a +0/0 +Pending`)
	c.close(t)
	for !strings.Contains(run.log.String(), "watchglass: reconnecting") {
		select {
		case <-run.log.changed:
		case <-run.ended:
			require.FailNow(t, "the command ended", run.log.String())
		}
	}
	require.Contains(t, run.log.String(), "(showing the state at resource version "+rv.String()+")")
	require.NoError(t, stop())
}

// After the connector restarts without a history, a watch prints all differences, although
// they arrive together from a relist.
func TestWatchContinuesAfterALargeRelist(t *testing.T) {
	c := newCluster(t)
	for i := range 2000 {
		c.pod(api.NewKey("default", fmt.Sprintf("old-%04d", i)), "Running")
	}
	run, stop := c.follow(t, newWatchCommand(), "pods -o json")
	run.find(`"name":"old-1999".*\n`)
	c.close(t)
	for i := range 2000 {
		c.Delete(podResource, api.NewKey("default", fmt.Sprintf("old-%04d", i)))
		c.pod(api.NewKey("default", fmt.Sprintf("new-%04d", i)), "Running")
	}
	c.connect(t)
	run.find(`\{"type":"ADDED".*"name":"new-1999".*\n`)
	c.pod("default/last", "Running")
	run.find(`\{"type":"ADDED".*"name":"last".*\n`)
	require.NoError(t, stop())
	require.Equal(t, 4001, strings.Count(run.out.String(), `{"type":"ADDED"`))
	require.Equal(t, 2000, strings.Count(run.out.String(), `{"type":"DELETED"`))
}

func TestUnreadableObjectsAreReported(t *testing.T) {
	c := newCluster(t)
	c.pod("default/a", "Running")
	c.Put(podResource, "default/broken", []byte(`{"metadata":`))
	stdout, stderr, err := c.command(t, newGetCommand(), "pods -o name")
	require.NoError(t, err)
	require.Equal(t, "pod/a\n", stdout)
	require.Contains(t, stderr, `level=WARN msg="object cannot be updated" resource=v1/pods key=default/broken`)
	require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)

	run, stop := c.follow(t, newWatchCommand(), "pods")
	run.find(`a +0/0 +Running`)
	c.Put(podResource, "default/a", []byte(`[]`))
	c.pod("default/b", "Running")
	run.find(`b +0/0 +Running`)
	require.NoError(t, stop())
	require.Contains(t, run.log.String(), "key=default/a")
}
