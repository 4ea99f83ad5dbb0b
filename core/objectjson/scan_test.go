package objectjson_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/objectjson"
)

// podSchema selects the values of pods that a dashboard shows.
func podSchema() *dumbSchema {
	column := func(name string, kind api.ValueKind, path string, steps ...any) dumbColumn {
		return dumbColumn{api.Column{Name: name, Kind: kind, Path: path}, steps}
	}
	return &dumbSchema{
		fields: [][]string{{"metadata", "name"}, {"metadata", "namespace"}, {"spec", "nodeName"}, {"status", "phase"},
			{"spec", "hostNetwork"}, {"spec", "priority"}, {"spec", "containers"}},
		columns: []dumbColumn{
			column("Name", api.String, ".metadata.name", "metadata", "name"),
			column("Status", api.String, "status.phase", "status", "phase"),
			column("Ready", api.Bool, ".status.containerStatuses[*].ready", "status", "containerStatuses", each{}, "ready"),
			column("Restarts", api.Integer, ".status.containerStatuses[*].restartCount", "status", "containerStatuses", each{}, "restartCount"),
			column("First", api.String, ".status.containerStatuses[0]['name']", "status", "containerStatuses", 0, "name"),
			column("Grace", api.Number, ".spec.terminationGracePeriodSeconds", "spec", "terminationGracePeriodSeconds"),
			column("Images", api.String, ".spec.containers[*].image", "spec", "containers", each{}, "image"),
			column("App", api.String, `.metadata.labels["app.kubernetes.io/name"]`, "metadata", "labels", "app.kubernetes.io/name"),
			column("Age", api.Date, ".metadata.creationTimestamp", "metadata", "creationTimestamp"),
			column("Manager", api.String, ".metadata.managedFields[0].manager", "metadata", "managedFields", 0, "manager"),
			column("Applied", api.String, ".metadata.annotations['"+lastApplied+"']", "metadata", "annotations", lastApplied),
			column("Password", api.String, ".data.password", "data", "password"),
		},
	}
}

func newScanner(t testing.TB, d *dumbSchema) *objectjson.Scanner {
	s, err := objectjson.NewScanner(d.schema())
	require.NoError(t, err)
	return s
}

// fixture reads one of the shared objects, and removes the whitespace between its tokens.
func fixture(t testing.TB, name string) []byte {
	raw, err := os.ReadFile(filepath.Join("..", "..", "testdata", "objects", name))
	require.NoError(t, err)
	var compact bytes.Buffer
	require.NoError(t, json.Compact(&compact, raw))
	return compact.Bytes()
}

func TestScanPod(t *testing.T) {
	pod, err := newScanner(t, podSchema()).Scan(fixture(t, "pod.json"), objectjson.Options{})
	require.NoError(t, err)

	assert.Equal(t, api.Key("shop/checkout-7d9c5b8f6d-x2k4q"), pod.Key)
	assert.Equal(t, "6f1c9a52-0d3e-4b77-9c1a-2e8d5f40b7a3", pod.UID)
	assert.Equal(t, api.ResourceVersion(8134472), pod.ResourceVersion)
	assert.Zero(t, pod.Flags)
	assert.Equal(t, "app.kubernetes.io/name=checkout,app.kubernetes.io/part-of=shop,pod-template-hash=7d9c5b8f6d,track=stable", pod.Labels.WithoutOwner().String())
	assert.Equal(t, "0c6f7f8e-51f4-4f0c-8f0e-9b7a6f1f2f11", pod.Labels.Owner())
	assert.Equal(t, []string{"checkout-7d9c5b8f6d-x2k4q", "shop", "worker-3", "Running", "", "0", ""}, pod.Fields)
	assert.Equal(t, []api.Value{
		{Kind: api.String, Text: "checkout-7d9c5b8f6d-x2k4q"},
		{Kind: api.String, Text: "Running"},
		{Kind: api.Bool, Int: 1},
		{Kind: api.Integer, Int: 1},
		{Kind: api.String, Text: "checkout"},
		{Kind: api.Number, Float: 30},
		{Kind: api.String, Text: "registry.example.com/shop/checkout:2.14.1,registry.example.com/infra/statsd-exporter:0.27.2"},
		{Kind: api.String, Text: "checkout"},
		{Kind: api.Date, Int: 1773480413000},
		{Kind: api.String, Text: "kube-controller-manager"},
		{},
		{},
	}, pod.Columns)
	assert.NotContains(t, string(pod.Body.Data), "managedFields")
	assert.NotContains(t, string(pod.Body.Data), "8134472")
	assert.Contains(t, string(pod.Body.Data), `"qosClass":"Burstable"`)
}

