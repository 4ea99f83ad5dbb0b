package objectjson_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/objectjson"
)

func columnSchema(path string) *api.Schema {
	return &api.Schema{Columns: []api.Column{{Name: "C", Kind: api.String, Path: path}}}
}

func TestColumnPaths(t *testing.T) {
	const object = `{"metadata":{"name":"a","labels":{"app.io/n":"dotted","it's":"quote"}},
		"a":{"b":"member","":"empty","b-c/d_e":"odd","x\\y":"back"},
		"l":[[["deep"]],"one","two"], "0":"zero", "m":[{"k":1},{"k":2},{"j":3}]}`
	for path, want := range map[string]string{
		".a.b":                         "member",
		"a.b":                          "member",
		`a["b"]`:                       "member",
		`['a']['b']`:                   "member",
		`.['a'].b`:                     "member",
		`.a['']`:                       "empty",
		`.a.b-c/d_e`:                   "odd",
		`.a['x\\y']`:                   "back",
		`.a.x\\y`:                      "back",
		`.metadata.labels['app.io/n']`: "dotted",
		`.metadata.labels.app\.io/n`:   "dotted",
		`.metadata.labels['it\'s']`:    "quote",
		`.metadata.labels["it's"]`:     "quote",
		".l[1]":                        "one",
		".l[01]":                       "one",
		".l[*]":                        "one,two",
		".l[0][0][0]":                  "deep",
		".l[*][*][*]":                  "deep",
		".0":                           "zero",
		".m[*].k":                      "1,2",
		".m[1].k":                      "2",
		".l[7]":                        "",
		".a[0]":                        "",
		".l.b":                         "",
		".a[*]":                        "",
		"[0]":                          "",
	} {
		s, err := objectjson.NewScanner(columnSchema(path))
		require.NoError(t, err, path)
		o, err := s.Scan([]byte(object), objectjson.Options{})
		require.NoError(t, err)
		assert.Equal(t, want, o.Columns[0].Text, path)
		assert.Equal(t, want != "", o.Columns[0].Kind == api.String, path)
	}
}

func TestColumnPathErrors(t *testing.T) {
	for _, c := range []struct{ path, want string }{
		{"", `offset 0: expected a member name`},
		{".", `offset 1: expected a member name`},
		{"..a", `offset 1: expected a member name`},
		{".a.", `offset 3: expected a member name`},
		{".a..b", `offset 3: expected a member name`},
		{".a.*", `offset 3: expected a member name`},
		{"{.a}", `offset 0: expected a member name`},
		{"$.a", `offset 0: expected a member name`},
		{".a b", `offset 2: expected a member name`},
		{`.a\`, `offset 2: expected a member name`},
		{".a[", `offset 3: expected a position, "*" or a quoted name`},
		{".a[]", `offset 3: expected a position, "*" or a quoted name`},
		{".a[-1]", `offset 3: expected a position, "*" or a quoted name`},
		{".a[?(@.x==1)]", `offset 3: expected a position, "*" or a quoted name`},
		{".a[0:2]", `offset 4: expected "]"`},
		{".a[0,1]", `offset 4: expected "]"`},
		{".a['b'", `offset 6: expected "]"`},
		{".a['b", `offset 5: expected a closing quote`},
		{`.a['\n']`, `offset 5: expected a quote or a backslash`},
		{`.a['\`, `offset 5: expected a quote or a backslash`},
		{".a[0]b", `offset 5: expected "." or "["`},
		{".a[99999999999999999999]", `offset 3: expected a position that fits an integer`},
	} {
		_, err := objectjson.NewScanner(columnSchema(c.path))
		require.ErrorIs(t, err, api.BadRequest(""), c.path)
		assert.Contains(t, err.Error(), c.want, c.path)
		assert.Contains(t, err.Error(), `column "C": path "`, c.path)
	}
}

func TestSchemaErrors(t *testing.T) {
	for _, field := range []string{"", ".a", "a..b", "a."} {
		_, err := objectjson.NewScanner(&api.Schema{Fields: []string{field}})
		require.ErrorIs(t, err, api.BadRequest(""), field)
	}
	for _, kind := range []api.ValueKind{api.Null, api.Duration + 1} {
		_, err := objectjson.NewScanner(&api.Schema{Columns: []api.Column{{Name: "C", Kind: kind, Path: "a"}}})
		require.ErrorContains(t, err, "kind of cell")
	}
	_, err := objectjson.NewScanner(&api.Schema{Columns: []api.Column{{Name: "C", Kind: api.Duration, Path: "a"}}})
	require.EqualError(t, err, `400 BadRequest: column "C": only a printer computes a Duration`)
	_, err = objectjson.NewScanner(columnSchema(strings.Repeat(".a", 256)))
	require.ErrorContains(t, err, "256 steps")
}

// NewScanner rejects paths that need too many nodes. Without the limit, sixteen columns
// of sixteen steps would need 2^16 nodes.
func TestPathsMultiply(t *testing.T) {
	schema := &api.Schema{}
	for i := range 16 {
		path := "a" + strings.Repeat("[*]", i) + "[0]" + strings.Repeat("[*]", 15-i)
		schema.Columns = append(schema.Columns, api.Column{Name: "C", Kind: api.String, Path: path})
	}
	_, err := objectjson.NewScanner(schema)
	require.ErrorIs(t, err, api.BadRequest(""))
	assert.Contains(t, err.Error(), "4096 nodes")
}

func FuzzColumnPath(f *testing.F) {
	for _, path := range []string{".a.b", `a["b"][0][*]`, `.a\.b['\'']`, "{..}", "[?()]"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		s, err := objectjson.NewScanner(columnSchema(path))
		if err != nil {
			require.ErrorIs(t, err, api.BadRequest(""))
			return
		}
		_, err = s.Scan([]byte(`{"metadata":{"name":"a"},"a":{"b":[[1]]}}`), objectjson.Options{})
		require.NoError(t, err)
	})
}
