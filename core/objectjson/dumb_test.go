package objectjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/objectjson"
)

// The simple evaluator is an independent implementation of Scan with encoding/json,
// without regard for speed. Its paths are lists of steps, so it shares no code with the
// package, not even the path parser.

// each is the step [*] of a path. In a list of steps, a string is a member and an
// int is a position.
type each struct{}

type dumbColumn struct {
	api.Column
	steps []any
}

type dumbSchema struct {
	secret  bool
	fields  [][]string
	columns []dumbColumn
}

func (d *dumbSchema) schema() *api.Schema {
	s := &api.Schema{Resource: api.Resource{Version: "v1", Name: "things"}, Kind: "Thing"}
	if d.secret {
		s.Resource.Name, s.Kind = "secrets", "Secret"
	}
	for _, f := range d.fields {
		s.Fields = append(s.Fields, strings.Join(f, "."))
	}
	for _, c := range d.columns {
		s.Columns = append(s.Columns, c.Column)
	}
	return s
}

var errDumb = errors.New("not acceptable")

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// scan returns the object without a body, and the decoded body.
func (d *dumbSchema) scan(raw []byte, opts objectjson.Options) (o api.Object, body any, err error) {
	if !json.Valid(raw) || nesting(raw) > 256 {
		return o, nil, errDumb
	}
	doc, ok := decode(raw).(map[string]any)
	if !ok {
		return o, nil, errDumb
	}
	if err := dumbIdentity(&o, doc); err != nil {
		return o, nil, err
	}
	body = d.strip(doc, opts)
	for _, f := range d.fields {
		steps := make([]any, len(f))
		for i := range f {
			steps[i] = f[i]
		}
		text := ""
		for _, v := range follow(doc, steps) {
			text, _ = scalarText(v)
		}
		o.Fields = append(o.Fields, text)
	}
	for _, c := range d.columns {
		o.Columns = append(o.Columns, dumbCell(c.Kind, follow(doc, c.steps)))
	}
	return o, body, nil
}

func dumbIdentity(o *api.Object, doc map[string]any) error {
	meta, _ := doc["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	namespace, _ := meta["namespace"].(string)
	if name == "" || strings.Contains(name+namespace, "/") {
		return errDumb
	}
	o.Key = api.NewKey(namespace, name)
	o.UID, _ = meta["uid"].(string)
	switch rv := meta["resourceVersion"].(type) {
	case nil:
	case string:
		v, err := api.ParseResourceVersion(rv)
		if err != nil {
			return errDumb
		}
		o.ResourceVersion = v
	default:
		return errDumb
	}
	if doc["immutable"] == true {
		o.Flags = api.Immutable
	}
	if owner := dumbOwner(meta, name); owner != "" {
		o.Labels = append(o.Labels, api.Label{Value: owner})
	}
	labels, _ := meta["labels"].(map[string]any)
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		if k == "" {
			continue // Kubernetes does not allow an empty key
		}
		v, _ := labels[k].(string)
		o.Labels = append(o.Labels, api.Label{Key: k, Value: v})
	}
	return nil
}

func dumbOwner(meta map[string]any, name string) string {
	owner := ""
	references, _ := meta["ownerReferences"].([]any)
	for _, r := range references {
		reference, _ := r.(map[string]any)
		uid, _ := reference["uid"].(string)
		ownerKind, _ := reference["kind"].(string)
		ownerName, _ := reference["name"].(string)
		text := string(api.Owner{Kind: ownerKind, Name: ownerName, UID: uid}.Append(nil, name))
		switch {
		case uid == "":
		case reference["controller"] == true:
			return text
		case owner == "":
			owner = text
		}
	}
	return owner
}

// strip returns doc without the data that the body omits. It also removes from doc
// itself the data that columns may not show.
func (d *dumbSchema) strip(doc map[string]any, opts objectjson.Options) any {
	withheld := d.secret && !opts.KeepSecretData
	meta := doc["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	if withheld {
		delete(doc, "data")
		delete(doc, "stringData")
		delete(annotations, lastApplied)
	}
	body, meta := maps.Clone(doc), maps.Clone(meta)
	body["metadata"] = meta
	delete(meta, "resourceVersion")
	if !opts.KeepManagedFields {
		delete(meta, "managedFields")
	}
	if annotations != nil && !opts.KeepLastApplied {
		annotations = maps.Clone(annotations)
		delete(annotations, lastApplied)
		meta["annotations"] = annotations
	}
	return body
}