func TestScanFixturesLikeEncodingJSON(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "objects", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		pretty, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, secret := range []bool{false, true} {
			d := podSchema()
			d.secret = secret
			s := newScanner(t, d)
			for keep := range 8 {
				opts := optionsFromBits(keep)
				assert.True(t, checkScan(t, s, d, pretty, opts), file)
				assert.True(t, checkScan(t, s, d, fixture(t, filepath.Base(file)), opts), file)
			}
		}
	}
}

func optionsFromBits(bits int) objectjson.Options {
	return objectjson.Options{KeepManagedFields: bits&1 != 0, KeepLastApplied: bits&2 != 0, KeepSecretData: bits&4 != 0}
}

// scanCases contains named documents. The simple evaluator checks the results of Scan.
// The field accepted states whether Scan and the evaluator accept the document.
var scanCases = []struct {
	name     string
	raw      string
	accepted bool
}{
	{"smallest", `{"metadata":{"name":"a"}}`, true},
	{"cluster-scoped", `{"metadata":{"name":"a","namespace":""}}`, true},
	{"blanks everywhere", " \t\r\n{ \"metadata\" : { \"name\" : \"a\" , \"labels\" : { } } , \"spec\" : [ 1 , 2 ] } \n", true},
	{"version zero", `{"metadata":{"name":"a","resourceVersion":"0"}}`, true},
	{"version null", `{"metadata":{"name":"a","resourceVersion":null}}`, true},
	{"version number", `{"metadata":{"name":"a","resourceVersion":7}}`, false},
	{"version beyond 64 bits", `{"metadata":{"name":"a","resourceVersion":"18446744073709551616"}}`, false},
	{"version opaque", `{"metadata":{"name":"a","resourceVersion":"abc"}}`, false},
	{"everything stripped", `{"metadata":{"managedFields":[],"resourceVersion":"1","name":"a","annotations":{"` + lastApplied + `":"{}"}}}`, true},
	{"stripped at the end", `{"metadata":{"name":"a" , "resourceVersion":"1" , "managedFields":[] }}`, true},
	{"stripped in between", `{"metadata":{"resourceVersion":"1","name":"a","managedFields":[],"uid":"u","resourceVersion":"2"}}`, true},
	{"stripped under an escape", `{"met\u0061data":{"n\u0061me":"a","\u0072esourceVersion":"1","managed\u0046ields":[]},"d\u0061ta":{"password":"x"}}`, true},
	{"stripped elsewhere stays", `{"metadata":{"name":"a"},"resourceVersion":"1","spec":{"managedFields":1,"metadata":{"resourceVersion":"1"}}}`, true},
	{"secret data", `{"data":{"password":"x"},"metadata":{"name":"a"},"stringData":{"password":"x"},"type":"Opaque"}`, true},
	{"immutable", `{"metadata":{"name":"a"},"immutable":true}`, true},
	{"immutable text", `{"metadata":{"name":"a"},"immutable":"true"}`, true},
	{"immutable nested", `{"metadata":{"name":"a","immutable":true}}`, true},
	{"labels unsorted and doubled", `{"metadata":{"name":"a","labels":{"z":"1","a":"2","z":"3","":"","a":null}}}`, true},
	{"owner", `{"metadata":{"name":"a","labels":{"app":"web"},"ownerReferences":[{"uid":"u"}]}}`, true},
	{"the controller among owners", `{"metadata":{"name":"a","ownerReferences":[{"uid":"u"},{"controller":false,"uid":"v"},{"uid":"w","controller":true},{"uid":"x","controller":true}]}}`, true},
	{"the first owner with a UID", `{"metadata":{"name":"a","ownerReferences":[null,{},"x",{"uid":1},{"uid":"","controller":true},{"u\u0069d":"u\u0031"},{"uid":"v"}]}}`, true},
	{"owners doubled", `{"metadata":{"name":"a","ownerReferences":[{"uid":"u"}],"ownerReferences":[{"uid":"v","uid":"w"}]}}`, true},
	{"kind and name of an owner", `{"metadata":{"name":"web-7d-x1","ownerReferences":[{"kind":"Cluster","name":"main","uid":"u"},{"kind":"Replica\u0053et","name":"web-7d","uid":"v","controller":true}]}}`, true},
	{"an owner with another name", `{"metadata":{"name":"web-7d","ownerReferences":[{"kind":"Cluster","name":"m\u0061in","uid":"u"}]}}`, true},
	{"names with slashes of owners", `{"metadata":{"name":"a","ownerReferences":[{"kind":"Cluster","name":"x/y","uid":"u/v"}]}}`, true},
	{"kind and name of other types", `{"metadata":{"name":"a","ownerReferences":[{"kind":1,"name":[],"uid":"u"}]}}`, true},
	{"owners of no kind", `{"metadata":{"name":"a","ownerReferences":{"uid":"u"}}}`, true},
	{"labels of no kind", `{"metadata":{"name":"a","labels":["x"]}}`, true},
	{"label values of no kind", `{"metadata":{"name":"a","labels":{"a":1,"b":null,"c":{"d":"e"},"e":["f"]}}}`, true},
	{"label names equal after unescaping", `{"metadata":{"name":"a","labels":{"app":"1","\u0061pp":"2"}}}`, true},
	{"metadata doubled", `{"metadata":{"name":"a","labels":{"x":"y"},"uid":"u"},"metadata":{"name":"b"}}`, true},
	{"metadata doubled, the last has no name", `{"metadata":{"name":"a"},"metadata":{}}`, false},
	{"metadata doubled, the last is null", `{"metadata":{"name":"a"},"metadata":null}`, false},
	{"array doubled", `{"metadata":{"name":"a"},"status":{"containerStatuses":[{"restartCount":1},{"restartCount":2}],"containerStatuses":[{"restartCount":5,"restartCount":6}]}}`, true},
	{"mistyped results", `{"metadata":{"name":"a"},"status":{"containerStatuses":[{"restartCount":"1","ready":1},{"restartCount":2.0},{"restartCount":-0,"ready":false}]}}`, true},
	{"integer beyond 64 bits", `{"metadata":{"name":"a"},"status":{"containerStatuses":[{"restartCount":1},{"restartCount":9223372036854775808}]}}`, true},
	{"sum beyond 64 bits", `{"metadata":{"name":"a"},"status":{"containerStatuses":[{"restartCount":-9223372036854775808},{"restartCount":-1}]}}`, true},
	{"integer at the limits", `{"metadata":{"name":"a"},"status":{"containerStatuses":[{"restartCount":9223372036854775807},{"restartCount":-9223372036854775808}]}}`, true},
	{"number beyond range", `{"metadata":{"name":"a"},"spec":{"terminationGracePeriodSeconds":1e999}}`, true},
	{"text of numbers and bools", `{"metadata":{"name":"a"},"spec":{"containers":[{"image":1.50},{"image":true},{"image":null},{"image":{}},{"image":""},{"image":"x"}]}}`, true},
	{"escapes", `{"metadata":{"name":"\"\\\b\f\n\r\t\u00e9\u20AC\ud83d\ude00"}}`, true},
	{"lone surrogates", `{"metadata":{"name":"\ud800|\udc00|\ud800\ud800\udc00|\ud800\u0041|\ud800"}}`, true},
	{"not UTF-8", "{\"metadata\":{\"name\":\"\xff\xc3|\xed\xa0\x80\",\"labels\":{\"\xff\":\"1\",\"\xfe\":\"2\"}}}", true},
	{"date with fraction and zone", `{"metadata":{"name":"a","creationTimestamp":"2024-02-29T23:59:59.9876+05:30"}}`, true},
	{"date of no kind", `{"metadata":{"name":"a","creationTimestamp":"2023-02-29T23:59:59Z"}}`, true},
	{"name empty", `{"metadata":{"name":""}}`, false},
	{"name number", `{"metadata":{"name":1}}`, false},
	{"name with slash", `{"metadata":{"name":"a\/b"}}`, false},
	{"namespace with slash", `{"metadata":{"name":"a","namespace":"b/c"}}`, false},
	{"metadata text", `{"metadata":"a"}`, false},
	{"array", `[{"metadata":{"name":"a"}}]`, false},
	{"empty", ``, false},
	{"byte order mark", "\ufeff" + `{"metadata":{"name":"a"}}`, false},
	{"two documents", `{"metadata":{"name":"a"}}{}`, false},
	{"comma before brace", `{"metadata":{"name":"a",}}`, false},
	{"comma before bracket", `{"metadata":{"name":"a"},"x":[1,]}`, false},
	{"comma at the front", `{,"metadata":{"name":"a"}}`, false},
	{"comma in an empty array", `{"metadata":{"name":"a"},"x":[,]}`, false},
	{"mismatched", `{"metadata":{"name":"a"},"x":[1}}`, false},
	{"number with leading zero", `{"metadata":{"name":"a"},"x":01}`, false},
	{"number with leading plus", `{"metadata":{"name":"a"},"x":+1}`, false},
	{"number without digits", `{"metadata":{"name":"a"},"x":-}`, false},
	{"number ending in dot", `{"metadata":{"name":"a"},"x":1.}`, false},
	{"number without exponent", `{"metadata":{"name":"a"},"x":1e+}`, false},
	{"not a word", `{"metadata":{"name":"a"},"x":nul}`, false},
	{"control character", "{\"metadata\":{\"name\":\"a\"},\"x\":\"\n\"}", false},
	{"no such escape", `{"metadata":{"name":"a"},"x":"\'"}`, false},
	{"not hexadecimal", `{"metadata":{"name":"a"},"x":"\u00g0"}`, false},
	{"deepest", `{"metadata":{"name":"a"},"x":` + strings.Repeat("[", 255) + strings.Repeat("]", 255) + `}`, true},
	{"too deep", `{"metadata":{"name":"a"},"x":` + strings.Repeat("[", 256) + strings.Repeat("]", 256) + `}`, false},
	{"too deep in objects", `{"metadata":{"name":"a"},"x":` + strings.Repeat(`{"x":`, 256) + `1` + strings.Repeat("}", 256) + `}`, false},
}

