package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/core/objectjson"
)

// While the data of Secrets is withheld, readers receive only the number of its entries,
// regardless of how the JSON is written (rule B25).
func TestWithheldSecretsShowOnlyTheNumberOfEntries(t *testing.T) {
	schema := catalog.Find(api.Resource{Version: "v1", Name: "secrets"})
	require.NotNil(t, schema)
	scanner, err := catalog.NewScanner(schema)
	require.NoError(t, err)
	const hidden = "SENTINEL"
	for members, count := range map[string]int64{
		`"data":{"SENTINEL":"SENTINEL","b":"SENTINEL"}`:                        2,
		`"data":{"a":"SENTINEL"},"data":{"SENTINEL":"b","c":"d","e":"f"}`:      3,
		`"d\u0061ta":{"SENTINEL":"a"}`:                                         1,
		`"data":{"a":{"SENTINEL":["SENTINEL"]}},"stringData":{"SENTINEL":"a"}`: 1,
		`"string\u0044ata":{"SENTINEL":"SENTINEL"}`:                            0,
		`"data":"SENTINEL"`: 0,
		`"data":["SENTINEL","SENTINEL"],"stringData":"SENTINEL"`:                          2,
		`"data":123456789,"stringData":[{"SENTINEL":null}]`:                               0,
		`"data":null,"data":{"SENTINEL":"SENTINEL"},"data":null`:                          0,
		`"metadata":{"name":"m"},"data":{"SENTINEL":"SENTINEL"},"metadata":{"name":"n"} `: 1,
	} {
		annotation := `"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"SENTINEL"}`
		raw := fmt.Sprintf(`{"kind":"Secret","metadata":{"name":"n","namespace":"a",%s},"type":"Opaque",%s}`, annotation, members)
		if strings.Contains(members, `"metadata"`) {
			raw = fmt.Sprintf(`{"kind":"Secret",%s,"type":"Opaque"}`, strings.ReplaceAll(members, `"name":"n"`, `"name":"n","namespace":"a",`+annotation))
		}
		o, err := scanner.Scan([]byte(raw), objectjson.Options{})
		require.NoError(t, err, raw)
		assert.NotContains(t, string(o.Body.Data), hidden, raw)
		assert.NotContains(t, string(o.Body.Data), "123456789", raw)
		assert.NotContains(t, fmt.Sprint(o.Key, o.UID, o.Labels, o.Fields, o.Columns), hidden, raw)
		assert.Equal(t, api.Value{Kind: api.Integer, Int: count}, o.Columns[1], raw)
	}
}
