package catalog

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/objectjson"
)

func TestPreviewsHaveTheColumnsOfKubectl(t *testing.T) {
	const age = `"creationTimestamp":"2026-01-02T03:04:05Z"`
	const milliseconds = "1767323045000"
	for _, c := range []struct {
		versions []string
		group    string
		name     string
		object   string
		columns  []string
		cells    []string
	}{
		{
			[]string{"v1", "v1beta1", "v1alpha1"}, "certificates.k8s.io", "clustertrustbundles",
			`{"kind":"ClusterTrustBundle","metadata":{"name":"a"},"spec":{"signerName":"example.com/signer","trustBundle":"x"}}`,
			[]string{"SignerName"}, []string{"example.com/signer"},
		},
		{
			[]string{"v1beta1", "v1alpha2"}, "coordination.k8s.io", "leasecandidates",
			`{"kind":"LeaseCandidate","metadata":{"name":"a","namespace":"b",` + age + `},"spec":{"leaseName":"l","binaryVersion":"1.37","emulationVersion":"1.36"}}`,
			[]string{"LeaseName", "BinaryVersion", "EmulationVersion", "Age"}, []string{"l", "1.37", "1.36", milliseconds},
		},
		{
			[]string{"v1beta1", "v1alpha3", "v1alpha2"}, "scheduling.k8s.io", "workloads",
			`{"kind":"Workload","metadata":{"name":"a","namespace":"b",` + age + `}}`,
			[]string{"Age"}, []string{milliseconds},
		},
		{
			[]string{"v1", "v1beta2", "v1alpha3"}, "resource.k8s.io", "devicetaintrules",
			`{"kind":"DeviceTaintRule","metadata":{"name":"a",` + age + `},"spec":{"taint":{"key":"k","value":"v","effect":"NoSchedule","timeAdded":"2026-01-02T03:04:05Z"}}}`,
			[]string{"Key", "Value", "Effect", "TimeAdded", "Age"}, []string{"k", "v", "NoSchedule", milliseconds, milliseconds},
		},
	} {
		for _, version := range c.versions {
			resource := api.Resource{Group: c.group, Version: version, Name: c.name}
			schema := Find(resource)
			require.NotNil(t, schema, "%v", resource)
			_, err := Lookup(All(), resource)
			assert.ErrorIs(t, err, api.NotFound(""), "clusters may not serve %v", resource)
			scanner, err := NewScanner(schema)
			require.NoError(t, err)
			o, err := scanner.Scan([]byte(c.object), objectjson.Options{})
			require.NoError(t, err)
			var names, cells []string
			for i := range o.Columns {
				names, cells = append(names, schema.Columns[i].Name), append(cells, o.Columns[i].String())
			}
			assert.Equal(t, c.columns, names, "%v", resource)
			assert.Equal(t, c.cells, cells, "%v", resource)
			assert.Equal(t, schema.Namespaced, o.Key.Namespace() != "")
		}
	}
}

func TestPreviewWithoutValues(t *testing.T) {
	for _, c := range []struct{ resource, want string }{
		{"certificates.k8s.io/v1/clustertrustbundles", "<none>"},
		{"resource.k8s.io/v1/devicetaintrules", ""},
	} {
		r, err := api.ParseResource(c.resource)
		require.NoError(t, err)
		assert.Equal(t, c.want, Find(r).Columns[0].Default)
	}
}
