package source

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/watchglass/watchglass/core/api"
)

func TestCatalogIsConsistent(t *testing.T) {
	seen := map[api.Resource]bool{}
	for _, s := range Catalog() {
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

func TestCatalogIsAFreshCopy(t *testing.T) {
	Catalog()[0].Fields[0] = "changed"
	assert.Equal(t, "metadata.name", Catalog()[0].Fields[0])
}

func TestLookupNamesWhatThereIs(t *testing.T) {
	_, err := Lookup(Catalog(), api.Resource{Version: "v1", Name: "pod"})
	assert.ErrorIs(t, err, api.NotFound(""))
	assert.ErrorContains(t, err, "v1/pod is not served")
	assert.ErrorContains(t, err, "v1/pods")
}

func TestShortNamesAreOfTheCatalogAndUnique(t *testing.T) {
	seen := map[string]api.Resource{}
	for resource := range known {
		schema, err := Lookup(Catalog(), resource)
		assert.NoError(t, err)
		for _, short := range Describe(schema).ShortNames {
			assert.Zero(t, seen[short], short)
			seen[short] = resource
		}
	}
	assert.Equal(t, api.Resource{Version: "v1", Name: "pods"}, seen["po"])
}

func TestDescribe(t *testing.T) {
	gadgets := api.Schema{Resource: api.Resource{Group: "example.com", Version: "v1", Name: "gadgets"}, Kind: "Gadget"}
	assert.Equal(t, Description{Resource: gadgets.Resource, Kind: "Gadget", Singular: "gadget"}, Describe(&gadgets))
}
