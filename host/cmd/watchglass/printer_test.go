package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

var printedAt = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// printed is an object with the given columns.
type printed struct {
	key     api.Key
	columns []api.Value
}

func (o printed) Key() api.Key { return o.key }

func (o printed) Column(i int) api.Value {
	if i < len(o.columns) {
		return o.columns[i]
	}
	return api.Value{}
}

func (o printed) JSON() []byte {
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"namespace":%q}}`, o.key.Name(), o.key.Namespace())
}

func str(s string) api.Value { return api.Value{Kind: api.String, Text: s} }
func number(n int) api.Value { return api.Value{Kind: api.Integer, Int: int64(n)} }
func restarted(n int, ago time.Duration) api.Value {
	return api.Value{Kind: api.Integer, Int: int64(n), Time: printedAt.Add(-ago).UnixMilli()}
}
func before(d time.Duration) api.Value {
	return api.Value{Kind: api.Date, Int: printedAt.Add(-d).UnixMilli()}
}

var printedPods = []object{
	printed{"shop/cart-7d9f", []api.Value{str("1/1"), str("Running"), number(0), before(26 * time.Hour), str("10.1.2.3"), str("node-0001")}},
	printed{"shop/mailer-with-a-long-name-0", []api.Value{str("0/1"), str("Pending"), restarted(7, 5*time.Minute), before(41 * time.Second)}},
	printed{"ops/evil", []api.Value{str("0/1"), str("Run\x1b[2Jning"), number(12), {}, {}, str("nöde")}},
}

func newPrinter(t *testing.T, out *bytes.Buffer, format string) *printer {
	schema, err := catalog.Lookup(catalog.All(), api.Resource{Version: "v1", Name: "pods"})
	require.NoError(t, err)
	return &printer{out: out, format: format, schema: *schema, now: func() time.Time { return printedAt }}
}

func TestPrinterGoldens(t *testing.T) {
	for name, c := range map[string]struct {
		format string
		change func(p *printer)
	}{
		"table":       {formatTable, func(*printer) {}},
		"namespaces":  {formatTable, func(p *printer) { p.namespaces = true }},
		"no-headers":  {formatTable, func(p *printer) { p.noHeaders = true }},
		"with-events": {formatTable, func(p *printer) { p.events, p.namespaces = true, true }},
		"wide":        {formatWide, func(*printer) {}},
		"name":        {formatName, func(*printer) {}},
		"json":        {formatJSON, func(*printer) {}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			p := newPrinter(t, &out, c.format)
			c.change(p)
			require.NoError(t, p.list(printedPods, 4711))
			if c.format != formatJSON {
				out.WriteString("--- then\n")
			} else {
				out.WriteString("\n")
			}
			require.NoError(t, p.event(api.Modified, printedPods[1]))
			require.NoError(t, p.event(api.Deleted, printedPods[0]))
			golden(t, name+".golden", out.Bytes())
		})
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", "printer", name)
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

func TestEmptyJSONListIsAList(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, newPrinter(t, &out, formatJSON).list(nil, 7))
	require.JSONEq(t, `{"apiVersion":"v1","items":[],"kind":"List","metadata":{"resourceVersion":"7"}}`, out.String())
}

func TestLaterRowsKeepColumnWidths(t *testing.T) {
	var out bytes.Buffer
	p := newPrinter(t, &out, formatTable)
	require.NoError(t, p.list(printedPods[:1], 1))
	require.NoError(t, p.event(api.Modified, printedPods[1]), "a longer name moves the columns from here on")
	require.NoError(t, p.event(api.Modified, printedPods[0]))
	lines := bytes.Split(out.Bytes(), []byte("\n"))
	require.Equal(t, bytes.Index(lines[2], []byte("Pending")), bytes.Index(lines[3], []byte("Running")))
}

func TestResourcesAreFoundByAnyName(t *testing.T) {
	for text, want := range map[string]string{
		"po": "v1/pods", "pod": "v1/pods", "pods": "v1/pods", "Pod": "v1/pods", "v1/pods": "v1/pods",
		"deploy": "apps/v1/deployments", "deployments.apps": "apps/v1/deployments", "svc": "v1/services",
		"no": "v1/nodes", "cm": "v1/configmaps", "ev": "v1/events", "ing": "networking.k8s.io/v1/ingresses",
		"example.com/v1/gadgets": "example.com/v1/gadgets",
	} {
		got, err := resolve(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got.String())
	}
	_, err := resolve("gadgets")
	require.EqualError(t, err, `resource "gadgets" is not built in: write other resources as group/version/plural, such as apps/v1/deployments`)
	_, err = resolve("deployments.batch")
	require.Error(t, err)
	_, err = resolve("a/b/c/d")
	require.ErrorIs(t, err, api.BadRequest(""))
}
