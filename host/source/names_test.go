package source

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
)

func TestShortNamesAreOfTheCatalogAndUnique(t *testing.T) {
	seen := map[string]api.Resource{}
	for resource := range known {
		schema, err := catalog.Lookup(catalog.All(), resource)
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
