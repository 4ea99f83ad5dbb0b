package catalog

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
)

// everySchema returns all schemas of the table, including those that All omits.
func everySchema() (all []api.Schema) {
	each(table, func(_ string, read func() api.Schema) bool {
		all = append(all, read())
		return true
	})
	return all
}

func TestCatalogIsConsistent(t *testing.T) {
	seen := map[api.Resource]bool{}
	known := everySchema()
	assert.Equal(t, All(), known[:len(known)-23], "the stable resources come first")
	for _, s := range known {
		t.Run(s.Resource.String(), func(t *testing.T) {
			assert.False(t, seen[s.Resource], "listed twice")
			seen[s.Resource] = true
			assert.NotEmpty(t, s.Kind)
			assert.Equal(t, 0, s.Field("metadata.name"))
			assert.Equal(t, s.Namespaced, s.Field("metadata.namespace") == 1)
			for i, c := range s.Columns {
				assert.Equal(t, i, s.Column(c.Name), "column %s twice", c.Name)
				assert.True(t, strings.HasPrefix(c.Path, ".") || c.Printer != "" && c.Path == "", c.Path)
				assert.NotEqual(t, api.Null, c.Kind, c.Name)
			}
			_, err := NewScanner(&s)
			assert.NoError(t, err)
		})
	}
}

// Each column names a valid type. A column with a misspelled type would be treated as a
// string.
func TestColumnsHaveTypes(t *testing.T) {
	columns := 0
	for line := range strings.Lines(table) {
		if parts := strings.Split(strings.TrimSpace(line), "|"); len(parts) > 1 {
			columns++
			assert.Contains(t, []string{"string", "integer", "number", "boolean", "date", "duration"}, parts[1], line)
		}
	}
	assert.Greater(t, columns, 100)
}

func TestEveryPrinterIsUsed(t *testing.T) {
	used := map[string]bool{}
	for _, s := range append(everySchema(), Metrics()...) {
		for _, c := range s.Columns {
			used[c.Printer] = true
		}
	}
	for _, p := range printers {
		assert.True(t, used[p.name], p.name)
	}
	assert.Len(t, used, len(printers)+1)
}

func TestNameColumnReplacesTheName(t *testing.T) {
	for resource, want := range map[string]int{"v1/pods": -1, "v1/events": 9, "storage.k8s.io/v1/storageclasses": 0} {
		r, err := api.ParseResource(resource)
		require.NoError(t, err)
		assert.Equal(t, want, NameColumn(Find(r)), resource)
	}
	assert.Equal(t, -1, NameColumn(&api.Schema{Columns: []api.Column{{Name: "Name", Path: ".spec.name"}}}), "of a custom resource")
}

func TestCatalogIsAFreshCopy(t *testing.T) {
	All()[0].Fields[0] = "changed"
	assert.Equal(t, "metadata.name", All()[0].Fields[0])
}

func TestUnknownResourceIsAShort404(t *testing.T) {
	for asked, want := range map[string]string{
		"v1/pod":                      "; did you mean v1/pods?",
		"v1/Pods":                     "; did you mean v1/pods?",
		"apps/v2/deployments":         "; did you mean apps/v1/deployments?",
		"v1/networkpolicy":            "; did you mean networking.k8s.io/v1/networkpolicies?",
		"v1/po":                       "",
		"example.com/v1/completelyso": "",
	} {
		resource, err := api.ParseResource(asked)
		require.NoError(t, err)
		_, err = Lookup(All(), resource)
		assert.ErrorIs(t, err, api.NotFound(""))
		assert.EqualError(t, err, "404 NotFound: resource "+asked+" is not served here"+want)
	}
	var many []api.Resource
	for i := range 100 {
		many = append(many, api.Resource{Group: strconv.Itoa(i), Version: "v1", Name: "pods"})
	}
	status := NotServed(api.Resource{Version: "v1", Name: "pod"}, "by it", many)
	assert.Equal(t, "resource v1/pod is not served by it; did you mean 0/v1/pods, 1/v1/pods, 2/v1/pods?", status.Message)
}
