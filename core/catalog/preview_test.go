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
		{
			[]string{"v1alpha3"}, "resource.k8s.io", "resourcepoolstatusrequests",
			`{"kind":"ResourcePoolStatusRequest","metadata":{"name":"a",` + age + `},"spec":{"driver":"example.com"},"status":{"poolCount":1,` +
				`"pools":[{"totalDevices":9,"availableDevices":4,"allocatedDevices":3,"unavailableDevices":2}],` +
				`"conditions":[{"type":"Complete","status":"True","lastTransitionTime":"2026-01-02T03:04:05Z"}]}}`,
			[]string{"Driver", "Total", "Available", "Allocated", "Unavailable", "Errors", "Pools", "Status", "Completed"},
			[]string{"example.com", "9", "4", "3", "2", "0", "1", "Complete", milliseconds},
		},
		{
			[]string{"v1alpha1"}, "lifecycle.k8s.io", "evictionrequests",
			`{"kind":"EvictionRequest","metadata":{"name":"a","namespace":"b",` + age + `},"spec":{"target":{"pod":{"name":"p","uid":"u"}},` +
				`"requester":"example.com/r","intent":"Eviction"},"status":{"observedGeneration":1}}`,
			[]string{"Target", "Target Type", "Status", "Requester", "Intent", "Age"},
			[]string{"p", "Pod", "Progressing", "example.com/r", "Eviction", milliseconds},
		},
		{
			[]string{"v1alpha1"}, "lifecycle.k8s.io", "evictions",
			`{"kind":"Eviction","metadata":{"name":"a","namespace":"b",` + age + `},"spec":{"target":{"pod":{"name":"p","uid":"u"}}},"status":{` +
				`"requesters":[{"name":"example.com/r","intent":"Eviction"}],"targetResponders":[{"name":"x","state":"Active"}],` +
				`"responders":[{"name":"x","startTime":"2026-01-02T03:04:05Z","message":"moving"}]}}`,
			[]string{
				"Target", "Target Type", "Status", "Active Responder", "Responder Status", "Responder Expected Finish", "Requesters", "Age",
				"Responder Heartbeat", "Responder Status Message",
			},
			[]string{"p", "Pod", "Pending", "x (1/1)", "Started", "", "example.com/r", milliseconds, "", "moving"},
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
		{"resource.k8s.io/v1alpha3/resourcepoolstatusrequests", "Total", "-"},
		{"resource.k8s.io/v1alpha3/resourcepoolstatusrequests", "Errors", "-"},
		{"resource.k8s.io/v1alpha3/resourcepoolstatusrequests", "Pools", "0"},
		{"resource.k8s.io/v1alpha3/resourcepoolstatusrequests", "Completed", "<none>"},
		{"lifecycle.k8s.io/v1alpha1/evictionrequests", "Target", "<unset>"},
		{"lifecycle.k8s.io/v1alpha1/evictions", "Target Type", "<unset>"},
		{"lifecycle.k8s.io/v1alpha1/evictions", "Responder Status", "<unset>"},
		{"lifecycle.k8s.io/v1alpha1/evictions", "Responder Expected Finish", "<unknown>"},
		{"lifecycle.k8s.io/v1alpha1/evictions", "Requesters", "<none>"},
		{"lifecycle.k8s.io/v1alpha1/evictions", "Responder Heartbeat", "<unset>"},
		{"lifecycle.k8s.io/v1alpha1/evictions", "Responder Status Message", "<unset>"},
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

		{"evictionStatus", "", nil, "Pending"},
		{"evictionStatus", "", []string{"Failed True NoFurtherResponder"}, "Failed (NoFurtherResponder)"},
		{"evictionStatus", "", []string{"Failed False x", "Other True x"}, "Pending"},
		{"evictionStatus", "", []string{"TargetEvicted False Canceled", "Failed True EvictionInvalid"}, "Failed (EvictionInvalid)"},
		{"evictionStatus", "", []string{"TargetEvicted True PodDeleted", "Failed True x"}, "TargetEvicted (PodDeleted)"},
		{"evictionStatus", "", []string{"Failed Unknown x", "Failed True x"}, "Pending"}, // the first condition of a type counts
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

func TestResourcePoolStatusRequests(t *testing.T) {
	const (
		at      = `"lastTransitionTime":"2026-01-02T03:04:05Z"`
		done    = `"conditions":[{"type":"Other","status":"True"},{"type":"Complete","status":"True",` + at + `}]`
		failed  = `"conditions":[{"type":"Failed","status":"True",` + at + `}]`
		healthy = `{"totalDevices":10,"availableDevices":5,"allocatedDevices":3,"unavailableDevices":2}`
		faulty  = `{"validationError":"bad"}`
	)
	for _, c := range []struct {
		why, status string
		want        []string
	}{
		{"no status", ``, []string{"-", "-", "-", "-", "-", "Pending", "-"}},
		{"a null status", `,"status":null`, []string{"-", "-", "-", "-", "-", "Pending", "-"}},
		{"an empty status", `,"status":{}`, []string{"0", "0", "0", "0", "0", "Pending", "-"}},
		{"complete", `,"status":{"poolCount":2,"pools":[` + healthy + `,` + healthy + `],` + done + `}`, []string{"20", "10", "6", "4", "0", "Complete", "1767323045000"}},
		{"more pools than listed", `,"status":{"poolCount":5,"pools":[` + healthy + `],` + done + `}`, []string{"10", "5", "3", "2", "0", "Complete (1/5 pools)", "1767323045000"}},
		{"fewer pools than listed", `,"status":{"poolCount":1,"pools":[` + healthy + `,` + healthy + `],` + done + `}`, []string{"20", "10", "6", "4", "0", "Complete", "1767323045000"}},
		{"a faulty pool", `,"status":{"poolCount":2,"pools":[` + healthy + `,` + faulty + `],` + done + `}`, []string{"10", "5", "3", "2", "1", "Complete", "1767323045000"}},
		{"failed", `,"status":{"poolCount":5,"pools":[` + healthy + `],` + failed + `}`, []string{"-", "-", "-", "-", "-", "Failed", "-"}},
		{"pending with pools", `,"status":{"poolCount":5,"pools":[` + healthy + `],"conditions":[{"type":"Complete","status":"False"},{"type":"Failed","status":"Unknown"}]}`,
			[]string{"10", "5", "3", "2", "0", "Pending", "-"}},
		{"failed after completion", `,"status":{"conditions":[{"type":"Complete","status":"True",` + at + `},{"type":"Failed","status":"True"}]}`,
			[]string{"0", "0", "0", "0", "0", "Complete", "1767323045000"}},
		{"completed after failure", `,"status":{"conditions":[{"type":"Failed","status":"True"},{"type":"Complete","status":"True",` + at + `}]}`,
			[]string{"-", "-", "-", "-", "-", "Failed", "-"}},
		{"complete at an unknown time", `,"status":{"conditions":[{"type":"Complete","status":"True","lastTransitionTime":null}]}`,
			[]string{"0", "0", "0", "0", "0", "Complete", "<unknown>"}},
	} {
		assert.Equal(t, c.want, printed(t, name+c.status, columnsOf("poolTotal", "poolAvailable", "poolAllocated", "poolUnavailable", "poolErrors", "poolStatus", "poolCompleted")...), c.why)
	}
}

func columnsOf(printers ...string) (columns []api.Column) {
	for _, p := range printers {
		columns = append(columns, api.Column{Name: p, Printer: p})
	}
	return columns
}

func TestTargetsOfEvictions(t *testing.T) {
	for spec, want := range map[string][]string{
		`"spec":{"target":{"pod":{"name":"p"}}},"status":{"observedGeneration":2}`: {"Pod", "Progressing"},
		`"spec":{"target":{"pod":null}},"status":{"observedGeneration":0}`:         {"-", "Pending"},
		`"spec":{"target":{}}`: {"-", "Pending"},
	} {
		assert.Equal(t, want, printed(t, name+","+spec, columnsOf("evictionTarget", "evictionStatus")...), spec)
	}
}

func TestRespondersOfEvictions(t *testing.T) {
	const started, expected, completed, beat = " @1767323041", " @1767323042", " @1767323043", " @1767323044"
	full := func(id string) string {
		return `{"name":"` + id + `","startTime":"2026-01-02T03:04:01Z","expectedCompletionTime":"2026-01-02T03:04:02Z","completionTime":"2026-01-02T03:04:03Z",` +
			`"heartbeatTime":"2026-01-02T03:04:04Z","message":" by ` + id + `\n"}`
	}
	target := func(id, state string) string { return `{"name":"` + id + `","state":"` + state + `"}` }
	for _, c := range []struct {
		why, targets, responders string
		want                     []string
	}{
		{"none", ``, ``, []string{"<unset> (0/0)", "-", "-", "-", "-"}},
		{"no status of the responder", target("a", "Active"), full("b"), []string{"a (1/1)", "-", "-", "-", "-"}},
		{"no responder has begun", target("a", "Inactive") + `,` + target("b", "Inactive"), full("a"), []string{"<unset> (0/2)", "-", "-", "-", "-"}},
		{"active", target("a", "Completed") + `,` + target("b", "Active"), full("a") + `,` + full("b"), []string{"b (2/2)", "Started" + started, expected, beat, "by b"}},
		{"active precedes processed ones", target("b", "Active") + `,` + target("a", "Completed"), full("a") + `,` + full("b"), []string{"b (2/2)", "Started" + started, expected, beat, "by b"}},
		{"the last active one", target("a", "Active") + `,` + target("b", "Active"), full("a") + `,` + full("b"), []string{"b (2/2)", "Started" + started, expected, beat, "by b"}},
		{"the last processed one", target("a", "Completed") + `,` + target("b", "Canceled") + `,` + target("c", "Inactive"), full("a") + `,` + full("b"), []string{"b (2/3)", "Canceled", `"-"`, beat, "by b"}},
		{"interrupted", target("a", "Interrupted"), full("a"), []string{"a (1/1)", "Interrupted", `"-"`, beat, "by a"}},
		{"completed", target("a", "Completed"), full("a"), []string{"a (1/1)", "Completed" + completed, `"-"`, beat, "by a"}},
		{"completed at an unknown time", target("a", "Completed"), `{"name":"a","completionTime":null}`, []string{"a (1/1)", "Completed", `"-"`, "-", "-"}},
		{"active but not started", target("a", "Active"), `{"name":"a","expectedCompletionTime":"2026-01-02T03:04:02Z","message":"  "}`, []string{"a (1/1)", "Active", "-", "-", "-"}},
		{"started without an estimate", target("a", "Active"), `{"name":"a","startTime":"2026-01-02T03:04:01Z"}`, []string{"a (1/1)", "Started" + started, "-", "-", "-"}},
		{"the first status of a name", target("a", "Active"), `{"name":"a"},` + full("a"), []string{"a (1/1)", "Active", "-", "-", "-"}},
	} {
		members := name + `,"status":{"targetResponders":[` + c.targets + `],"responders":[` + c.responders + `]}`
		assert.Equal(t, c.want, printed(t, members, columnsOf("responder", "responderStatus", "responderFinish", "responderHeartbeat", "responderMessage")...), c.why)
	}
}

func TestRequestersOfEvictions(t *testing.T) {
	requester := func(name, intent string) string { return `{"name":"` + name + `","intent":"` + intent + `"}` }
	for requesters, want := range map[string]string{
		``:                         "-",
		requester("b", "Eviction"): "b",
		requester("b", "Eviction") + `,` + requester("a", "Eviction"):                                     "a + 1 more...",
		requester("b", "Eviction") + `,` + requester("a", "Withdrawn") + `,` + requester("c", "Eviction"): "b + 1 more...",
		requester("b", "Withdrawn") + `,` + requester("a", "Withdrawn"):                                   "<withdrawn>",
	} {
		assert.Equal(t, want, one(t, "requesters", ".v.a[*]", `"a":[`+requesters+`]`), requesters)
	}
}
