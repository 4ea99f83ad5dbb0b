package catalog

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/watchglass/watchglass/core/api"
)

// These are fragments of the JSON of pods and container statuses.
const (
	running   = `"ready":true,"started":true,"state":{"running":{"startedAt":"2026-01-02T03:04:05Z"}}`
	unready   = `"ready":false,"started":true,"state":{"running":{}}`
	completed = `"ready":false,"state":{"terminated":{"exitCode":0,"reason":"Completed"}}`
	crashLoop = `"ready":false,"state":{"waiting":{"reason":"CrashLoopBackOff"}}`
	waiting   = `"ready":false,"state":{"waiting":{"reason":"PodInitializing"}}`

	one1      = `"containers":[{"name":"a"}]`
	two       = `"containers":[{"name":"a"},{"name":"b"}]`
	inits     = `,"initContainers":[{"name":"i"},{"name":"j"}]`
	sidecars  = `,"initContainers":[{"name":"s","restartPolicy":"Always"},{"name":"i"}]`
	isReady   = `,"conditions":[{"type":"Initialized","status":"True"},{"type":"Ready","status":"True"}]`
	deleted   = `,"deletionTimestamp":"2026-01-02T03:04:05Z"`
	lastEnded = `,"lastState":{"terminated":{"exitCode":1,"finishedAt":"2026-01-02T03:04:05Z"}}`
	endedLate = `,"lastState":{"terminated":{"exitCode":1,"finishedAt":"2026-01-02T04:04:05Z"}}`
)

// a returns the status of a container.
func a(name, restarts, state string) string {
	return `{"name":"` + name + `","restartCount":` + restarts + `,` + state + `}`
}

