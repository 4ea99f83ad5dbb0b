package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/server"
)

var configMaps = api.Resource{Version: "v1", Name: "configmaps"}

func TestGetPrintsColumnsOfOtherResources(t *testing.T) {
	c := newShop(t)
	c.owned(deployments, "Deployment", "idle", "", `"spec":{"replicas":0},"status":{}`)
	c.owned(configMaps, "ConfigMap", "web", "", `"data":{"a":"1","b":"2"}`)
	c.owned(configMaps, "ConfigMap", "other", "", `"data":{"a":"1"}`)
	for _, test := range []struct {
		args []string
		want [][]string
	}{
		{
			[]string{"--add-column", "Pods:children:rs,pods", "--add-column", "Pod states:children:apps/v1/replicasets,v1/pods status"},
			[][]string{
				{"NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE", "PODS", "POD", "STATES"},
				{"idle", "0/0", "0", "0", "<unknown>", "0", "<none>"},
				{"web", "1/2", "0", "0", "<unknown>", "2", "CrashLoopBackOff", "1,", "Running", "1"},
			},
		},
		{
			[]string{"--add-column", "Pods:children:pods", "--no-headers"},
			[][]string{{"idle", "0/0", "0", "0", "<unknown>", "0"}, {"web", "1/2", "0", "0", "<unknown>", "0"}},
		},
		{
			[]string{"--add-column", "Keys:join:cm data", "--sort-by", "-keys", "--no-headers", "-A"},
			[][]string{{"shop", "web", "1/2", "0", "0", "<unknown>", "2"}, {"shop", "idle", "0/0", "0", "0", "<unknown>", "<none>"}},
		},
		{[]string{"--add-column", "Keys:join:cm Data", "web", "--no-headers"}, [][]string{{"web", "1/2", "0", "0", "<unknown>", "2"}}},
		{[]string{"--add-column", "Pods:children:rs,pods Status", "--where", "pods ~ crash", "-o", "name"}, [][]string{{"deployment.apps/web"}}},
		{[]string{"--add-column", "Pods:children:rs,pods", "--group-by", "pods"}, [][]string{{"PODS", "DEPLOYMENTS"}, {"0", "1"}, {"2", "1"}}},
	} {
		stdout, stderr, code := c.call(t, append([]string{"get", "deploy", "-n", "shop"}, test.args...)...)
		require.Zero(t, code, stderr)
		require.Empty(t, stderr)
		require.Equal(t, test.want, table(stdout), test.args)
	}
	stdout, stderr, code := c.call(t, "get", "deploy", "-n", "shop", "--add-column", "Keys:join:cm Data", "--where", "keys>1", "-o", "json")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, `"replicas": 2`)
	require.NotContains(t, stdout, "idle")
}

