package catalog

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/objectjson"
)

// printed returns the cells of columns for an object that consists of the given
// members. A missing cell is "-", and a text "-" has quotes.
func printed(t *testing.T, members string, columns ...api.Column) []string {
	t.Helper()
	for i := range columns {
		if columns[i].Kind == api.Null {
			columns[i].Kind = api.String
		}
	}
	s, err := NewScanner(&api.Schema{Columns: columns})
	require.NoError(t, err)
	o, err := s.Scan([]byte(`{`+members+`}`), objectjson.Options{})
	require.NoError(t, err, members)
	var cells []string
	for _, v := range o.Columns {
		text := v.String()
		switch {
		case v.Kind == api.Null:
			text = "-"
		case text == "-":
			text = `"-"`
		}
		if v.Time != 0 {
			text += " @" + api.Value{Kind: api.Integer, Int: v.Time / 1000}.String()
		}
		cells = append(cells, text)
	}
	return cells
}

const name = `"metadata":{"name":"x"}`

// one returns the cell that a printer computes for an object whose member v has the
// given members.
func one(t *testing.T, printer, paths, members string) string {
	t.Helper()
	return printed(t, name+`,"v":{`+members+`}`, api.Column{Name: "C", Printer: printer, Path: paths})[0]
}

func TestGenericPrinters(t *testing.T) {
	for _, c := range []struct{ printer, paths, members, want string }{
		{"count", ".v.a .v.b", `"a":{"x":1,"y":2},"b":[1,2,3]`, "5"},
		{"count", ".v.a", ``, "0"},
		{"count", ".v.a", `"a":"text"`, "0"},
		{"ratio", ".v.a .v.b", `"a":1,"b":3`, "1/3"},
		{"ratio", ".v.a .v.b", `"b":null`, "0/0"},
		{"first", ".v.a .v.b", `"a":null,"b":"x"`, "x"},
		{"first", ".v.a .v.b", `"a":"","b":"x"`, "-"},
		{"firstDate", ".v.a .v.b .v.c", `"a":null,"b":"2026-01-02T03:04:05.678901Z","c":"2027-01-02T03:04:05Z"`, "1767323045678"},
		{"firstDate", ".v.a", ``, "-"},
		{"firstInteger", ".v.a .v.b", `"a":null,"b":3`, "3"},
		{"firstInteger", ".v.a .v.b", ``, "-"},
		{"slash", ".v.a .v.b", `"a":"Role","b":"x"`, "Role/x"},
		{"slash", ".v.a .v.b", `"b":"x"`, "/x"},
		{"slash", ".v.a .v.b", ``, "-"},
		{"trim", ".v.a", `"a":" \n two words\t"`, "two words"},
		{"trim", ".v.a", `"a":"  "`, "-"},
		{"phase", ".v.a .v.b", `"a":"Bound"`, "Bound"},
		{"phase", ".v.a .v.b", `"a":"Bound","b":"2026-01-02T03:04:05Z"`, "Terminating"},
		{"title", ".v.a", `"a":true`, "True"},
		{"title", ".v.a", `"a":false`, "False"},
		{"title", ".v.a", ``, "-"},
		{"accessModes", ".v.a[*]", `"a":["ReadWriteMany","ReadWriteOnce","ReadWriteMany","ReadWriteOncePod","Other"]`, "RWO,RWX,RWOP"},
		{"accessModes", ".v.a[*] .v.b", `"a":["ReadOnlyMany"],"b":"pv-1"`, "ROX"},
		{"accessModes", ".v.a[*] .v.b", `"a":["ReadOnlyMany"],"b":""`, "-"},
		{"labels", ".v.a", `"a":{"tier":"front","app":"web","\u0061pp":"w2"}`, "app=w2,tier=front"},
		{"labels", ".v.a", `"a":{}`, "-"},
		{"selector", ".v.a", `"a":{"matchLabels":{"b":"1","a":"2"}}`, "a=2,b=1"},
		{"selector", ".v.a", `"a":{"matchLabels":{"c":"1"},"matchExpressions":[{"key":"b","operator":"In","values":["y","x"]},` +
			`{"key":"d","operator":"NotIn","values":["z"]},{"key":"a","operator":"Exists"},{"key":"e","operator":"DoesNotExist"}]}`,
			"a,b in (x,y),c=1,d notin (z),!e"},
		{"selector", ".v.a", `"a":{}`, "-"},
		{"selector", ".v.a", ``, "-"},
	} {
		assert.Equal(t, c.want, one(t, c.printer, c.paths, c.members), "%s(%s) of %s", c.printer, c.paths, c.members)
	}
}

func TestUnknownPrinter(t *testing.T) {
	p, _ := Printer("none")
	assert.Nil(t, p)
}

func TestNodes(t *testing.T) {
	columns := func() []api.Column {
		return []api.Column{{Printer: "nodeStatus"}, {Printer: "nodeRoles"}, {Printer: "nodeInternalIP"}, {Printer: "nodeExternalIP"}, {Printer: "nodeKernel"}}
	}
	for _, c := range []struct {
		why, labels, spec, status string
		want                      []string
	}{
		{"nothing is known", ``, ``, ``, []string{"Unknown", "-", "-", "-", "<unknown>"}},
		{"ready", `"node-role.kubernetes.io/control-plane":"","kubernetes.io/role":"edge","node-role.kubernetes.io/":"","node-role.kubernetes.io/edge":""`, ``,
			`"conditions":[{"type":"MemoryPressure","status":"False"},{"type":"Ready","status":"True"}],"nodeInfo":{"kernelVersion":"6.1","architecture":"arm64"},` +
				`"addresses":[{"type":"Hostname","address":"n"},{"type":"InternalIP","address":"10.0.0.1"},{"type":"InternalIP","address":"fd00::1"},{"type":"ExternalIP","address":"1.2.3.4"}]`,
			[]string{"Ready", "control-plane,edge", "10.0.0.1", "1.2.3.4", "6.1 (arm64)"}},
		{"cordoned", `"kubernetes.io/role":""`, `"unschedulable":true`, `"conditions":[{"type":"Ready","status":"Unknown"}],"nodeInfo":{"kernelVersion":"","architecture":""}`,
			[]string{"NotReady,SchedulingDisabled", "-", "-", "-", "<unknown>"}},
	} {
		members := `"metadata":{"name":"x","labels":{` + c.labels + `}},"spec":{` + c.spec + `},"status":{` + c.status + `}`
		assert.Equal(t, c.want, printed(t, members, columns()...), c.why)
	}
}