func TestPods(t *testing.T) {
	for _, c := range []struct {
		why, metadata, spec, status string
		ready, state, restarts      string
	}{
		{"new", ``, two, `"phase":"Pending"`, "0/2", "Pending", "0"},
		{"without a status", ``, one1, ``, "0/1", "-", "0"},
		{"gated", ``, one1, `"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","reason":"SchedulingGated"}]`, "0/1", "SchedulingGated", "0"},
		{"unschedulable", ``, one1, `"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable"}]`, "0/1", "Pending", "0"},
		{"a reason of the pod", ``, one1, `"phase":"Failed","reason":"Evicted"`, "0/1", "Evicted", "0"},
		{"running", ``, two, `"phase":"Running","containerStatuses":[` + a("a", "0", running) + `,` + a("b", "0", running) + `]` + isReady, "2/2", "Running", "0"},
		{"one is not ready", ``, two, `"phase":"Running","containerStatuses":[` + a("a", "0", running) + `,` + a("b", "0", unready) + `]`, "1/2", "Running", "0"},
		{"ready but not running", ``, one1, `"phase":"Running","containerStatuses":[` + a("a", "0", `"ready":true,"state":{}`) + `]`, "0/1", "Running", "0"},
		{"creating", ``, one1, `"phase":"Pending","containerStatuses":[` + a("a", "0", `"state":{"waiting":{"reason":"ContainerCreating"}}`) + `]`, "0/1", "ContainerCreating", "0"},
		{"crash loop", ``, one1, `"phase":"Running","containerStatuses":[` + a("a", "7", crashLoop+lastEnded) + `]`, "0/1", "CrashLoopBackOff", "7 @1767323045"},
		{"restarts without a time", ``, one1, `"phase":"Running","containerStatuses":[` + a("a", "7", running) + `]`, "1/1", "Running", "7"},
		{"a time without restarts", ``, one1, `"phase":"Running","containerStatuses":[` + a("a", "0", running+lastEnded) + `]`, "1/1", "Running", "0"},
		{"the first container that does not run counts", ``, two, `"phase":"Running","containerStatuses":[` +
			a("a", "1", `"state":{"waiting":{"reason":"ImagePullBackOff"}}`+endedLate) + `,` + a("b", "2", crashLoop+lastEnded) + `]`, "0/2", "ImagePullBackOff", "3 @1767326645"},
		{"an empty reason to wait", ``, one1, `"phase":"Pending","containerStatuses":[` + a("a", "0", `"state":{"waiting":{"reason":""}}`) + `]`, "0/1", "Pending", "0"},
		{"completed", ``, one1, `"phase":"Succeeded","containerStatuses":[` + a("a", "0", completed) + `]`, "0/1", "Completed", "0"},
		{"completed beside a ready one", ``, two, `"phase":"Running","containerStatuses":[` + a("a", "0", completed) + `,` + a("b", "0", running) + `]` + isReady, "1/2", "Running", "0"},
		{"completed beside one of an unready pod", ``, two, `"phase":"Running","containerStatuses":[` + a("a", "0", completed) + `,` + a("b", "0", running) + `]`, "1/2", "NotReady", "0"},
		{"completed beside a failed one", ``, two, `"phase":"Failed","containerStatuses":[` + a("a", "0", completed) + `,` +
			a("b", "0", `"state":{"terminated":{"exitCode":1,"reason":"Error"}}`) + `]`, "0/2", "Error", "0"},
		{"failed beside a completed one", ``, two, `"phase":"Failed","containerStatuses":[` +
			a("a", "0", `"state":{"terminated":{"exitCode":1,"reason":"OOMKilled"}}`) + `,` + a("b", "0", completed) + `]`, "0/2", "OOMKilled", "0"},
		{"an exit code", ``, one1, `"phase":"Failed","containerStatuses":[` + a("a", "0", `"state":{"terminated":{"exitCode":137}}`) + `]`, "0/1", "ExitCode:137", "0"},
		{"an exit code of zero", ``, one1, `"phase":"Succeeded","containerStatuses":[` + a("a", "0", `"state":{"terminated":{"exitCode":0}}`) + `]`, "0/1", "ExitCode:0", "0"},
		{"a signal", ``, one1, `"phase":"Failed","containerStatuses":[` + a("a", "0", `"state":{"terminated":{"exitCode":137,"signal":9}}`) + `]`, "0/1", "Signal:9", "0"},

		{"first init container", ``, one1 + inits, `"phase":"Pending","initContainerStatuses":[` + a("i", "0", unready) + `,` + a("j", "0", waiting) + `],"containerStatuses":[` + a("a", "0", waiting) + `]`, "0/1", "Init:0/2", "0"},
		{"second init container", ``, one1 + inits, `"phase":"Pending","initContainerStatuses":[` + a("i", "0", completed) + `,` + a("j", "0", waiting) + `]`, "0/1", "Init:1/2", "0"},
		{"init container waits", ``, one1 + inits, `"phase":"Pending","initContainerStatuses":[` + a("i", "4", crashLoop+lastEnded) + `,` + a("j", "0", waiting) + `]`, "0/1", "Init:CrashLoopBackOff", "4 @1767323045"},
		{"init container failed", ``, one1 + inits, `"phase":"Failed","initContainerStatuses":[` + a("i", "0", `"state":{"terminated":{"exitCode":1,"reason":"Error"}}`) + `]`, "0/1", "Init:Error", "0"},
		{"init container exited", ``, one1 + inits, `"phase":"Pending","initContainerStatuses":[` + a("i", "0", `"state":{"terminated":{"exitCode":2}}`) + `]`, "0/1", "Init:ExitCode:2", "0"},
		{"init container was killed", ``, one1 + inits, `"phase":"Pending","initContainerStatuses":[` + a("i", "0", `"state":{"terminated":{"exitCode":137,"signal":9}}`) + `]`, "0/1", "Init:Signal:9", "0"},
		{"restarts of finished init containers do not count", ``, one1 + inits, `"phase":"Running","initContainerStatuses":[` + a("i", "3", completed+lastEnded) + `,` + a("j", "0", completed) +
			`],"containerStatuses":[` + a("a", "1", running+endedLate) + `]`, "1/1", "Running", "1 @1767326645"},
		{"an init container restarts after the pod was initialized", ``, one1 + inits, `"phase":"Running","initContainerStatuses":[` + a("i", "1", unready) + `],"containerStatuses":[` + a("a", "0", running) + `]` + isReady,
			"1/1", "Init:0/2", "0"},
		{"initialized, but the first condition says no", ``, one1 + inits, `"phase":"Pending","initContainerStatuses":[` + a("i", "1", unready) + `],"containerStatuses":[` + a("a", "0", crashLoop) +
			`],"conditions":[{"type":"Initialized","status":"False"},{"type":"Initialized","status":"True"}]`, "0/1", "Init:0/2", "1"},

		{"a sidecar runs", ``, one1 + sidecars, `"phase":"Running","initContainerStatuses":[` + a("s", "2", running+lastEnded) + `,` + a("i", "5", completed+endedLate) + `],"containerStatuses":[` + a("a", "1", running) + `]`,
			"2/2", "Running", "3 @1767323045"},
		{"a sidecar is not ready", ``, one1 + sidecars, `"phase":"Running","initContainerStatuses":[` + a("s", "0", unready) + `,` + a("i", "0", completed) + `],"containerStatuses":[` + a("a", "0", running) + `]`, "1/2", "Running", "0"},
		{"a sidecar starts", ``, one1 + sidecars, `"phase":"Pending","initContainerStatuses":[` + a("s", "0", `"ready":false,"started":false,"state":{"running":{}}`) + `,` + a("i", "0", waiting) + `]`, "0/2", "Init:0/2", "0"},
		{"after a sidecar", ``, one1 + sidecars, `"phase":"Pending","initContainerStatuses":[` + a("s", "0", running) + `,` + a("i", "0", unready) + `]`, "1/2", "Init:1/2", "0"},
		{"a sidecar waits to restart", ``, one1 + sidecars, `"phase":"Running","initContainerStatuses":[` + a("s", "1", `"ready":false,"started":false,"state":{"waiting":{"reason":"CrashLoopBackOff"}}`) + `]`, "0/2", "Init:CrashLoopBackOff", "1"},

		{"terminating", deleted, one1, `"phase":"Running","containerStatuses":[` + a("a", "0", running) + `]`, "1/1", "Terminating", "0"},
		{"deleted and finished", deleted, one1, `"phase":"Succeeded","containerStatuses":[` + a("a", "0", completed) + `]`, "0/1", "Completed", "0"},
		{"deleted and failed", deleted, one1, `"phase":"Failed","reason":"Evicted"`, "0/1", "Evicted", "0"},
		{"on a lost node", deleted, one1, `"phase":"Running","reason":"NodeLost","containerStatuses":[` + a("a", "0", running) + `]`, "1/1", "Unknown", "0"},
		{"on a lost node, finished", deleted, one1, `"phase":"Failed","reason":"NodeLost"`, "0/1", "Unknown", "0"},
		{"on a lost node, not deleted", ``, one1, `"phase":"Failed","reason":"NodeLost"`, "0/1", "NodeLost", "0"},
	} {
		members := `"metadata":{"name":"x"` + c.metadata + `},"spec":{` + c.spec + `},"status":{` + c.status + `}`
		assert.Equal(t, []string{c.ready, c.state, c.restarts}, printed(t, members,
			api.Column{Printer: "podReady"}, api.Column{Printer: "podStatus"}, api.Column{Printer: "podRestarts", Kind: api.Integer}), c.why)
	}
}

func TestReadinessGates(t *testing.T) {
	for _, c := range []struct{ gates, conditions, want string }{
		{``, `{"type":"a","status":"True"}`, "-"},
		{`{"conditionType":"a"},{"conditionType":"b"}`, ``, "0/2"},
		{`{"conditionType":"a"},{"conditionType":"b"}`, `{"type":"b","status":"True"},{"type":"a","status":"False"}`, "1/2"},
		{`{"conditionType":"a"}`, `{"type":"a","status":"False"},{"type":"a","status":"True"}`, "0/1"},
	} {
		members := name + `,"spec":{"readinessGates":[` + c.gates + `]},"status":{"conditions":[` + c.conditions + `]}`
		assert.Equal(t, []string{c.want}, printed(t, members, api.Column{Printer: "podGates"}), c.gates)
	}
}
