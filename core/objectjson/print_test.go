package objectjson_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/objectjson"
)

// testPrinters returns the printers "count", "join" and "all". "count" counts members.
// "join" joins the values of its first path, and counts its calls. "all" has fixed
// paths and two cells.
func testPrinters(calls *int) objectjson.Printers {
	count := &objectjson.Printer{CountsOnly: true, Print: func(v *objectjson.Values, out *objectjson.Cells) {
		n := 0
		for i := range v.Len() {
			n += v.Get(i).Len()
		}
		out.SetInt(0, n)
	}}
	join := &objectjson.Printer{Print: func(v *objectjson.Values, out *objectjson.Cells) {
		*calls++
		for _, d := range v.All(0) {
			out.Add("|")
			out.AddValue(d)
		}
		out.SetText(0)
	}}
	all := &objectjson.Printer{Paths: []string{".a", ".b[*]"}, Print: func(v *objectjson.Values, out *objectjson.Cells) {
		*calls++
		for _, d := range v.All(1) {
			out.AddValue(d)
		}
		out.SetText(1)
		out.AddValue(v.Get(0))
		out.SetText(0)
		out.Set(2, api.Value{Kind: api.Integer, Int: 3, Time: 4})
	}}
	return func(name string) (*objectjson.Printer, int) {
		switch name {
		case "count":
			return count, 0
		case "join":
			return join, 0
		case "all0", "all1", "all2":
			return all, int(name[3] - '0')
		}
		return nil, 0
	}
}

func printed(t *testing.T, schema *api.Schema, calls *int, opts objectjson.Options, raw string) []api.Value {
	t.Helper()
	s, err := objectjson.NewPrintingScanner(schema, testPrinters(calls))
	require.NoError(t, err)
	o, err := s.Scan([]byte(raw), opts)
	require.NoError(t, err)
	return o.Columns
}

func text(s string) api.Value { return api.Value{Kind: api.String, Text: s} }

func TestPrintersComputeCells(t *testing.T) {
	calls := 0
	schema := &api.Schema{Kind: "Thing", Fields: []string{"a"}, Columns: []api.Column{
		{Name: "B", Kind: api.String, Printer: "all1"},
		{Name: "Path", Kind: api.String, Path: ".b[0]"},
		{Name: "A", Kind: api.String, Printer: "all0"},
		{Name: "Join", Kind: api.String, Printer: "join", Path: ".b[*]"},
		{Name: "N", Kind: api.Integer, Printer: "all2"},
		{Name: "Join of the same", Kind: api.String, Printer: "join", Path: ".b[*]"},
		{Name: "Join of another", Kind: api.String, Printer: "join", Path: ".c['x y'] "},
		{Name: "Count", Kind: api.Integer, Printer: "count", Path: ".c .b .none"},
	}}
	cells := printed(t, schema, &calls, objectjson.Options{}, `{"metadata":{"name":"n"},"a":"\u0041","b":["x",1,null],"c":{"x y":true,"z":0,"x y":"é"}}`)
	assert.Equal(t, []api.Value{
		text("x1"), text("x"), text("A"), text("|x|1|"), {Kind: api.Integer, Int: 3, Time: 4}, text("|x|1|"), text("|é"), {Kind: api.Integer, Int: 6},
	}, cells)
	assert.Equal(t, 3, calls, "columns with the same printer and paths share its cells")
}

func TestTextsOfAPrinterThatAreEmptyAreNull(t *testing.T) {
	calls := 0
	cells := printed(t, &api.Schema{Columns: []api.Column{
		{Name: "A", Kind: api.String, Printer: "all0"}, {Name: "B", Kind: api.String, Printer: "all1", Default: "<none>"},
	}}, &calls, objectjson.Options{}, `{"metadata":{"name":"n"},"a":""}`)
	assert.Equal(t, []api.Value{{}, {}}, cells)
}

func TestDefaultsOfIntegersAndBoolsAreValues(t *testing.T) {
	calls := 0
	cells := printed(t, &api.Schema{Columns: []api.Column{
		{Name: "A", Kind: api.Integer, Path: ".a", Default: "0"},
		{Name: "B", Kind: api.Integer, Path: ".a", Default: "<none>"},
		{Name: "C", Kind: api.Bool, Path: ".a", Default: "true"},
		{Name: "D", Kind: api.Bool, Path: ".a", Default: "false"},
		{Name: "E", Kind: api.Date, Path: ".a", Default: "<unknown>"},
		{Name: "F", Kind: api.Integer, Path: ".f", Default: "0"},
	}}, &calls, objectjson.Options{}, `{"metadata":{"name":"n"},"f":7}`)
	assert.Equal(t, []api.Value{{Kind: api.Integer}, {}, {Kind: api.Bool, Int: 1}, {Kind: api.Bool}, {}, {Kind: api.Integer, Int: 7}}, cells)
}

