package objectjson_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/objectjson"
)

func TestBodyIsByteIdentical(t *testing.T) {
	const applied = `"` + lastApplied + `":"{}"`
	keepAll := objectjson.Options{KeepManagedFields: true, KeepLastApplied: true, KeepSecretData: true}
	for _, c := range []struct {
		name, raw, want string
		opts            objectjson.Options
		kind            string
	}{
		{name: "nothing to cut", raw: " {\"metadata\":{\"name\":\"a\"},\n \"x\" : [1.0, \"\\u0041\"]}\n", want: "{\"metadata\":{\"name\":\"a\"},\n \"x\" : [1.0, \"\\u0041\"]}"},
		{name: "at the front", raw: `{"metadata":{"resourceVersion":"1","managedFields":[],"name":"a"}}`, want: `{"metadata":{"name":"a"}}`},
		{name: "at the end", raw: `{"metadata":{"name":"a","resourceVersion":"1","managedFields":[]}}`, want: `{"metadata":{"name":"a"}}`},
		{name: "on both sides", raw: `{"metadata":{"resourceVersion":"1","name":"a","uid":"u","managedFields":[]}}`, want: `{"metadata":{"name":"a","uid":"u"}}`},
		{name: "in between", raw: `{"metadata":{"name":"a","resourceVersion":"1","managedFields":[],"uid":"u"}}`, want: `{"metadata":{"name":"a","uid":"u"}}`},
		{name: "blanks", raw: `{ "metadata" : { "resourceVersion" : "1" , "name" : "a" , "managedFields" : [ ] } }`, want: `{ "metadata" : { "name" : "a" } }`},
		{name: "the only annotation", raw: `{"metadata":{"annotations":{` + applied + `},"name":"a"}}`, want: `{"metadata":{"annotations":{},"name":"a"}}`},
		{name: "one annotation of two", raw: `{"metadata":{"annotations":{` + applied + `,"x":"y"},"name":"a"}}`, want: `{"metadata":{"annotations":{"x":"y"},"name":"a"}}`},
		{name: "only the version is removed", raw: `{"metadata":{"annotations":{` + applied + `},"managedFields":[],"name":"a","resourceVersion":"1"},"data":{"k":"v"}}`,
			want: `{"metadata":{"annotations":{` + applied + `},"managedFields":[],"name":"a"},"data":{"k":"v"}}`, opts: keepAll, kind: "Secret"},
		{name: "data of an object that is not a Secret", raw: `{"metadata":{"name":"a"},"data":{"k":"v"}}`, want: `{"metadata":{"name":"a"},"data":{"k":"v"}}`},
		{name: "data of a secret", raw: `{"data":{"k":"v"},"metadata":{"name":"a"},"stringData":{},"type":"Opaque"}`, want: `{"metadata":{"name":"a"},"type":"Opaque"}`, kind: "Secret"},
		{name: "a secret's data in its annotation", raw: `{"metadata":{"annotations":{` + applied + `},"name":"a"}}`, want: `{"metadata":{"annotations":{},"name":"a"}}`,
			opts: objectjson.Options{KeepLastApplied: true}, kind: "Secret"},
	} {
		s, err := objectjson.NewScanner(&api.Schema{Kind: c.kind})
		require.NoError(t, err)
		o, err := s.Scan([]byte(c.raw), c.opts)
		require.NoError(t, err, c.name)
		assert.Equal(t, c.want, string(o.Body.Data), c.name)
	}
}

func TestSecretByResource(t *testing.T) {
	for resource, withheld := range map[string]bool{"v1/secrets": true, "example.com/v1/secrets": false} {
		r, err := api.ParseResource(resource)
		require.NoError(t, err)
		s, err := objectjson.NewScanner(&api.Schema{Resource: r, Fields: []string{"data.k"}})
		require.NoError(t, err)
		o, err := s.Scan([]byte(`{"metadata":{"name":"a"},"data":{"k":"v"}}`), objectjson.Options{})
		require.NoError(t, err)
		assert.Equal(t, withheld, o.Fields[0] == "", resource)
		assert.Equal(t, withheld, string(o.Body.Data) == `{"metadata":{"name":"a"}}`, resource)
	}
}

