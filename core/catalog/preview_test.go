package catalog

import (
	"strings"
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
		{
			[]string{"v1", "v1beta1"}, "certificates.k8s.io", "podcertificaterequests",
			`{"kind":"PodCertificateRequest","metadata":{"name":"a","namespace":"b"},"spec":{"signerName":"example.com/signer","podName":"p",` +
				`"serviceAccountName":"s","nodeName":"n","unverifiedUserAnnotations":{"example.com/b":"2","example.com/a":"1"}}}`,
			[]string{"PodName", "ServiceAccountName", "NodeName", "SignerName", "State", "UnverifiedUserAnnotations"},
			[]string{"p", "s", "n", "example.com/signer", "", "example.com/a=1,example.com/b=2"},
		},
		{
			[]string{"v1", "v1beta1"}, "storagemigration.k8s.io", "storageversionmigrations",
			`{"kind":"StorageVersionMigration","metadata":{"name":"a"},"spec":{"resource":{"group":"apps","resource":"deployments"}}}`,
			[]string{"Resource", "Status"}, []string{"deployments.apps", ""},
		},
		{
			[]string{"v1beta1", "v1alpha3"}, "scheduling.k8s.io", "podgroups",
			`{"kind":"PodGroup","metadata":{"name":"a","namespace":"b",` + age + `},"spec":{"workloadRef":{"workloadName":"w","templateName":"t"},"schedulingPolicy":{"basic":{}}}}`,
			[]string{"Policy", "Workload", "Status", "Age"}, []string{"Basic", "w", "", milliseconds},
		},
		{
			[]string{"v1alpha2"}, "scheduling.k8s.io", "podgroups",
			`{"kind":"PodGroup","metadata":{"name":"a","namespace":"b",` + age + `},"spec":{"schedulingPolicy":{"gang":{"minCount":2}},` +
				`"podGroupTemplateRef":{"workload":{"workloadName":"w","podGroupTemplateName":"t"}}}}`,
			[]string{"Policy", "Workload", "Status", "Age"}, []string{"Gang", "w", "", milliseconds},
		},
		{
			[]string{"v1alpha3"}, "scheduling.k8s.io", "compositepodgroups",
			`{"kind":"CompositePodGroup","metadata":{"name":"a","namespace":"b",` + age + `},"spec":{"workloadRef":{"workloadName":"w","templateName":"t"},"schedulingPolicy":{"gang":{"minGroupCount":2}}}}`,
			[]string{"Policy", "Workload", "Age"}, []string{"Gang", "w", milliseconds},
		},
		{
			[]string{"v1alpha1"}, "internal.apiserver.k8s.io", "storageversions",
			`{"kind":"StorageVersion","metadata":{"name":"apps.deployments",` + age + `},"spec":{},"status":{"commonEncodingVersion":"apps/v1",` +
				`"storageVersions":[{"apiServerID":"a","encodingVersion":"apps/v1"}]}}`,
			[]string{"CommonEncodingVersion", "StorageVersions", "Age"}, []string{"apps/v1", "a=apps/v1", milliseconds},
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
	for _, c := range []struct{ resource, column, want string }{
		{"certificates.k8s.io/v1/clustertrustbundles", "SignerName", "<none>"},
		{"resource.k8s.io/v1/devicetaintrules", "Key", ""},
		{"certificates.k8s.io/v1beta1/podcertificaterequests", "State", "Pending"},
		{"certificates.k8s.io/v1beta1/podcertificaterequests", "UnverifiedUserAnnotations", "<none>"},
		{"storagemigration.k8s.io/v1beta1/storageversionmigrations", "Status", "Unknown"},
		{"scheduling.k8s.io/v1alpha2/podgroups", "Workload", "<none>"},
		{"scheduling.k8s.io/v1alpha2/podgroups", "Status", "Pending"},
		{"internal.apiserver.k8s.io/v1alpha1/storageversions", "CommonEncodingVersion", "<unset>"},
		{"internal.apiserver.k8s.io/v1alpha1/storageversions", "StorageVersions", "<unset>"},
	} {
		r, err := api.ParseResource(c.resource)
		require.NoError(t, err)
		schema := Find(r)
		assert.Equal(t, c.want, schema.Columns[schema.Column(c.column)].Default, c)
	}
}

// status returns the cell that a printer computes for the conditions of an object. Each
// condition is given as type, status and reason. A missing cell is "-".
func status(t *testing.T, printer, paths string, conditions ...string) string {
	t.Helper()
	var all []string
	for _, c := range conditions {
		parts := strings.Split(c, " ")
		all = append(all, `{"type":"`+parts[0]+`","status":"`+parts[1]+`","reason":"`+parts[2]+`"}`)
	}
	members := name + `,"status":{"conditions":[` + strings.Join(all, ",") + `]}`
	return printed(t, members, api.Column{Name: "C", Printer: printer, Path: paths})[0]
}

func TestStatesOfPreviews(t *testing.T) {
	const conditions = ".status.conditions[*]"
	for _, c := range []struct {
		printer, paths string
		conditions     []string
		want           string
	}{
		{"requestState", conditions, nil, "-"},
		{"requestState", conditions, []string{"Issued True x"}, "Issued"},
		{"requestState", conditions, []string{"Denied True x"}, "Denied"},
		{"requestState", conditions, []string{"Failed True x"}, "Failed"},
		{"requestState", conditions, []string{"Succeeded True x"}, "-"},

		{"migration", conditions, nil, "-"},
		{"migration", conditions, []string{"Running True x"}, "Running"},
		{"migration", conditions, []string{"Running True x", "Succeeded True x"}, "Succeeded"},
		{"migration", conditions, []string{"Failed True x", "Running True x"}, "Running"}, // the last true condition counts, even after a final one
		{"migration", conditions, []string{"Succeeded True x", "Running False x"}, "Succeeded"},
		{"migration", conditions, []string{"Running False x", "Failed Unknown x"}, "-"},
		{"migration", conditions, []string{"Issued True x"}, "-"},

		{"groupStatus", "", nil, "-"},
		{"groupStatus", "", []string{"Other True x"}, "-"},
		{"groupStatus", "", []string{"PodGroupScheduled True x"}, "Scheduled"},
		{"groupStatus", "", []string{"PodGroupScheduled False x"}, "Unschedulable"},
		{"groupStatus", "", []string{"PodGroupScheduled Unknown x"}, "Unschedulable"},
		{"groupStatus", "", []string{"PodGroupInitiallyScheduled True x"}, "Scheduled"},
		{"groupStatus", "", []string{"PodGroupInitiallyScheduled False x"}, "Unschedulable"},
		{"groupStatus", "", []string{"DisruptionTarget True PreemptionByScheduler", "PodGroupScheduled True x"}, "PreemptionByScheduler"},
		{"groupStatus", "", []string{"DisruptionTarget False Stopped"}, "Stopped"}, // regardless of the status of the condition
	} {
		assert.Equal(t, c.want, status(t, c.printer, c.paths, c.conditions...), "%s of %v", c.printer, c.conditions)
	}
}

func TestValuesOfPreviews(t *testing.T) {
	const server = `{"apiServerID":"a","encodingVersion":"v1"}`
	for _, c := range []struct{ printer, paths, members, want string }{
		{"groupResource", ".v.a .v.b", `"a":"deployments","b":"apps"`, "deployments.apps"},
		{"groupResource", ".v.a .v.b", `"a":"pods","b":""`, "pods"},
		{"groupResource", ".v.a .v.b", `"a":"pods"`, "pods"},
		{"versions", ".v.a[*]", ``, "-"},
		{"versions", ".v.a[*]", `"a":[{"apiServerID":"a","encodingVersion":"apps/v1"},{"encodingVersion":"v2"}]`, "a=apps/v1,=v2"},
		{"versions", ".v.a[*]", `"a":[` + strings.Repeat(server+",", 2) + server + `]`, "a=v1,a=v1,a=v1"},
		{"versions", ".v.a[*]", `"a":[` + strings.Repeat(server+",", 4) + server + `]`, "a=v1,a=v1,a=v1 + 2 more..."},
	} {
		assert.Equal(t, c.want, one(t, c.printer, c.paths, c.members), "%s(%s) of %s", c.printer, c.paths, c.members)
	}
	for policy, want := range map[string]string{`{"gang":{"minCount":1}}`: "Gang", `{"basic":{}}`: "Basic", `{"gang":null}`: "Basic", `{}`: "Basic"} {
		assert.Equal(t, []string{want}, printed(t, name+`,"spec":{"schedulingPolicy":`+policy+`}`, api.Column{Name: "C", Printer: "groupPolicy"}), policy)
	}
}
