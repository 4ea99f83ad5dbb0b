package objectjson_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/objectjson"
)

func TestDocumentMembers(t *testing.T) {
	d, err := objectjson.ParseDocument([]byte(` {"a":{"b\u0063":"x\ny","n":-7,"f":1.5},"a2":true,"l":[1,"z",{}],"a":{"bc":"last","n":12}} `))
	require.NoError(t, err)
	require.Equal(t, "last", d.Member("a", "bc").Text())
	require.Equal(t, 12, d.Member("a", "n").Int())
	require.True(t, d.Member("a2").True())
	require.Nil(t, d.Member("a2", "deeper"))
	require.Nil(t, d.Member("no"))
	require.Zero(t, d.Member("l").Int())
	require.Empty(t, d.Member("l").Text())
	var elements []string
	for _, e := range d.Member("l").Elements() {
		elements = append(elements, string(e))
	}
	require.Equal(t, []string{"1", `"z"`, "{}"}, elements)
	require.Empty(t, d.Elements())
	for _, broken := range []string{"", "{", `{"a":1}}`, `{"a" 1}`, "nul"} {
		_, err := objectjson.ParseDocument([]byte(broken))
		var syntax *objectjson.SyntaxError
		require.ErrorAs(t, err, &syntax, broken)
	}
}

func TestPlainEventHasTheUsualForm(t *testing.T) {
	for raw, want := range map[string][2]string{
		`{"type":"ADDED","object":{"a":1}}`:        {"ADDED", `{"a":1}`},
		`{"type":"BOOKMARK","object":{}}`:          {"BOOKMARK", `{}`},
		`{"object":{},"type":"ADDED"}`:             {},
		`{"type":"ADDED", "object":{}}`:            {},
		`{"type":"OTHER","object":{}}`:             {},
		`{"type":"ADDED","object":{}`:              {"ADDED", `{`}, // an object that no scanner accepts
		`{"type":"ADDED"`:                          {},
		``:                                         {},
		`{"type":"ADDED","object":{},"x":{"y":1}}`: {"ADDED", `{},"x":{"y":1}`},
	} {
		kind, object, ok := objectjson.PlainEvent([]byte(raw))
		require.Equal(t, want != [2]string{}, ok, raw)
		require.Equal(t, want, [2]string{kind, string(object)}, raw)
	}
}

// FuzzEvent checks that Event agrees with encoding/json, and PlainEvent with Event.
func FuzzEvent(f *testing.F) {
	f.Add([]byte(`{"type":"ADDED","object":{"a":1}}`))
	f.Add([]byte(` {"object" : {} , "type":"DELETED"}`))
	f.Add([]byte(`{"type":"ADDED","object":{},"x":{"y":1}}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		kind, object, err := objectjson.Event(raw)
		if err != nil {
			return
		}
		var members map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(raw, &members))
		require.Equal(t, string(members["object"]), string(object))
		var text string
		if json.Unmarshal(members["type"], &text) == nil {
			require.Equal(t, text, kind)
		}
		if plain, inner, ok := objectjson.PlainEvent(raw); ok && json.Valid(inner) {
			require.Equal(t, kind, plain)
			require.Equal(t, string(object), string(inner))
		}
	})
}