func TestScanLikeEncodingJSON(t *testing.T) {
	for _, secret := range []bool{false, true} {
		d := podSchema()
		d.secret = secret
		s := newScanner(t, d)
		for _, c := range scanCases {
			for bits := range 8 {
				assert.Equal(t, c.accepted, checkScan(t, s, d, []byte(c.raw), optionsFromBits(bits)), c.name)
			}
		}
	}
}

// Scan rejects every proper prefix of an object, and the error contains the position of
// the end.
func TestScanTruncated(t *testing.T) {
	s, pod := newScanner(t, podSchema()), fixture(t, "pod.json")
	for end := range pod {
		_, err := s.Scan(pod[:end], objectjson.Options{})
		var syntax *objectjson.SyntaxError
		require.ErrorAs(t, err, &syntax, "%d bytes", end)
		assert.Equal(t, end, syntax.Offset)
		assert.Contains(t, syntax.Message, "unexpected end")
	}
}

func TestScanErrors(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{``, `object JSON, offset 0: unexpected end: expected an object`},
		{` 7`, `object JSON, offset 1: expected an object, found '7'`},
		{`{}`, `object JSON, offset 0 (metadata.name): the object has no name`},
		{`{"metadata":{"name":7}}`, `object JSON, offset 20 (metadata.name): the object has no name`},
		{`{"metadata":{"name":"a/b"}}`, `object JSON, offset 20 (metadata.name): a name cannot contain a slash`},
		{`{"metadata":{"namespace":"a/b"}}`, `object JSON, offset 25 (metadata.namespace): a namespace cannot contain a slash`},
		{`{"metadata":{"name":"a","resourceVersion":"07"}}`, `object JSON, offset 42 (metadata.resourceVersion): expected a decimal number that fits 64 bits`},
		{`{"spec":{"containers":[{},{"image":nginx}]}}`, `object JSON, offset 35 (spec.containers[1].image): expected a value, found 'n'`},
		{`{"metadata":{"labels":{"a.b/c":tru`, `object JSON, offset 34 (metadata.labels["a.b/c"]): unexpected end: expected a value`},
		{`{"a":"x","b":"é` + "\x01", `object JSON, offset 16 (b): control character in a string`},
		{`{"a":"x`, `object JSON, offset 7 (a): unexpected end: unfinished string`},
		{`{"a":[1 2]}`, `object JSON, offset 8 (a[0]): expected "," or "]", found '2'`},
		{`{"a":1 "b"}`, `object JSON, offset 7 (a): expected "," or "}", found '"'`},
		{`{"a" 1}`, `object JSON, offset 5 (a): expected ":" after the member name, found '1'`},
		{`{"a":1,é}`, `object JSON, offset 7: expected a member name in quotes, found 'é'`},
		{`{"a":"\x"}`, `object JSON, offset 7 (a): expected one of "\/bfnrtu after the backslash, found 'x'`},
		{`{"a":"\u12x4"}`, `object JSON, offset 10 (a): expected four hexadecimal digits after \u, found 'x'`},
		{`{"a":{"b":[[],{}]},"c":-x}`, `object JSON, offset 24 (c): expected a digit, found 'x'`},
		{`{"metadata":{"name":"a"}} x`, `object JSON, offset 26: expected nothing after the object, found 'x'`},
		{`{"a":` + strings.Repeat("[", 256) + `}`, `object JSON, offset 260 (a` + strings.Repeat("[0]", 255) + `): nested deeper than 256 levels`},
	} {
		_, err := newScanner(t, podSchema()).Scan([]byte(c.raw), objectjson.Options{})
		require.EqualError(t, err, c.want)
		status := err.(interface{ Status() *api.Status }).Status()
		assert.Equal(t, 400, status.Code)
		assert.Equal(t, c.want, status.Message)
	}
}

