package apiserver

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/catalog"
)

// otherwise lists the catalog columns that share a name with a server column but
// show something else. The server combines values there that no path can select. All
// other columns with the same name show the same.
var otherwise = map[string]string{
	"apps/v1/deployments Ready":                             "ready/desired",
	"apps/v1/statefulsets Ready":                            "ready/desired",
	"batch/v1/jobs Completions":                             "succeeded/completions",
	"v1/events Object":                                      "kind/name",
	"v1/persistentvolumes Access Modes":                     "abbreviated",
	"v1/persistentvolumes Claim":                            "namespace/name",
	"v1/persistentvolumeclaims Access Modes":                "abbreviated, and only of what is bound",
	"autoscaling/v2/horizontalpodautoscalers Reference":     "kind/name",
	"rbac.authorization.k8s.io/v1/rolebindings Role":        "kind/name",
	"rbac.authorization.k8s.io/v1/clusterrolebindings Role": "kind/name",
}

// missing are the server's words for a missing value.
var missing = []string{"", "<none>", "<unset>", "<unknown>", "N/A", "*", "0", "false"}

func shown(cell any) string {
	text := strings.ToLower(fmt.Sprint(cell))
	if cell == nil {
		return ""
	}
	for _, word := range missing {
		if text == strings.ToLower(word) {
			return ""
		}
	}
	return text
}

// cells returns the first row of a table, by column name.
func cells(t *testing.T, a answer) map[string]any {
	t.Helper()
	require.Len(t, a.documents, 1)
	rows := a.documents[0]["rows"].([]any)
	require.NotEmpty(t, rows)
	row := rows[0].(map[string]any)["cells"].([]any)
	byName := map[string]any{}
	for i, c := range a.documents[0]["columnDefinitions"].([]any) {
		byName[c.(map[string]any)["name"].(string)] = row[i]
	}
	return byName
}

func TestCatalogColumnsMatchTheServer(t *testing.T) {
	fill(t)
	p := newTwins(t)
	compared := 0
	for _, s := range catalog.All() {
		namespace := ""
		if s.Namespaced {
			namespace = "all"
		}
		path := collectionPath(s.Resource, namespace)
		theirs := cells(t, p.ask(shared.http, shared.config(admin).Host, path, asTable))
		ours := cells(t, p.ask(p.ours.Client(), p.ours.URL, path, asTable))
		for name, cell := range ours {
			their, known := theirs[name]
			if !known || otherwise[s.Resource.String()+" "+name] != "" {
				continue
			}
			compared++
			assert.Equal(t, shown(their), shown(cell), "%s %s", s.Resource, name)
		}
	}
	t.Logf("%d cells", compared)
	assert.Greater(t, compared, 2*len(catalog.All()), "name and age at the least")
}