// Unless KeepSecretData is set, a column can show how many entries the data of a Secret
// has, but nothing else about the data.
func TestOnlyCountersReadTheDataOfSecrets(t *testing.T) {
	const secret = `{"metadata":{"name":"n"},"data":{"password":"c2VjcmV0","user":"YQ=="}}`
	schema := &api.Schema{Kind: "Secret", Columns: []api.Column{
		{Name: "Data", Kind: api.Integer, Printer: "count", Path: ".data"},
		{Name: "Entry", Kind: api.Integer, Printer: "count", Path: ".data.password"},
		{Name: "Join", Kind: api.String, Printer: "join", Path: ".data.password"},
		{Name: "Whole", Kind: api.String, Printer: "join", Path: ".data"},
	}}
	calls := 0
	two := api.Value{Kind: api.Integer, Int: 2}
	cells := printed(t, schema, &calls, objectjson.Options{}, secret)
	assert.Equal(t, []api.Value{two, {Kind: api.Integer}, {}, {}}, cells)
	cells = printed(t, schema, &calls, objectjson.Options{KeepSecretData: true}, secret)
	assert.Equal(t, []api.Value{two, {Kind: api.Integer}, text("|c2VjcmV0"), text("|")}, cells)
}

func TestUnknownPrinterIsRefused(t *testing.T) {
	calls := 0
	for _, c := range []struct {
		column api.Column
		want   string
	}{
		{api.Column{Name: "C", Kind: api.String, Printer: "none"}, `400 BadRequest: column "C": there is no printer "none"`},
		{api.Column{Name: "C", Kind: api.String, Printer: "join", Path: ".a .b["}, `column "C": path ".b[", offset 3`},
	} {
		_, err := objectjson.NewPrintingScanner(&api.Schema{Columns: []api.Column{c.column}}, testPrinters(&calls))
		require.ErrorIs(t, err, api.BadRequest(""))
		assert.ErrorContains(t, err, c.want)
	}
	_, err := objectjson.NewScanner(&api.Schema{Columns: []api.Column{{Name: "C", Kind: api.String, Printer: "join"}}})
	assert.ErrorContains(t, err, `there is no printer "join"`)
}

func TestPickReadsMembers(t *testing.T) {
	d, err := objectjson.ParseDocument([]byte(` {"a":1,"b":{"c":"x"},"\u0061":[true,null],"d":"2026-01-02T03:04:05Z"} `))
	require.NoError(t, err)
	var parts [4]objectjson.Document
	d.Pick(parts[:], "a", "b", "none", "d")
	assert.Equal(t, "[true,null]", string(parts[0]), "the last member with a name counts")
	assert.True(t, parts[1].Member("c").Is("x"))
	assert.Nil(t, parts[2])
	assert.Equal(t, 2, parts[0].Len())
	assert.Equal(t, 4, d.Len())
	assert.True(t, parts[0].Elements()[1].IsNull())
	millis, ok := parts[3].Date()
	assert.True(t, ok)
	assert.EqualValues(t, 1767323045000, millis)
	_, ok = parts[1].Date()
	assert.False(t, ok)
	parts[0].Pick(parts[1:], "a", "b", "c")
	assert.Nil(t, parts[1])
}

// Unchecked values may be invalid. The methods of a Document then stop at the first
// fault.
func TestDocumentsOfInvalidValues(t *testing.T) {
	for _, raw := range []string{"", "{", `{"a"`, `{"a":`, `{"a":[1,`, "[", `["`, `[1 2]`, `{"a":1 "b":2}`, `{1:2}`, "}", `"`} {
		d := objectjson.Document(raw)
		var parts [1]objectjson.Document
		d.Pick(parts[:], "a")
		assert.LessOrEqual(t, d.Len(), 1, raw)
		assert.LessOrEqual(t, len(d.Elements()), 1, raw)
		assert.False(t, d.Is("a"), raw)
		assert.False(t, strings.Contains(string(d.AppendText(nil)), "a"), raw)
	}
}
