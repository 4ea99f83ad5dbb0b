package kubewatch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/kubewatch"
)

// client is a Client with the configuration of a connector. It records its requests and
// the calls to its handler.
type client struct {
	*kubewatch.Client
	stream uint32
	open   map[uint32]string
	record []string
}

func newClient(memory kubewatch.Memory) *client {
	c := &client{open: map[uint32]string{}}
	resource := api.Resource{Version: "v1", Name: "pods"}
	c.Client = kubewatch.New(kubewatch.Config{
		Resource: resource, Schema: &api.Schema{Resource: resource, Kind: "Pod"}, Validate: true,
		Server: "test", RestartsList: true, PageSize: 3, InitialSeconds: 300, WatchSeconds: 9, FirstWatchSeconds: 9,
		RequestTimeout: 15_000, Patience: 5_000, Memory: memory, Handler: c,
		Fetch: func(r kubewatch.Request) uint32 {
			c.stream++
			c.open[c.stream] = r.String()
			c.say("GET %s timeout=%d idle=%d", strings.TrimPrefix(r.String(), "/api/v1/pods"), r.Timeout, r.Idle)
			return c.stream
		},
		Cancel: func(stream uint32) { delete(c.open, stream) },
	})
	c.Tick(1_000_000)
	return c
}

func (c *client) say(format string, args ...any) error {
	c.record = append(c.record, fmt.Sprintf(format, args...))
	return nil
}

func (c *client) Describe(*api.Schema, string) bool    { return c.say("described") == nil }
func (c *client) BeginList() error                     { return c.say("list") }
func (c *client) Object(o *kubewatch.Object) error     { return c.say("%s %s", o.Key, o.Typed(o.Raw)) }
func (c *client) EndList(rv api.ResourceVersion) error { return c.say("end %d", rv) }
func (c *client) Change(o *kubewatch.Object, gone bool) error {
	return c.say("%s@%d %v", o.Key, o.ResourceVersion, gone)
}
func (c *client) Progress(p kubewatch.Progress) error {
	return c.say("at %d/%d %v", p.Complete, p.At, p.Current())
}
func (c *client) Lagging(why *api.Status) { c.say("lags: %s", why.Message) }
func (c *client) Skipped(what string)     { c.say("skipped %s", what) }
func (c *client) Ended(why *api.Status)   { c.say("ended %d %s", why.Code, why.Message) }

// recorded returns the record since the last call.
func (c *client) recorded() []string {
	record := slices.Clone(c.record)
	c.record = nil
	return record
}

// find returns the stream of an open request whose path or query contains the text.
func (c *client) find(t *testing.T, text string) uint32 {
	t.Helper()
	for stream, path := range c.open {
		if strings.Contains(path, text) {
			return stream
		}
	}
	require.Fail(t, "no request has "+text, c.open)
	return 0
}

// answer sends a complete response to a request whose path or query contains the text.
func (c *client) answer(t *testing.T, text string, code int, body string) {
	t.Helper()
	stream := c.find(t, text)
	c.Responded(stream, code, 0)
	if c.Requested(stream) {
		c.Data(stream, []byte(body))
	}
	if c.Requested(stream) {
		delete(c.open, stream)
		c.Closed(stream, "")
	}
}

const newestIs120 = `{"metadata":{"resourceVersion":"120"},"items":[]}`

func TestAResumptionIsChecked(t *testing.T) {
	c := newClient(kubewatch.Memory{})
	c.Start(kubewatch.Start{From: 120})
	c.answer(t, "limit=1", 200, newestIs120)
	require.Equal(t, []string{"GET ?limit=1 timeout=15000 idle=0",
		"GET ?watch=1&resourceVersion=120&allowWatchBookmarks=true&timeoutSeconds=9 timeout=14000 idle=0"}, c.recorded())
	watch := c.find(t, "watch=1")
	c.Responded(watch, 200, 0)
	c.answer(t, "limit=1", 200, newestIs120)
	require.Equal(t, []string{"GET ?limit=1 timeout=15000 idle=0", "at 120/120 true"}, c.recorded())

	c.Start(kubewatch.Start{From: 121})
	c.answer(t, "limit=1", 200, newestIs120)
	record := c.recorded()
	require.Contains(t, record[1], "ended 504 test: resume of v1/pods: Timeout: Too large resource version: 121, current: 120")
	require.False(t, c.Running())
	require.Empty(t, c.open)
}

func TestAListStartsAgainInOneRun(t *testing.T) {
	c := newClient(kubewatch.Memory{})
	c.Start(kubewatch.Start{})
	stream := c.find(t, "sendInitialEvents")
	c.Responded(stream, 200, 0)
	delete(c.open, stream)
	c.TimedOut(stream, "silent")
	c.Data(stream, []byte("late"))
	require.Equal(t, []string{
		"GET ?resourceVersionMatch=NotOlderThan&watch=1&sendInitialEvents=true&allowWatchBookmarks=true&timeoutSeconds=300 timeout=0 idle=5000",
		"list", "GET ?limit=3 timeout=0 idle=5000"}, c.recorded())
	require.True(t, c.Memory().Pages)

	c.answer(t, "limit=3", 200, `{"metadata":{"resourceVersion":"7","continue":"x"},"items":[{"metadata":{"name":"a","resourceVersion":"3"}}]}`)
	c.answer(t, "continue=x", 410, `{"kind":"Status","code":410,"reason":"Expired","message":"too old"}`)
	require.Equal(t, []string{"list", `a {"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"3"}}`,
		"GET ?continue=x&limit=3 timeout=0 idle=5000", "GET  timeout=0 idle=5000"}, c.recorded())
	c.answer(t, "/api/v1/pods", 200, `{"items":null,"metadata":{"resourceVersion":"8"}}`)
	require.Equal(t, []string{"list", "end 8", "GET ?watch=1&resourceVersion=8&allowWatchBookmarks=true&timeoutSeconds=9 timeout=14000 idle=0"}, c.recorded())
}

// A version is complete when a later version or a bookmark follows it.
func TestChangesOfOneVersion(t *testing.T) {
	c := newClient(kubewatch.Memory{Pages: true})
	c.Start(kubewatch.Start{})
	c.answer(t, "limit=3", 200, newestIs120)
	stream := c.find(t, "watch=1")
	c.Responded(stream, 200, 0)
	c.recorded()
	change := func(name string, rv int) {
		c.Data(stream, fmt.Appendf(nil, `{"type":"MODIFIED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":%q,"resourceVersion":"%d"}}}`, name, rv))
	}
	change("repeated", 120)
	change("a", 121)
	change("b", 121)
	change("c", 122)
	c.Data(stream, []byte(`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"130"}}}`))
	change("late", 130)
	require.Equal(t, []string{"a@121 false", "at 120/121 false", "b@121 false", "at 120/121 false",
		"c@122 false", "at 121/122 false", "at 130/130 false"}, c.recorded())
}
