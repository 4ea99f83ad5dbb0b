package query_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/naive"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/query"
	"github.com/watchglass/watchglass/core/wire"
)

const now = 1_800_000_000_000

// wide is a schema with a column of every kind.
func wide() *api.Schema {
	s := schema()
	s.Columns = append(s.Columns,
		api.Column{Name: "Ready", Kind: api.Bool},
		api.Column{Name: "CPU", Kind: api.Number},
		api.Column{Name: "Memory", Kind: api.String},
		api.Column{Name: "Took", Kind: api.Duration},
	)
	return s
}

func pickOne[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

var (
	phases   = []string{"Running", "Pending", "CrashLoopBackOff", "2/2", "1/2", "true", "", "not", "a b"}
	memories = []string{"", "512Mi", "1Gi", "1024Mi", "100", "3 (5m ago)", "10 (1d ago)", "v1.9.0", "v1.10.0", "10.0.0.9", "10.0.0.10", "<none>"}
	apps     = []string{"", "web", "api", "Web", "10"}
)

func randomObject(r *rand.Rand) api.Object {
	s := wide()
	o := api.Object{Key: api.Key(fmt.Sprintf("ns%d/web-%d", r.IntN(3), r.IntN(12))), Fields: make([]string, len(s.Fields))}
	o.Fields[0], o.Fields[1] = o.Key.Name(), o.Key.Namespace()
	o.Fields[2], o.Fields[3] = pickOne(r, "", "node-1", "node-10", "node-2"), pickOne(r, phases...)
	for _, c := range s.Columns {
		v := api.Value{Kind: c.Kind}
		switch c.Name {
		case "Name":
			v.Text = o.Key.Name()
		case "Phase":
			v.Text = o.Fields[3]
		case "Restarts":
			v.Int = pickOne[int64](r, -1, 0, 1, 3, 9, 10, 1<<53+1)
		case "Ready":
			v.Int = r.Int64N(2)
		case "CPU":
			v.Float = pickOne(r, 0, 0.1, 0.25, 1, 3, 512*1024*1024)
		case "Memory":
			v.Text, v.Time = pickOne(r, memories...), pickOne[int64](r, 0, now-60_000)
		case "Took":
			v.Int = pickOne[int64](r, 0, 60_000, 300_001)
		case "Created", "Last Seen":
			v.Int = now - pickOne[int64](r, 0, 1, 60_000, 300_000, 300_001, 86_400_000)
		}
		if r.IntN(8) == 0 {
			v = api.Value{}
		}
		o.Columns = append(o.Columns, v)
	}
	if app := pickOne(r, apps...); r.IntN(4) > 0 {
		o.Labels = api.Labels{{Key: "app.kubernetes.io/name", Value: app}}
	}
	return o
}

func rowOf(o api.Object) *query.Row {
	return &query.Row{Envelope: wire.AppendEnvelope(nil, &o), Labels: o.Labels, Now: now}
}

// conditionOf is a random condition and its naive evaluation.
type conditionOf struct {
	text string
	hold func(api.Object) bool
}

func randomCondition(r *rand.Rand, depth int) conditionOf {
	if depth > 0 {
		a, b := randomCondition(r, depth-1), randomCondition(r, depth-1)
		switch r.IntN(5) {
		case 0:
			return conditionOf{"(" + a.text + ") and (" + b.text + ")", func(o api.Object) bool { return a.hold(o) && b.hold(o) }}
		case 1:
			return conditionOf{"(" + a.text + " OR (" + b.text + "))", func(o api.Object) bool { return a.hold(o) || b.hold(o) }}
		case 2:
			return conditionOf{"not (" + a.text + ")", func(o api.Object) bool { return !a.hold(o) }}
		}
	}
	switch r.IntN(6) {
	case 0:
		return numeric(r)
	case 1:
		return date(r)
	case 2:
		return boolean(r)
	}
	return textual(r)
}

func numeric(r *rand.Rand) conditionOf {
	name, i := "restarts", 2
	if r.IntN(2) == 0 {
		name, i = "cpu", 8
	}
	op, literal := pickOne(r, "=", "!=", "<", "<=", ">", ">="), pickOne(r, "3", "0.25", "100m", "10", "-1", "512Mi", "0")
	want, _ := naive.Quantity(literal)
	return conditionOf{name + op + literal, func(o api.Object) bool {
		v := o.Columns[i]
		if v.Kind == api.Null {
			return op == "!="
		}
		f := v.Float
		if v.Kind == api.Integer {
			f = float64(v.Int)
		}
		return naive.Holds(op, api.Value{Kind: api.Number, Float: f}.Compare(api.Value{Kind: api.Number, Float: want}))
	}}
}

func date(r *rand.Rand) conditionOf {
	op, age := pickOne(r, "=", "!=", "<", "<=", ">", ">="), pickOne(r, int64(0), 60_000, 300_000, 86_400_000)
	name, value := "Created", func(o api.Object) (int64, bool) { return now - o.Columns[3].Int, o.Columns[3].Kind != api.Null }
	if r.IntN(3) == 0 {
		name, value = "took", func(o api.Object) (int64, bool) { return o.Columns[10].Int, o.Columns[10].Kind != api.Null }
	}
	literal := map[int64]string{0: "0s", 60_000: "1m", 300_000: "4m60s", 86_400_000: "24h"}[age]
	return conditionOf{name + " " + op + " " + literal, func(o api.Object) bool {
		millis, ok := value(o)
		if !ok {
			return op == "!="
		}
		return naive.Holds(op, cmp.Compare(millis, age))
	}}
}

func boolean(r *rand.Rand) conditionOf {
	want := r.IntN(2)
	return conditionOf{pickOne(r, "ready=", "READY==", "'ready' = ") + pickOne(r, []string{"false", "true"}[want]), func(o api.Object) bool {
		return o.Columns[7].Kind == api.Bool && o.Columns[7].Int == int64(want)
	}}
}

func textual(r *rand.Rand) conditionOf {
	name := pickOne(r, "name", "namespace", "Phase", "memory", "spec.nodeName", "labels[app.kubernetes.io/name]", `"annotations[tier]"`)
	value := func(o api.Object) (string, bool) {
		switch name {
		case "name":
			return o.Key.Name(), true
		case "namespace":
			return o.Key.Namespace(), true
		case "Phase":
			return o.Columns[1].Text, o.Columns[1].Kind != api.Null
		case "memory":
			return o.Columns[9].Text, o.Columns[9].Kind != api.Null
		case "spec.nodeName":
			return o.Fields[2], true
		case `"annotations[tier]"`:
			return o.Columns[6].Text, o.Columns[6].Kind != api.Null
		}
		return o.Labels.Get("app.kubernetes.io/name")
	}
	literal := pickOne(r, append(append(append([]string{"node-2", "web-3", "ns1", "1", "0.5Gi"}, phases...), memories...), apps...)...)
	quoted := `"` + literal + `"`
	switch op := pickOne(r, "", "exists", "in", "notin", "~", "!~", "=", "!=", "<", "<=", ">", ">="); op {
	case "":
		return conditionOf{name, func(o api.Object) bool {
			text, ok := value(o)
			return ok && naive.Truthy(api.Value{Kind: api.String, Text: text})
		}}
	case "exists":
		return conditionOf{name + " Exists", func(o api.Object) bool { text, _ := value(o); return text != "" }}
	case "~", "!~":
		return conditionOf{name + op + quoted, func(o api.Object) bool {
			text, _ := value(o)
			return naive.Includes(text, literal) == (op == "~")
		}}
	case "in", "notin":
		other := pickOne(r, "web", "Running", "1Gi")
		return conditionOf{fmt.Sprintf("%s %s (%s, '%s')", name, op, quoted, other), func(o api.Object) bool {
			text, _ := value(o)
			return (sameText(name, text, literal) || sameText(name, text, other)) == (op == "in")
		}}
	case "=", "!=":
		return conditionOf{name + op + quoted, func(o api.Object) bool {
			text, _ := value(o)
			return sameText(name, text, literal) == (op == "=")
		}}
	default:
		return conditionOf{name + op + quoted, func(o api.Object) bool {
			text, _ := value(o)
			order, ok := orderOfTexts(name, text, literal)
			return ok && naive.Holds(op, order)
		}}
	}
}

func sameText(name, a, b string) bool {
	x, xok := naive.Quantity(a)
	y, yok := naive.Quantity(b)
	return a == b || xok && yok && x == y && !strings.HasPrefix(name, "name")
}

func orderOfTexts(name, a, b string) (int, bool) {
	if y, ok := naive.Quantity(b); ok && !strings.HasPrefix(name, "name") {
		first, _, _ := strings.Cut(a, " ")
		x, ok := naive.Quantity(first)
		return api.Value{Kind: api.Number, Float: x}.Compare(api.Value{Kind: api.Number, Float: y}), ok
	}
	return naive.Natural(a, b), a != ""
}

func TestConditionsAgreeWithTheModel(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	var held, not int
	for range 6000 {
		c := randomCondition(r, r.IntN(4))
		w, status := query.ParseWhere(wide(), c.text)
		require.Nil(t, status, c.text)
		for range 5 {
			o := randomObject(r)
			if c.hold(o) {
				held++
			} else {
				not++
			}
			require.Equal(t, c.hold(o), w.Holds(rowOf(o)), "%s\n%+v", c.text, o)
		}
	}
	require.Greater(t, held, 3000)
	require.Greater(t, not, 3000)
}

func TestPrecedenceOfConditions(t *testing.T) {
	o := randomObject(rand.New(rand.NewPCG(1, 1)))
	o.Columns[2] = api.Value{Kind: api.Integer, Int: 5}
	for source, want := range map[string]bool{
		"": true,
		"restarts=5 or restarts=1 and restarts=2":   true,
		"(restarts=5 or restarts=1) and restarts=2": false,
		"not restarts=1 and restarts=5":             true,
		"not (restarts=1 or restarts=5)":            false,
		"not not restarts=5":                        true,
		"restarts in (1, 5)":                        true,
		"restarts notin (1,5)":                      false,
		"restarts > 4 AND NOT restarts > 5":         true,
	} {
		w, status := query.ParseWhere(wide(), source)
		require.Nil(t, status, source)
		require.Equal(t, want, w.Holds(rowOf(o)), source)
	}
}

func TestTimesAreCompared(t *testing.T) {
	o := randomObject(rand.New(rand.NewPCG(1, 1)))
	o.Columns[3] = api.Value{Kind: api.Date, Int: now} // 2027-01-15T08:00:00Z
	for source, want := range map[string]bool{
		"created > 2027-01-15":                  true,
		"created < 2027-01-15":                  false,
		"created = 2027-01-15T08:00:00Z":        true,
		"created = 1800000000000":               true,
		"created != 1800000000001":              true,
		"created < '2027-01-15T10:00:01+02:00'": true,
		"created <= 1w2d3h4m5s6ms":              true,
	} {
		w, status := query.ParseWhere(wide(), source)
		require.Nil(t, status, source)
		require.Equal(t, want, w.Holds(rowOf(o)), source)
	}
}

// The result of a condition does not change between the times that Flip returns.
func TestConditionsWithAgesAnnounceWhenTheyChange(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	for range 500 {
		c := randomCondition(r, 2)
		for !strings.Contains(c.text, "Created") {
			c = randomCondition(r, 2)
		}
		w, status := query.ParseWhere(wide(), c.text)
		require.Nil(t, status)
		require.True(t, w.Ages())
		row := rowOf(randomObject(r))
		holds, next := w.Holds(row), w.Flip(row)
		for range 200 {
			row.Now += pickOne[int64](r, 1, 2, 1000, 59_999, 60_000, 3_600_000)
			if next != 0 && row.Now >= next {
				// Evaluate the condition at each time from Flip that has passed.
				for end := row.Now; next != 0 && next <= end; {
					row.Now = next
					holds, next = w.Holds(row), w.Flip(row)
				}
				continue
			}
			require.Equal(t, holds, w.Holds(row), "%s at %d, next %d", c.text, row.Now, next)
		}
	}
}

func TestConditionErrorsHaveAPosition(t *testing.T) {
	for source, want := range map[string]string{
		"restarts >":           `condition "restarts >": at offset 10: expected a value after >, found the end`,
		"restrats > 3":         `at offset 0: "restrats": there is no such column or field; did you mean Restarts?`,
		"restarts > many":      `at offset 11: expected a number such as 3, 0.5 or 512Mi, found "many"`,
		"phase = a b":          `at offset 10: expected "and", "or" or the end, found "b"`,
		"phase = a && ready":   `at offset 10: expected "and", "or" or the end, found "&&"; write "and"`,
		"!ready":               `at offset 0: expected a column, a field, labels[...], "not" or "(", found "!"; write "not"`,
		"(ready or":            `at offset 9: expected a column`,
		"(ready":               `at offset 6: expected "and", "or" or ")", found the end`,
		"phase in a":           `at offset 9: expected "(" after in, found "a"`,
		"phase in (a b)":       `at offset 12: expected "," or ")" in the values of in, found "b"`,
		"phase in ()":          `at offset 10: expected a value, found ")"`,
		`phase = "a`:           `at offset 8: the quote is not closed`,
		"ready = yes":          `at offset 8: expected true or false, found "yes"`,
		"created > soon":       `at offset 10: expected an age such as 90s`,
		"created > 2026-13-01": `at offset 10: expected an age`,
		"created ~ 2026":       `at offset 10: a time has no text to search`,
		"took > 5":             `at offset 7: expected a duration such as 90s, 5m, 1h30m or 7d, found "5"`,
		"ready)":               `at offset 5: expected "and", "or" or the end, found ")"`,
		"annotations[a] = b":   `at offset 0: "annotations[a]": there is no column that shows this annotation`,
		"and":                  `at offset 0: "and": there is no such column`,
		"ready and":            `at offset 9: expected a column`,
	} {
		_, status := query.ParseWhere(wide(), source)
		require.NotNil(t, status, source)
		require.Equal(t, 400, status.Code)
		require.Contains(t, status.Message, want)
	}
}

// The npm package declares a type for the operators. The tests of both packages read the
// same file of operators.
func TestOperatorsAreThoseOfTheSharedFile(t *testing.T) {
	data, err := os.ReadFile("../../testdata/query/operators.json")
	require.NoError(t, err)
	var operators []string
	require.NoError(t, json.Unmarshal(data, &operators))
	require.ElementsMatch(t, append(query.CompareOperators(), "in", "notin", "exists"), operators)
	for _, operator := range operators {
		value := "(a)"
		switch operator {
		case "in", "notin":
		case "exists":
			value = ""
		default:
			value = "a"
		}
		_, status := query.ParseWhere(wide(), "phase "+operator+" "+value)
		require.Nil(t, status, operator)
	}
}

func TestConditionsAreLimited(t *testing.T) {
	repeat := func(n int) string { return strings.TrimSuffix(strings.Repeat("ready and ", n), " and ") }
	for source, limit := range map[string]string{
		repeat(query.MaxConditions):                                                                 "",
		repeat(query.MaxConditions + 1):                                                             query.LimitConditions,
		"phase in (" + strings.Repeat("a,", query.MaxConditions-1) + "a)":                           "",
		"phase in (" + strings.Repeat("a,", query.MaxConditions) + "a)":                             query.LimitConditions,
		strings.Repeat("(", query.MaxNesting) + "ready" + strings.Repeat(")", query.MaxNesting):     "",
		strings.Repeat("(", query.MaxNesting+1) + "ready" + strings.Repeat(")", query.MaxNesting+1): query.LimitNesting,
		strings.Repeat("not ", query.MaxNesting+1) + "ready":                                        query.LimitNesting,
		"phase = '" + strings.Repeat("a", query.MaxWhereBytes) + "'":                                query.LimitWhereBytes,
	} {
		_, status := query.ParseWhere(wide(), source)
		if limit == "" {
			require.Nil(t, status)
			continue
		}
		require.NotNil(t, status, limit)
		require.Equal(t, 413, status.Code)
		require.Equal(t, limit, status.Cause)
	}
}

func FuzzParseWhere(f *testing.F) {
	for _, seed := range []string{
		"", "ready", "not ready", "restarts>3 and (phase~Crash or not ready)", "phase in (a,'b c',\"d\\\"\")", "created<5m",
		"labels[app]!=web", "name exists", "cpu>=0.5", "(((", "a=b)", "'", "restarts=1Ki or created>2026-11-23T10:00:00Z",
	} {
		f.Add(seed)
	}
	r := rand.New(rand.NewPCG(6, 1))
	rows := []*query.Row{rowOf(randomObject(r)), rowOf(randomObject(r)), rowOf(randomObject(r))}
	f.Fuzz(func(t *testing.T, source string) {
		w, status := query.ParseWhere(wide(), source)
		if status != nil {
			if status.Code != 400 && status.Code != 413 || status.Message == "" {
				t.Fatalf("%q: %v", source, status)
			}
			return
		}
		negated, status := query.ParseWhere(wide(), "not ("+source+")")
		if strings.TrimSpace(source) == "" {
			return
		}
		for _, row := range rows {
			if next := w.Flip(row); next != 0 && next <= row.Now {
				t.Fatalf("%q changes at %d, before %d", source, next, row.Now)
			}
			if status == nil && w.Holds(row) == negated.Holds(row) {
				t.Fatalf("%q and its negation are both %t", source, w.Holds(row))
			}
		}
	})
}

// A column or field named owner or uid takes precedence over the owner or the UID of the
// object.
func TestOwnersAndUIDsAreValues(t *testing.T) {
	plain := objects.Pods()
	o := objects.Object("default/a uid=u-1 owner=o-1 app=web")
	for source, want := range map[string]bool{
		"uid = u-1": true, "UID=u-2": false, "owner in (o-1, o-2)": true, "owner exists": true, "not Owner exists": false, "owner != o-1": false,
	} {
		w, status := query.ParseWhere(&plain, source)
		require.Nil(t, status, source)
		require.Equal(t, want, w.Holds(rowOf(o)), source)
	}
	other := objects.Pods()
	other.Columns = append(other.Columns, api.Column{Name: "Owner", Kind: api.String})
	other.Fields = append(other.Fields, "uid")
	o = objects.ObjectOf(other, "default/a owner=o-1")
	o.Columns[len(o.Columns)-1], o.Fields[len(o.Fields)-1] = api.Value{Kind: api.String, Text: "alice"}, "own"
	w, status := query.ParseWhere(&other, "owner = alice and uid = own")
	require.Nil(t, status)
	require.True(t, w.Holds(rowOf(o)))
}

// The text of an operand is its value if that is a text or null, with and without an index
// of the cells.
func TestTextsOfOperandsAgreeWithTheirValues(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 1))
	s := wide()
	names := []string{"name", "namespace", "labels[app.kubernetes.io/name]", "owner", "uid"}
	names = append(names, s.Fields...)
	for _, c := range s.Columns {
		names = append(names, c.Name)
	}
	for range 500 {
		row := rowOf(randomObject(r))
		for _, name := range names {
			o, ok := query.Resolve(s, name)
			require.True(t, ok, name)
			for _, row.Cells = range []*wire.CellIndex{nil, indexOf(row.Envelope)} {
				value := o.Value(row)
				text, ok := o.Text(row)
				require.Equal(t, value.Kind == api.String || value.Kind == api.Null, ok, name)
				require.Equal(t, value.Text, text, name)
			}
		}
	}
}
