package objectjson_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/objectjson"
)

// FuzzScan compares Scan with encoding/json and the simple evaluator. Scan must
// accept the same documents, except for those without a name, and return the same
// values.
func FuzzScan(f *testing.F) {
	for _, c := range scanCases {
		f.Add([]byte(c.raw), uint8(0))
		f.Add([]byte(c.raw), uint8(8))
	}
	for _, name := range []string{"pod.json", "deployment.json", "configmap.json", "node.json"} {
		f.Add(fixture(f, name), uint8(0))
	}
	plain, secret := podSchema(), podSchema()
	secret.secret = true
	scanners := []*objectjson.Scanner{newScanner(f, plain), newScanner(f, secret)}
	f.Fuzz(func(t *testing.T, raw []byte, bits uint8) {
		which := bits >> 3 & 1
		checkScan(t, scanners[which], []*dumbSchema{plain, secret}[which], raw, optionsFromBits(int(bits&7)))
	})
}

// TestScanProperty scans random documents with random schemas. Names come from a
// small alphabet, so paths often match, and members often repeat and nest.
func TestScanProperty(t *testing.T) {
	accepted, filled := 0, 0
	for seed := range uint64(3000) {
		g := generator{rand.New(rand.NewPCG(seed, 1))}
		d := g.schema()
		s, err := objectjson.NewScanner(d.schema())
		require.NoError(t, err, "seed %d", seed)
		for range 5 {
			raw := g.document()
			opts := optionsFromBits(g.IntN(8))
			if !checkScan(t, s, d, raw, opts) {
				continue
			}
			accepted++
			o, _ := s.Scan(raw, opts)
			if slices.ContainsFunc(o.Columns, func(v api.Value) bool { return v.Kind != api.Null }) {
				filled++
			}
		}
	}
	require.Greater(t, accepted, 10000, "most documents have a name")
	require.Greater(t, filled, 500, "enough documents have columns")
}

// generator makes random schemas and documents.
type generator struct{ *rand.Rand }

var names = []string{"a", "b", "metadata", "name", "labels", "ownerReferences", "uid", "kind", "controller", "annotations", lastApplied, "resourceVersion", "managedFields", "data", "é"}

func (g generator) name() string {
	if g.IntN(2) == 0 {
		return names[g.IntN(2)]
	}
	return names[g.IntN(len(names))]
}

func (g generator) schema() *dumbSchema {
	d := &dumbSchema{secret: g.IntN(3) == 0}
	for range g.IntN(4) {
		field := []string{"a"}
		for range g.IntN(3) {
			field = append(field, names[g.IntN(4)])
		}
		d.fields = append(d.fields, field)
	}
	for i := range g.IntN(7) {
		c := dumbColumn{Column: api.Column{Name: "C" + strconv.Itoa(i), Kind: api.Bool + api.ValueKind(g.IntN(5))}}
		c.steps = []any{names[g.IntN(3)]}
		for range g.IntN(3) {
			c.steps = append(c.steps, []any{g.name(), g.IntN(2), each{}}[g.IntN(3)])
		}
		c.Path = g.render(c.steps)
		d.columns = append(d.columns, c)
	}
	return d
}

// render formats steps as a path, in random notations.
func (g generator) render(steps []any) string {
	var b strings.Builder
	for _, s := range steps {
		switch s := s.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", s)
		case each:
			b.WriteString("[*]")
		case string:
			switch g.IntN(3) {
			case 0:
				b.WriteString("['" + s + "']")
			case 1:
				b.WriteString(`["` + s + `"]`)
			default:
				b.WriteString("." + strings.ReplaceAll(s, ".", `\.`))
			}
		}
	}
	return b.String()
}

func (g generator) document() []byte {
	var b strings.Builder
	b.WriteString(g.blank() + "{")
	for range g.IntN(4) {
		b.WriteString(g.member(g.name(), 3) + ",")
	}
	meta := g.member("name", 0)
	if g.IntN(10) > 0 {
		meta = `"name":"` + g.name()[:1] + `x"`
	}
	for range g.IntN(6) {
		meta += "," + g.member(g.name(), 2)
	}
	b.WriteString(`"metadata":{` + strings.ReplaceAll(meta, `"resourceVersion":`, `"resourceVersion":"5","v":`) + "}" + g.blank())
	for range 1 + g.IntN(4) {
		b.WriteString("," + g.member(names[g.IntN(2)], 4))
	}
	b.WriteString("}" + g.blank())
	return []byte(b.String())
}

func (g generator) blank() string { return []string{"", "", "", " ", "\n\t"}[g.IntN(5)] }

// member returns a member with a random value. Some names contain escapes.
func (g generator) member(name string, depth int) string {
	quoted := strconv.Quote(name)
	if g.IntN(8) == 0 {
		quoted = `"`
		for _, r := range name {
			quoted += fmt.Sprintf(`\u%04x`, r)
		}
		quoted += `"`
	}
	return g.blank() + quoted + g.blank() + ":" + g.value(depth)
}

func (g generator) value(depth int) string {
	scalars := []string{"1", "2", "-3", "0.5", "1e2", "9223372036854775807", "true", "false", "null", `""`, `"x"`,
		`"\u0041\ud83d\ude00"`, `"2026-01-02T03:04:05Z"`, `"2026-01-02T03:04:05.5-01:00"`, "{}", "[ ]"}
	parts := []string{}
	switch g.IntN(4) {
	case 0, 1:
		if depth == 0 {
			break
		}
		for range g.IntN(5) {
			parts = append(parts, g.member(g.name(), depth-1))
		}
		return g.blank() + "{" + strings.Join(parts, ",") + "}" + g.blank()
	case 2:
		if depth == 0 {
			break
		}
		for range g.IntN(4) {
			parts = append(parts, g.value(depth-1))
		}
		return g.blank() + "[" + strings.Join(parts, ",") + g.blank() + "]" + g.blank()
	}
	return g.blank() + scalars[g.IntN(len(scalars))] + g.blank()
}

// The generator writes only valid JSON.
func TestGeneratorWritesJSON(t *testing.T) {
	for seed := range uint64(200) {
		raw := generator{rand.New(rand.NewPCG(seed, 2))}.document()
		require.True(t, json.Valid(raw), "%s", raw)
	}
}
