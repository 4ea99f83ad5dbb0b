package kubeapi

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/core/objectjson"
	"github.com/watchglass/watchglass/core/wire"
)

// cellsOf returns the cells of an object in a table at the given time, with their JSON types.
func cellsOf(t *testing.T, resource api.Resource, object string, now int64) (all []any) {
	t.Helper()
	schema := catalog.Find(resource)
	require.NotNil(t, schema)
	scanner, err := catalog.NewScanner(schema)
	require.NoError(t, err)
	o, err := scanner.Scan([]byte(object), objectjson.Options{})
	require.NoError(t, err)
	envelope := wire.Envelope(wire.AppendEnvelope(nil, &o))
	enc := encoder{schema: schema, now: now}
	for i := range schema.Columns {
		var cell any
		require.NoError(t, json.Unmarshal(enc.appendCell(nil, &schema.Columns[i], envelope.Column(i)), &cell))
		all = append(all, cell)
	}
	return all
}

// The cells of a table have the JSON types of kube-apiserver's: the sums of a
// ResourcePoolStatusRequest are texts, and the number of its pools is a number.
func TestTableCellsHaveTheTypesOfKubernetes(t *testing.T) {
	requests := api.Resource{Group: "resource.k8s.io", Version: "v1alpha3", Name: "resourcepoolstatusrequests"}
	const now = 1767323045000 + 5*60_000
	const head = `{"kind":"ResourcePoolStatusRequest","metadata":{"name":"a"},"spec":{"driver":"example.com"}`
	assert.Equal(t, []any{"example.com", "-", "-", "-", "-", "-", 0.0, "Pending", "<none>"}, cellsOf(t, requests, head+`}`, now))
	assert.Equal(t, []any{"example.com", "9", "0", "0", "0", "0", 2.0, "Complete (1/2 pools)", "5m"}, cellsOf(t, requests, head+`,"status":{"poolCount":2,`+
		`"pools":[{"totalDevices":9}],"conditions":[{"type":"Complete","status":"True","lastTransitionTime":"2026-01-02T03:04:05Z"}]}}`, now))
}

// A text with a time is shown with the age of the time. The default of the column does not
// replace an empty text that has a time.
func TestTableCellsWithTimes(t *testing.T) {
	evictions := api.Resource{Group: "lifecycle.k8s.io", Version: "v1alpha1", Name: "evictions"}
	const started = 1767323045000 // 2026-01-02T03:04:05Z
	eviction := func(expected string) string {
		return `{"kind":"Eviction","metadata":{"name":"a","namespace":"b","creationTimestamp":"2026-01-02T03:04:05Z"},"spec":{"target":{"pod":{"name":"p"}}},` +
			`"status":{"targetResponders":[{"name":"x","state":"Active"}],"responders":[{"name":"x","startTime":"2026-01-02T03:04:05Z",` +
			`"heartbeatTime":"2026-01-02T03:08:05Z"` + expected + `}]}}`
	}
	for expected, want := range map[string]string{
		``: "<unknown>",
		`,"expectedCompletionTime":"2026-01-02T03:19:05Z"`: "in 10m",
		`,"expectedCompletionTime":"2026-01-02T03:09:05Z"`: "0s ago",
		`,"expectedCompletionTime":"2026-01-02T03:05:05Z"`: "4m ago",
	} {
		assert.Equal(t, []any{"p", "Pod", "Pending", "x (1/1)", "Started (5m ago)", want, "<none>", "5m", "60s ago", "<unset>"},
			cellsOf(t, evictions, eviction(expected), started+5*60_000), expected)
	}
}
