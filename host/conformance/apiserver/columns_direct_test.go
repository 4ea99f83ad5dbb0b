package apiserver

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/host/internal/cells"
)

// directRows contains the rows of a view in direct mode.
type directRows struct {
	Names []string // names of the columns
	Rows  []struct {
		Namespace, Name string
		Columns         []any
		Times           map[string]int64
	}
}

func (d *direct) rows(resource string) (r directRows) {
	d.Helper()
	_, err := fmt.Fprintln(d.in, "rows "+resource)
	require.NoError(d, err)
	require.True(d, d.out.Scan(), "the program ended while it read %s", resource)
	require.NoError(d, json.Unmarshal(d.out.Bytes(), &r))
	return r
}

// compareDirect compares the cells of direct mode with the cells that kubectl prints, for
// every built-in resource.
func compareDirect(t *testing.T) {
	d := startDirect(t, admin)
	for _, format := range []string{"", "wide"} {
		t.Run("format "+format, func(t *testing.T) {
			began := time.Now()
			want := sections(get(t, "", names(catalog.All()), format))
			require.Len(t, want, len(catalog.All()))
			var compared int
			for i, schema := range catalog.All() {
				rows := d.rows(schema.Resource.String())
				got := rows.section(t, &schema, format == "wide")
				withoutKind(&want[i])
				if !assert.Equal(t, want[i].header, got.header) || !assert.Len(t, got.rows, len(want[i].rows), "%v", want[i].rows) {
					continue
				}
				for j, row := range want[i].rows {
					for k, cell := range row {
						compared++
						assert.True(t, sameCell(cell, got.rows[j][k], time.Since(began)+time.Second),
							"%s, %s of %v: kube-apiserver has %q, and we have %q", schema.Resource, got.header[k], row, cell, got.rows[j][k])
					}
				}
			}
			t.Logf("%d cells in %d tables", compared, len(want))
		})
	}
}

// withoutKind removes the kind before each name, such as "pod/", which kubectl prints for
// several resources, and sorts the rows.
func withoutKind(s *section) {
	at := slices.Index(s.header, "NAME")
	if at < 0 {
		return
	}
	for _, row := range s.rows {
		_, row[at], _ = strings.Cut(row[at], "/")
	}
	slices.SortFunc(s.rows, slices.Compare)
}

// section returns the rows in the layout that kubectl uses if the command names several
// resources.
func (r *directRows) section(t *testing.T, schema *api.Schema, wide bool) section {
	t.Helper()
	s := section{header: []string{"NAMESPACE"}}
	own := catalog.NameColumn(schema) >= 0
	if !own {
		s.header = append(s.header, "NAME")
	}
	shown := func(i int) bool { return wide || schema.Columns[i].Priority == 0 }
	require.Len(t, r.Names, len(schema.WithTimes().Columns), "%s: hidden columns have the times", schema.Resource)
	for i, c := range schema.Columns {
		assert.Equal(t, c.Name, r.Names[i])
		if shown(i) {
			s.header = append(s.header, strings.ToUpper(c.Name))
		}
	}
	now := time.Now().UnixMilli()
	for _, o := range r.Rows {
		row := []string{o.Namespace}
		if !own {
			row = append(row, o.Name)
		}
		for i := range schema.Columns {
			if c := &schema.Columns[i]; shown(i) {
				value := valueOf(c, o.Columns[i])
				value.Time = o.Times[fmt.Sprint(i)]
				row = append(row, strings.TrimSpace(cells.Text(c, value, now)))
			}
		}
		s.rows = append(s.rows, row)
	}
	slices.SortFunc(s.rows, slices.Compare)
	return s
}

// longest is the maximum number that valueOf treats as a duration. A larger number is a
// time, such as the start of a running job.
const longest = 20 * 365 * 24 * time.Hour

// valueOf converts a cell that direct.mjs has printed as JSON.
func valueOf(c *api.Column, cell any) api.Value {
	switch cell := cell.(type) {
	case string:
		return api.Value{Kind: api.String, Text: cell}
	case bool:
		v := api.Value{Kind: api.Bool}
		if cell {
			v.Int = 1
		}
		return v
	case float64:
		switch {
		case c.Kind == api.Number:
			return api.Value{Kind: api.Number, Float: cell}
		case c.Kind == api.Duration && cell > float64(longest.Milliseconds()):
			return api.Value{Kind: api.Date, Int: int64(cell)}
		}
		return api.Value{Kind: c.Kind, Int: int64(cell)}
	}
	return api.Value{}
}
