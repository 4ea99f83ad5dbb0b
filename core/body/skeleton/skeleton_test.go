package skeleton

import (
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
)

// Every built-in resource has a dictionary, and every file in the directory kinds is part
// of a dictionary. Resources that usually have many objects have their own files.
func TestDictionariesOfAllResources(t *testing.T) {
	used := append([]string{custom}, shared...)
	files, err := fs.ReadDir(kinds, "kinds")
	require.NoError(t, err)
	for _, s := range catalog.All() {
		dictionary := Dictionary(s.Resource, s.Kind)
		assert.Contains(t, string(dictionary), `"kind":"`+s.Kind+`"`)
		assert.Contains(t, string(dictionary), `"apiVersion":"`+s.Resource.APIVersion()+`"`)
		assert.Contains(t, string(dictionary), `"metadata":{"name":"`)
		assert.LessOrEqual(t, len(dictionary), 24<<10, s.Resource)
		assert.Equal(t, dictionary, Dictionary(s.Resource, s.Kind))
		for _, mark := range []string{"$", ":-1", "\n"} {
			assert.NotContains(t, string(dictionary), mark, s.Resource)
		}
		name := strings.TrimSuffix(s.Resource.Name+"."+s.Resource.Group, ".")
		if slices.ContainsFunc(files, func(f fs.DirEntry) bool { return f.Name() == name+".json" }) {
			used = append(used, name)
		}
	}
	for _, file := range files {
		assert.True(t, slices.Contains(used, strings.TrimSuffix(file.Name(), ".json")), file.Name())
	}
	assert.Len(t, files, len(used))
	for _, name := range []string{"pods", "nodes", "events", "configmaps", "secrets", "services", "replicasets.apps", "deployments.apps", "jobs.batch"} {
		assert.Contains(t, used, name)
	}
}

func TestDictionaryOfACustomResource(t *testing.T) {
	widgets := api.Resource{Group: "example.com", Version: "v1", Name: "widgets"}
	dictionary := string(Dictionary(widgets, "Widget"))
	assert.True(t, strings.HasPrefix(dictionary, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"`), dictionary[:80])
	assert.Contains(t, dictionary, `"status":{"conditions":[{"lastTransitionTime":""`)
}