var resourceVersionCases = []struct{ body, want string }{
	{`{"metadata":{"name":"a"}}`, `{"metadata":{"resourceVersion":"7","name":"a"}}`},
	{` {"kind":"Pod", "metadata": { "name":"a" } } `, `{"kind":"Pod", "metadata": {"resourceVersion":"7", "name":"a" } }`},
	{`{"metadata":{}}`, `{"metadata":{"resourceVersion":"7"}}`},
	{`{"metadata":null,"a":1}`, `{"metadata":{"resourceVersion":"7"},"a":1}`},
	{`{}`, `{"metadata":{"resourceVersion":"7"}}`},
	{`{ }`, `{"metadata":{"resourceVersion":"7"}}`},
	{`{ "a":1}`, `{"metadata":{"resourceVersion":"7"},"a":1}`},
	{`{"metadata":{"resourceVersion":"1"}}`, `{"metadata":{"resourceVersion":"7"}}`},
	{`{"metadata":{"resourceVersion":"1","name":"a"}}`, `{"metadata":{"resourceVersion":"7","name":"a"}}`},
	{`{"metadata":{"name":"a","resourceVersion":"1","uid":"u","\u0072esourceVersion":null}}`, `{"metadata":{"resourceVersion":"7","name":"a","uid":"u"}}`},
	{`{"metadata":{},"met\u0061data":{"name":"a"}}`, `{"metadata":{"resourceVersion":"7"},"met\u0061data":{"resourceVersion":"7","name":"a"}}`},
	{`{"a":{"metadata":{"resourceVersion":"1"}},"metadata":{}}`, `{"a":{"metadata":{"resourceVersion":"1"}},"metadata":{"resourceVersion":"7"}}`},
	{``, ``},
	{`[]`, ``},
	{`{`, ``},
	{`{"metadata":[]}`, ``},
	{`{"metadata":nul}`, ``},
	{`{"metadata":{"a"}}`, ``},
	{`{"metadata":{}} x`, ``},
	{`{"metadata":{},"a":01}`, ``},
}

func TestSetResourceVersion(t *testing.T) {
	for _, c := range resourceVersionCases {
		got, err := objectjson.SetResourceVersion([]byte("before"), []byte(c.body), 7)
		assert.Equal(t, "before"+c.want, string(got), c.body)
		var syntax *objectjson.SyntaxError
		assert.Equal(t, c.want == "", err != nil && assert.ErrorAs(t, err, &syntax), c.body)
	}
}

// SetResourceVersion restores the object from a body that Scan produced.
func TestBodyRoundTrip(t *testing.T) {
	keep := objectjson.Options{KeepManagedFields: true, KeepLastApplied: true}
	for _, name := range []string{"pod.json", "deployment.json", "configmap.json", "node.json"} {
		raw := fixture(t, name)
		o, err := newScanner(t, podSchema()).Scan(raw, keep)
		require.NoError(t, err)
		again, err := objectjson.SetResourceVersion(nil, o.Body.Data, o.ResourceVersion)
		require.NoError(t, err)
		assert.JSONEq(t, string(raw), string(again))
	}
}

func FuzzSetResourceVersion(f *testing.F) {
	for _, c := range resourceVersionCases {
		f.Add([]byte(c.body), uint64(7))
	}
	f.Add(fixture(f, "pod.json"), uint64(1<<64-1))
	f.Fuzz(func(t *testing.T, body []byte, version uint64) {
		rv := api.ResourceVersion(version)
		got, err := objectjson.SetResourceVersion([]byte("before"), body, rv)
		require.Equal(t, "before", string(got[:6]))
		if err != nil {
			require.Len(t, got, 6)
			require.False(t, stampable(body), "%s", body)
			return
		}
		require.True(t, stampable(body), "%s", body)
		want := decode(body).(map[string]any)
		if want["metadata"] == nil {
			want["metadata"] = map[string]any{}
		}
		want["metadata"].(map[string]any)["resourceVersion"] = rv.String()
		require.True(t, json.Valid(got[6:]), "%s", got)
		require.Equal(t, want, decode(got[6:]), "%s", got)

		again, err := objectjson.SetResourceVersion(nil, got[6:], rv)
		require.NoError(t, err)
		require.Equal(t, want, decode(again), "setting it again has no effect")
	})
}

// stampable reports whether SetResourceVersion accepts a body: the body is an object, and
// each metadata member in it is an object or null.
func stampable(body []byte) bool {
	if !json.Valid(body) || nesting(body) > 256 {
		return false
	}
	_, ok := decode(body).(map[string]any)
	return ok && everyMetadataFits(body)
}

// everyMetadataFits reports whether each metadata member is an object or null. It reads
// tokens, because a map contains only the last of repeated members.
func everyMetadataFits(body []byte) bool {
	fits := true
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	_, _ = d.Token()
	for d.More() {
		name, _ := d.Token()
		var value any
		_ = d.Decode(&value)
		_, isObject := value.(map[string]any)
		fits = fits && (name != "metadata" || isObject || value == nil)
	}
	return fits
}