// A joined column with ages is filtered and sorted by age, not as text.
func TestAddedColumnHasTheKindOfTheOtherOne(t *testing.T) {
	c := newCluster(t)
	for name, age := range map[string]time.Duration{"a": 2 * time.Hour, "b": 30 * time.Minute, "c": 10 * time.Hour} {
		c.owned(deployments, "Deployment", name, "", `"spec":{},"status":{}`)
		c.Put(configMaps, api.NewKey("shop", name), fmt.Appendf(nil,
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":"shop","uid":"u","creationTimestamp":%q}}`, name, time.Now().Add(-age).UTC().Format(time.RFC3339)))
	}
	stdout, stderr, code := c.call(t, "get", "deploy", "-n", "shop", "--add-column", "Configured:join:cm Age", "--where", "configured>90m", "--sort-by", "configured", "-o", "name")
	require.Zero(t, code, stderr)
	require.Equal(t, "deployment.apps/a\ndeployment.apps/c\n", stdout)
}

func TestAddedColumnsReportErrors(t *testing.T) {
	c := newShop(t)
	for _, test := range []struct {
		want string
		args []string
	}{
		{`--add-column "Pods": expected NAME:join:RESOURCE COLUMN or NAME:children:RESOURCES, such as Pods:children:replicasets,pods`, []string{"Pods"}},
		{`--add-column ":join:pods Status": expected NAME:join:`, []string{":join:pods Status"}},
		{`--add-column "Pods:count:pods": expected join or children after the name, such as Pods:children:replicasets,pods`, []string{"Pods:count:pods"}},
		{`--add-column "Pods:join:pods": expected one resource, a space and the name of a column after join:, such as CPU:join:metrics.k8s.io/v1beta1/pods CPU`, []string{"Pods:join:pods"}},
		{`--add-column "Pods:join:rs,pods Ready": expected one resource`, []string{"Pods:join:rs,pods Ready"}},
		{`--add-column "Pods:children:gizmos": resource "gizmos" is not built in`, []string{"Pods:children:gizmos"}},
		{`--add-column "B:children:pods": expected join or children, and the resources, as in the first, "A:children:rs,pods"`, []string{"A:children:rs,pods", "B:children:pods"}},
		{`--add-column "B:join:pods Ready": expected join or children, and the resources, as in the first, "A:children:pods"`, []string{"A:children:pods", "B:join:pods Ready"}},
		{`--add-column "B:children:rs,pods Statsu": v1/pods has no column "Statsu"; expected one of Ready, Status, Restarts, Age, IP, Node, `, []string{"A:children:rs,pods", "B:children:rs,pods Statsu"}},
		{`400 BadRequest: column "Pods": apps/v1/replicasets is repeated before the last resource, so its objects would count twice`,
			[]string{"Pods:children:rs,rs,pods"}},
		{`--add-column "X:join:nodes Status": apps/v1/deployments and v1/nodes are related by namespace and name, and only one of them has namespaces`,
			[]string{"X:join:nodes Status"}},
		{`--add-column "ready:children:rs,pods": deployments have a column or field "ready" already; choose another name`, []string{"ready:children:rs,pods"}},
		{`--add-column "name:children:pods": deployments have a column or field "name" already`, []string{"name:children:pods"}},
		{`--add-column "a:children:pods": deployments have a column or field "a" already`, []string{"A:children:pods", "a:children:pods"}},
	} {
		args := []string{"get", "deploy", "-n", "shop"}
		for _, column := range test.args {
			args = append(args, "--add-column", column)
		}
		stdout, stderr, code := c.call(t, args...)
		require.Equal(t, 1, code, test.args)
		require.Empty(t, stdout, test.args)
		require.Contains(t, stderr, test.want)
	}
	for want, args := range map[string][]string{
		"--add-column: choose another --output than custom-columns":                                     {"get", "-o", "custom-columns=N:.metadata.name"},
		"-o json: a watch with --search, --where, --sort-by or --add-column":                            {"watch", "-o", "json"},
		"--record: a recording contains all events; omit --search, --where, --sort-by and --add-column": {"watch", "--record", "no-such-directory/file"},
	} {
		_, stderr, code := c.call(t, append(args, "deploy", "--add-column", "Pods:children:pods")...)
		require.Equal(t, 1, code)
		require.Contains(t, stderr, want)
	}
}

func TestAddedColumnWithoutRightsIsEmpty(t *testing.T) {
	c := newShop(t)
	c.close(t)
	c.connector = connector.New(connector.Config{Source: c.Source, Access: onlyApps{access.Everyone()}})
	handler, err := server.New(server.Config{Connector: c.connector})
	require.NoError(t, err)
	c.serving.Store(handler)
	stdout, stderr, code := c.call(t, "get", "deploy", "-n", "shop", "--add-column", "Pods:children:rs,pods", "--no-headers")
	require.Zero(t, code, stderr)
	require.Equal(t, [][]string{{"web", "1/2", "0", "0", "<unknown>", "<none>"}}, table(stdout))
	require.Contains(t, stderr, "watchglass: --add-column: no values of v1/pods: 403 Forbidden: only apps may be read\n")
}

func TestAddedColumnOfAMissingResourceIsEmpty(t *testing.T) {
	c := newShop(t)
	stdout, stderr, code := c.call(t, "get", "deploy", "-n", "shop", "--add-column", "Things:children:example.com/v1/things", "--no-headers")
	require.Zero(t, code, stderr)
	require.Equal(t, [][]string{{"web", "1/2", "0", "0", "<unknown>", "<none>"}}, table(stdout))
	require.Regexp(t, `^watchglass: --add-column: no values of example.com/v1/things: 404 NotFound: `, stderr)
}

// The command reads from the server whether a custom resource is namespaced.
func TestAddedColumnOfACustomResourceWithoutNamespaces(t *testing.T) {
	racks := api.Resource{Group: "example.com", Version: "v1", Name: "racks"}
	c := newCluster(t, api.Schema{Resource: racks, Kind: "Rack"})
	nodes := api.Resource{Version: "v1", Name: "nodes"}
	c.Put(nodes, "a", []byte(`{"apiVersion":"v1","kind":"Node","metadata":{"name":"a","uid":"n","ownerReferences":[{"uid":"r","controller":true}]},"status":{"nodeInfo":{"kubeletVersion":"v1.37.0"}}}`))
	c.Put(racks, "a", []byte(`{"apiVersion":"example.com/v1","kind":"Rack","metadata":{"name":"a","uid":"r"}}`))
	for column, want := range map[string]string{"Kubelet:join:nodes Version": "v1.37.0", "Nodes:children:nodes": "1"} {
		stdout, stderr, code := c.call(t, "get", "example.com/v1/racks", "--add-column", column, "--no-headers")
		require.Zero(t, code, stderr)
		require.Empty(t, stderr)
		require.Equal(t, [][]string{{"a", want}}, table(stdout))
	}
}

// If a child changes, the command prints the row as MODIFIED, although the object of the
// row stays the same.
func TestWatchFollowsAddedColumns(t *testing.T) {
	c := newShop(t)
	run, stop := c.follow(t, newWatchCommand(), "deploy -n shop --add-column Pods:children:rs,pods --output-watch-events")
	run.find(`ADDED +web .* 2\n`)
	c.ownedPod("web-1-c", "web-1", `"ready":true,"restartCount":0,"state":{"running":{}}`)
	run.find(`MODIFIED +web .* 3\n`)
	c.owned(configMaps, "ConfigMap", "unrelated", "", `"data":{}`)
	c.Delete(treePods, "shop/web-1-a")
	run.find(`MODIFIED +web .* 2\n`)
	require.NoError(t, stop(), "an interrupted watch succeeds")
}

// If the resource of an added column becomes forbidden, the rows stay live, and the
// command reports that the added columns are not current.
func TestWatchReportsThatAddedColumnsAreNotCurrent(t *testing.T) {
	c := newShop(t)
	run, stop := c.follow(t, newWatchCommand(), "deploy -n shop --add-column Pods:children:rs,pods --output-watch-events")
	run.find(`ADDED +web .* 2\n`)
	c.close(t)
	c.connector = connector.New(connector.Config{Source: c.Source, Access: onlyApps{access.Everyone()}})
	handler, err := server.New(server.Config{Connector: c.connector})
	require.NoError(t, err)
	c.serving.Store(handler)
	run.find(`MODIFIED +web .* <none>\n`)
	run.findIn(run.log, "watchglass: the added columns are not current: 403 Forbidden: .*\n")
	require.NoError(t, stop())
}