// follow returns the values in v at the path with the given steps.
func follow(v any, steps []any) []any {
	if len(steps) == 0 {
		return []any{v}
	}
	object, _ := v.(map[string]any)
	array, _ := v.([]any)
	var out []any
	switch s := steps[0].(type) {
	case string:
		if child, ok := object[s]; ok {
			out = follow(child, steps[1:])
		}
	case int:
		if s < len(array) {
			out = follow(array[s], steps[1:])
		}
	case each:
		for _, child := range array {
			out = append(out, follow(child, steps[1:])...)
		}
	}
	return out
}

func scalarText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

func dumbCell(kind api.ValueKind, results []any) api.Value {
	switch kind {
	case api.Integer:
		return dumbInteger(results)
	case api.Number:
		return dumbNumber(results)
	}
	cell := api.Value{}
	for _, r := range results {
		switch kind {
		case api.Bool:
			if b, ok := r.(bool); ok && b {
				return api.Value{Kind: api.Bool, Int: 1}
			} else if ok {
				return api.Value{Kind: api.Bool}
			}
		case api.Date:
			text, _ := r.(string)
			if millis, ok := dumbDate(text); ok {
				return api.Value{Kind: api.Date, Int: millis}
			}
		case api.String:
			if text, ok := scalarText(r); ok && cell.Kind == api.Null {
				cell = api.Value{Kind: api.String, Text: text}
			} else if ok {
				cell.Text += "," + text
			}
		}
	}
	return cell
}

// dumbInteger computes the sum of results. A partial sum beyond 64 bits makes the
// result Null.
func dumbInteger(results []any) api.Value {
	cell, sum := api.Value{}, new(big.Int)
	for _, r := range results {
		n, ok := r.(json.Number)
		if !ok || strings.ContainsAny(n.String(), ".eE") {
			continue
		}
		term, _ := new(big.Int).SetString(n.String(), 10)
		if sum.Add(sum, term); !term.IsInt64() || !sum.IsInt64() {
			return api.Value{}
		}
		cell = api.Value{Kind: api.Integer, Int: sum.Int64()}
	}
	return cell
}

func dumbNumber(results []any) api.Value {
	cell := api.Value{}
	for _, r := range results {
		n, ok := r.(json.Number)
		if !ok {
			continue
		}
		term, err := n.Float64()
		if sum := cell.Float + term; err == nil && !math.IsInf(sum, 0) {
			cell = api.Value{Kind: api.Number, Float: sum}
		} else {
			return api.Value{}
		}
	}
	return cell
}

// nesting returns the maximum depth of nested containers in a valid document.
func nesting(raw []byte) (deepest int) {
	depth, inString := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			inString = !inString
		case inString && c == '\\':
			i++
		case inString:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

func decode(raw []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		panic(err)
	}
	return v
}

// checkScan compares Scan with the simple evaluator, and reports whether both accept the
// document.
func checkScan(t *testing.T, s *objectjson.Scanner, d *dumbSchema, raw []byte, opts objectjson.Options) (accepted bool) {
	t.Helper()
	want, wantBody, wantErr := d.scan(raw, opts)
	got, err := s.Scan(raw, opts)
	if wantErr != nil {
		var syntax *objectjson.SyntaxError
		require.ErrorAs(t, err, &syntax, "%s", raw)
		assert.True(t, syntax.Offset >= 0 && syntax.Offset <= len(raw), "offset %d of %d", syntax.Offset, len(raw))
		return false
	}
	require.NoError(t, err, "%s", raw)
	require.Equal(t, api.JSON, got.Body.Codec)
	require.True(t, json.Valid(got.Body.Data), "body of %s: %s", raw, got.Body.Data)
	require.Equal(t, wantBody, decode(got.Body.Data), "body of %s", raw)
	want.Body = got.Body
	for _, list := range []*api.Labels{&want.Labels, &got.Labels} {
		if len(*list) == 0 {
			*list = nil
		}
	}
	if len(want.Fields) == 0 {
		want.Fields = got.Fields
	}
	if len(want.Columns) == 0 {
		want.Columns = got.Columns
	}
	require.Equal(t, want, got, "%s", raw)
	return true
}
