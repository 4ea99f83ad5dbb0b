package catalog

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/watchglass/watchglass/core/api"
)

func TestCatalogIsConsistent(t *testing.T) {
	seen := map[api.Resource]bool{}
	for _, s := range All() {
		t.Run(s.Resource.String(), func(t *testing.T) {
			assert.False(t, seen[s.Resource], "listed twice")
			seen[s.Resource] = true
			assert.NotEmpty(t, s.Kind)
			assert.Equal(t, 0, s.Field("metadata.name"))
			assert.Equal(t, s.Namespaced, s.Field("metadata.namespace") == 1)
			assert.True(t, s.Column("age") >= 0 || s.Column("last seen") >= 0, "no column to sort by time")
			for i, c := range s.Columns {
				assert.Equal(t, i, s.Column(c.Name), "column %s twice", c.Name)
				assert.True(t, strings.HasPrefix(c.Path, "."), c.Path)
				assert.NotEqual(t, api.Null, c.Kind, c.Name)
			}
		})
	}
}

// A type that is misspelt would be that of a string.
func TestColumnsHaveTypes(t *testing.T) {
	columns := 0
	for line := range strings.Lines(table) {
		if parts := strings.Split(strings.TrimSpace(line), "|"); len(parts) > 1 {
			columns++
			assert.Contains(t, []string{"string", "integer", "number", "boolean", "date"}, parts[1], line)
		}
	}
	assert.Greater(t, columns, 100)
}

func TestCatalogIsAFreshCopy(t *testing.T) {
	All()[0].Fields[0] = "changed"
	assert.Equal(t, "metadata.name", All()[0].Fields[0])
}

func TestLookupNamesWhatThereIs(t *testing.T) {
	_, err := Lookup(All(), api.Resource{Version: "v1", Name: "pod"})
	assert.ErrorIs(t, err, api.NotFound(""))
	assert.ErrorContains(t, err, "v1/pod is not served")
	assert.ErrorContains(t, err, "v1/pods")
}
