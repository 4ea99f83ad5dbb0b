package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
)

// restarted writes a pod with the given phase, number of restarts and age.
func (c *cluster) restarted(key api.Key, phase string, restarts int, age time.Duration) api.ResourceVersion {
	return c.Put(podResource, key, fmt.Appendf(nil,
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"namespace":%q,"uid":"u-%s","labels":{"app":"web"},"creationTimestamp":%q},`+
			`"spec":{"nodeName":"n1","containers":[{"name":"main"}]},`+
			`"status":{"phase":%q,"containerStatuses":[{"name":"main","restartCount":%d,"ready":true,"state":{"running":{}}}]}}`,
		key.Name(), key.Namespace(), key.Name(), time.Now().Add(-age).UTC().Format(time.RFC3339), phase, restarts))
}

// call runs a complete command line, and returns its output and exit code.
func (c *cluster) call(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	out, log := newOutput(), newOutput()
	code = run(t.Context(), append(args, "--server", c.url), out, log)
	return out.String(), log.String(), code
}

func queried(t *testing.T) *cluster {
	c := newCluster(t)
	c.restarted("default/web-2", "Running", 7, time.Hour)
	c.restarted("default/web-10", "Running", 7, 3*time.Hour)
	c.restarted("default/pay-1", "Failed", 0, 2*time.Hour)
	c.restarted("shop/pay-2", "Running", 12, 48*time.Hour)
	return c
}

func TestGetSearchesFiltersAndSorts(t *testing.T) {
	c := queried(t)
	for _, test := range []struct{ args, want string }{
		{"--search|PAY", "pay-1 pay-2"},
		{"--search|pay -failed", "pay-2"},
		{"--search|app=web shop", "pay-2"},
		{"--where|restarts>3 and (namespace = shop or name ~ 10)", "web-10 pay-2"},
		{"--where|age < 90m", "web-2"},
		{"--where|status.phase in (Failed, Pending)", "pay-1"},
		{"--where|not labels[app] exists", ""},
		{"--sort-by|name", "pay-1 pay-2 web-2 web-10"},
		{"--sort-by|name lexical", "pay-1 pay-2 web-10 web-2"},
		{"--sort-by|-Restarts,name", "pay-2 web-2 web-10 pay-1"},
		{"--sort-by|-restarts|--sort-by|-name", "pay-2 web-10 web-2 pay-1"},
		{"--sort-by|age", "web-2 pay-1 web-10 pay-2"},
		{"--sort-by|-", "pay-2 web-2 web-10 pay-1"},
		{"--search|web|--where|restarts = 7|--sort-by|-age|-l|app=web", "web-10 web-2"},
	} {
		t.Run(test.args, func(t *testing.T) {
			stdout, stderr, code := c.call(t, append(strings.Split(test.args, "|"), "get", "pods", "-A", "-o", "name")...)
			require.Zero(t, code, stderr)
			assert.Equal(t, test.want, strings.ReplaceAll(strings.Join(strings.Fields(stdout), " "), "pod/", ""))
		})
	}
}

func TestGetPrintsGroups(t *testing.T) {
	c := queried(t)
	stdout, stderr, code := c.call(t, "get", "pods", "-A", "--where", "not name=pay-2", "--group-by", "namespace,status", "--aggregate", "restarts,labels[cpu]")
	require.Zero(t, code, stderr)
	require.Equal(t, [][]string{
		{"NAMESPACE", "STATUS", "PODS", "SUM(RESTARTS)", "MIN(RESTARTS)", "MAX(RESTARTS)", "SUM(LABELS[CPU])", "MIN(LABELS[CPU])", "MAX(LABELS[CPU])"},
		{"default", "Failed", "1", "0", "0", "0", "<none>", "<none>", "<none>"},
		{"default", "Running", "2", "14", "7", "7", "<none>", "<none>", "<none>"},
	}, table(stdout))
	stdout, _, _ = c.call(t, "get", "pods", "-A", "--group-by", "labels[team]", "--no-headers")
	require.Equal(t, [][]string{{"<none>", "4"}}, table(stdout))
	for args, want := range map[string]string{
		"--group-by|a,b,c":          "expected one or two names",
		"--aggregate|restarts":      "requires --group-by",
		"--group-by|status|-w":      "omit --watch",
		"--group-by|status|-o|json": "omit -o",
		"--group-by|statsu":         "did you mean Status?",
	} {
		_, stderr, code := c.call(t, append([]string{"get", "pods", "-A"}, strings.Split(args, "|")...)...)
		require.NotZero(t, code, args)
		require.Contains(t, stderr, want)
	}
}

// table splits the lines of a table into cells.
func table(text string) (rows [][]string) {
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		rows = append(rows, strings.Fields(line))
	}
	return rows
}

func TestGetPrintsAQueryInEveryFormat(t *testing.T) {
	c := queried(t)
	stdout, stderr, code := c.call(t, "get", "pods", "--where", "restarts>3", "--sort-by", "name")
	require.Zero(t, code, stderr)
	require.Equal(t, "NAME     READY   STATUS    RESTARTS   AGE\nweb-2    1/1     Running   7          60m\nweb-10   1/1     Running   7          3h\n", stdout)
	stdout, _, _ = c.call(t, "get", "pods", "-A", "--search", "web-10", "-o", "wide")
	require.Regexp(t, `^NAMESPACE +NAME +READY +STATUS +RESTARTS +AGE +IP +NODE`, stdout)
	require.Regexp(t, `\ndefault +web-10 .* n1 `, stdout)

	rv := c.restarted("shop/last", "Running", 0, 0)
	stdout, stderr, code = c.call(t, "get", "pods", "-A", "--where", "restarts>=7", "--sort-by", "-name", "-o", "json")
	require.Zero(t, code, stderr)
	var list struct {
		Kind     string
		Metadata struct{ ResourceVersion string }
		Items    []struct {
			Kind     string
			Metadata struct{ Name string }
			Status   struct {
				ContainerStatuses []struct{ RestartCount int }
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &list))
	require.Equal(t, "List", list.Kind)
	require.Equal(t, rv.String(), list.Metadata.ResourceVersion)
	require.Len(t, list.Items, 3)
	require.Equal(t, "web-10", list.Items[0].Metadata.Name)
	require.Equal(t, 7, list.Items[0].Status.ContainerStatuses[0].RestartCount)
	require.Equal(t, "pay-2", list.Items[2].Metadata.Name)

	stdout, stderr, code = c.call(t, "get", "pods", "web-2", "--where", "restarts>3", "-o", "name")
	require.Zero(t, code, stderr)
	require.Equal(t, "pod/web-2\n", stdout)
}

func TestGetReportsMistakesInQueries(t *testing.T) {
	c := queried(t)
	for _, test := range []struct{ args, want string }{
		{"--where|restarts >", `v1/pods: 400 BadRequest: condition "restarts >": at offset 10: expected a value after >, found the end`},
		{"--where|restrats > 3", `at offset 0: "restrats": there is no such column or field; did you mean Restarts?`},
		{"--where|restarts > 3 && ready", `at offset 13: expected "and", "or" or the end, found "&&"; write "and"`},
		{"--where|(restarts > 3", `at offset 13: expected "and", "or" or ")"`},
		{"--sort-by|name,-restart", `cannot sort v1/pods by "restart": there is no such column or field; did you mean Restarts?`},
		{"--sort-by|.metadata.creationTimestamp", `--sort-by ".metadata.creationTimestamp": expected names of columns or fields, such as -restarts,name; JSONPath is not supported`},
		{"--sort-by|{.metadata.name}", "JSONPath is not supported"},
		{"--sort-by|", `--sort-by "": expected names of columns or fields`},
		{"--sort-by|name,", `cannot sort v1/pods by ""`},
		{"--sort-by|" + strings.Repeat("name,", 8) + "name", "the sort has more than 8 keys"},
		{"--search|" + strings.Repeat("a ", 31), "the search has more than 30 words"},
		{"pay-1|--where|restarts>3", `pods "pay-1" not found among the objects that match --search and --where`},
		{"-w|-o|json|--search|a", "-o json: a watch with --search, --where, --sort-by or --add-column prints rows without JSON"},
	} {
		t.Run(test.args, func(t *testing.T) {
			stdout, stderr, code := c.call(t, append([]string{"get", "pods"}, strings.Split(test.args, "|")...)...)
			assert.Equal(t, 1, code)
			assert.Empty(t, stdout)
			assert.Contains(t, stderr, test.want)
		})
	}
	_, stderr, code := c.call(t, "watch", "pods", "--where", "ready", "--record", t.TempDir()+"/r.jsonl")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "--record: a recording contains all events")
	stdout, stderr, code := c.call(t, "get", "pods", "--search", "nonsense")
	require.Zero(t, code)
	require.Empty(t, stdout)
	require.Equal(t, "No resources found in default namespace.\n", stderr)
}

// get sorts more objects than the window of a view can contain.
func TestGetSortsMoreObjectsThanAWindowHas(t *testing.T) {
	c := newCluster(t)
	const pods = 20_050
	for i := range pods {
		c.pod(api.NewKey("default", fmt.Sprintf("pod-%d", i)), "Running")
	}
	stdout, stderr, code := c.call(t, "get", "pods", "-o", "name", "--sort-by", "-name")
	require.Zero(t, code, stderr)
	var want strings.Builder
	for i := pods - 1; i >= 0; i-- {
		fmt.Fprintf(&want, "pod/pod-%d\n", i)
	}
	require.True(t, want.String() == stdout, "every pod once, in natural order")
}

func TestWatchFollowsAQuery(t *testing.T) {
	c := queried(t)
	run, stop := c.follow(t, newWatchCommand(), "pods --where restarts>5 --sort-by -name --output-watch-events")
	run.find(`EVENT +NAME .*\nADDED +web-10 .*\nADDED +web-2 .*\n`)
	c.restarted("default/pay-1", "Running", 1, time.Hour)
	c.restarted("default/pay-1", "Running", 6, time.Hour)
	run.find(`ADDED +pay-1 +1/1 +Running +6`)
	c.restarted("default/pay-1", "Running", 8, time.Hour)
	run.find(`MODIFIED +pay-1 +1/1 +Running +8`)
	c.restarted("default/pay-1", "Running", 2, time.Hour)
	run.find(`DELETED +pay-1 +1/1 +Running +8`)
	c.Delete(podResource, "default/web-2")
	run.find(`DELETED +web-2 `)
	require.NoError(t, stop(), "an interrupted watch succeeds")
	require.Equal(t, 6, strings.Count(run.out.String(), "\n")-1, run.out.String())
}

// After the connection and the history are lost, a watch of a query prints only the
// differences.
func TestWatchOfAQueryContinuesAfterARelist(t *testing.T) {
	c := queried(t)
	run, stop := c.follow(t, newGetCommand(), "pods -w -A --search web --no-headers")
	run.find(`web-10 .*\n.*web-2 .*\n`)
	c.close(t)
	c.Delete(podResource, "default/web-10")
	c.restarted("default/web-3", "Running", 0, time.Hour)
	c.connect(t)
	run.find(`web-3 `)
	require.NoError(t, stop())
	require.Equal(t, 1, strings.Count(run.out.String(), "web-2 "), run.out.String())
	require.Equal(t, 2, strings.Count(run.out.String(), "web-10 "), run.out.String())
	require.Contains(t, run.log.String(), "watchglass: reconnecting")
}

// Queries can use times that the table does not show. For events, only wide tables show
// First Seen, and no table shows the creation time.
func TestGetQueriesTimesThatTheTableHides(t *testing.T) {
	c := newCluster(t)
	// The command prints ages of 8 hours or more without minutes, which would change during
	// the test.
	ago := func(age time.Duration) string { return time.Now().Add(-age).UTC().Format(time.RFC3339) }
	seen := func(name, times string, created time.Duration) {
		c.Put(api.Resource{Version: "v1", Name: "events"}, api.NewKey("default", name), fmt.Appendf(nil,
			`{"apiVersion":"v1","kind":"Event","metadata":{"name":%q,"namespace":"default","uid":"u-%s","creationTimestamp":%q},`+
				`"involvedObject":{"kind":"Pod","name":"web"},"type":"Normal","reason":"Started","message":"m","source":{"component":"kubelet"}%s}`,
			name, name, ago(created), times))
	}
	seen("a", fmt.Sprintf(`,"firstTimestamp":%q,"lastTimestamp":%q`, ago(14*time.Hour), ago(12*time.Hour)), 30*time.Hour)
	seen("b", fmt.Sprintf(`,"firstTimestamp":%q,"lastTimestamp":%q`, ago(26*time.Hour), ago(9*time.Hour)), 10*time.Hour)
	seen("c", "", 20*time.Hour)
	lastSeen := strings.NewReplacer("a", "12h", "b", "9h", "c", "<unknown>")
	firstSeen := strings.NewReplacer("a", "14h", "b", "26h", "c", "<unknown>")
	for _, test := range []struct{ args, want string }{
		{"--sort-by|First Seen", "a b c"},
		{"--sort-by|-First Seen", "c b a"},
		{"--sort-by|-First Seen nulls last", "b a c"},
		{"--where|\"First Seen\" < 20h", "a"},
		{"--where|not \"First Seen\" exists", "c"},
		{"--sort-by|creationTimestamp", "b c a"},
		{"--where|creationTimestamp > 15h|--sort-by|-creationTimestamp", "a c"},
	} {
		args := append([]string{"get", "events"}, strings.Split(test.args, "|")...)
		stdout, stderr, code := c.call(t, args...)
		require.Zero(t, code, stderr)
		header, cells := column(stdout, "LAST SEEN")
		require.Equal(t, lastSeen.Replace(test.want), cells, test.args)
		require.NotRegexp(t, "FIRST SEEN|(?i)creationTimestamp", header)

		stdout, stderr, code = c.call(t, append(args, "-o", "wide")...)
		require.Zero(t, code, stderr)
		header, cells = column(stdout, "FIRST SEEN")
		require.Equal(t, firstSeen.Replace(test.want), cells, test.args)
		require.NotRegexp(t, "(?i)creationTimestamp", header)
	}
}

// column returns the header of a table, and the cells of a column.
func column(table, name string) (header, cells string) {
	lines := strings.Split(strings.TrimSpace(table), "\n")
	var all []string
	for _, line := range lines[1:] {
		all = append(all, strings.Fields(line[max(strings.Index(lines[0], name), 0):])[0])
	}
	return lines[0], strings.Join(all, " ")
}