// The strings of an object remain valid after the next Scan, and the Object does not
// alias the input.
func TestScanAliasing(t *testing.T) {
	s, raw := newScanner(t, podSchema()), fixture(t, "pod.json")
	first, err := s.Scan(raw, objectjson.Options{})
	require.NoError(t, err)
	body := string(first.Body.Data)
	for i := range raw {
		raw[i] = 'x'
	}
	assert.Equal(t, body, string(first.Body.Data))
	key, field := first.Key, first.Fields[2]
	_, err = s.Scan([]byte(`{"metadata":{"name":"other"},"spec":{"nodeName":"n"}}`), objectjson.Options{})
	require.NoError(t, err)
	assert.Equal(t, api.Key("shop/checkout-7d9c5b8f6d-x2k4q"), key)
	assert.Equal(t, "worker-3", field)
}

func TestScanAllocates(t *testing.T) {
	s, raw := newScanner(t, podSchema()), fixture(t, "pod.json")
	allocations := testing.AllocsPerRun(100, func() {
		if _, err := s.Scan(raw, objectjson.Options{}); err != nil {
			t.Fatal(err)
		}
	})
	assert.LessOrEqual(t, allocations, 1.0, "the strings of an object are one piece of memory")
}

// The memory for names that a scanner has seen is bounded, regardless of the
// names.
func TestScanRemembersLittle(t *testing.T) {
	s, err := objectjson.NewScanner(podSchema().schema())
	require.NoError(t, err)
	for i := range 100 {
		long := strings.Repeat("x", 10_000+i)
		_, err := s.Scan([]byte(`{"`+long+`":1,"metadata":{"`+long+`":1,"name":"a","namespace":"b"},"status":{"`+long+`":1}}`), objectjson.Options{})
		require.NoError(t, err)
	}
	require.Positive(t, s.Remembered())
	require.Less(t, s.Remembered(), 10_000)
}

// A scanner first compares a name with names that it has read before, and does not
// mistake a similar name for one of them.
func TestAlmostEqualMembers(t *testing.T) {
	for n := 1; n < 40; n++ {
		name := strings.Repeat("abcdefg", 6)[:n]
		s, err := objectjson.NewScanner(&api.Schema{Fields: []string{"spec." + name}})
		require.NoError(t, err)
		field := func(member string) string {
			o, err := s.Scan([]byte(`{"metadata":{"name":"x"},"spec":{"`+member+`":"yes"}}`), objectjson.Options{})
			require.NoError(t, err)
			return o.Fields[0]
		}
		require.Equal(t, "yes", field(name))
		for i := range n {
			require.Empty(t, field(name[:i]+"x"+name[i+1:]), "%d of %d", i, n)
		}
		require.Empty(t, field(name+"x"))
		require.Empty(t, field("x"+name))
		require.Equal(t, "yes", field(name))
	}
}
