package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/server"
)

// owned puts an object with the given owner in the namespace shop. The UID of each object
// is its name. The parameter rest contains the fields of the object other than metadata,
// as JSON.
func (c *cluster) owned(resource api.Resource, kind, name, owner, rest string) {
	owners := ""
	if owner != "" {
		owners = fmt.Sprintf(`,"ownerReferences":[{"uid":%q,"controller":true}]`, owner)
	}
	version := strings.TrimPrefix(resource.Group+"/"+resource.Version, "/")
	c.Put(resource, api.NewKey("shop", name), fmt.Appendf(nil,
		`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"namespace":"shop","uid":%q%s},%s}`, version, kind, name, name, owners, rest))
}

func (c *cluster) ownedPod(name, set, state string) {
	c.owned(treePods, "Pod", name, set, `"spec":{"containers":[{"name":"main"}]},"status":{"phase":"Running","containerStatuses":[{"name":"main",`+state+`}]}`)
}

var deployments = api.Resource{Group: "apps", Version: "v1", Name: "deployments"}

func newShop(t *testing.T) *cluster {
	c := newCluster(t)
	c.owned(deployments, "Deployment", "web", "", `"spec":{"replicas":2},"status":{"readyReplicas":1}`)
	c.owned(treeReplicaSets, "ReplicaSet", "web-1", "web", `"spec":{"replicas":2},"status":{"replicas":2,"readyReplicas":1}`)
	c.owned(treeReplicaSets, "ReplicaSet", "web-2", "web", `"spec":{"replicas":0},"status":{}`)
	c.owned(treeReplicaSets, "ReplicaSet", "other", "", `"spec":{"replicas":0},"status":{}`)
	c.ownedPod("web-1-a", "web-1", `"ready":true,"restartCount":0,"state":{"running":{}}`)
	c.ownedPod("web-1-b", "web-1", `"ready":false,"restartCount":4,"state":{"waiting":{"reason":"CrashLoopBackOff"}}`)
	return c
}

func TestTreePrintsTheObjectsBelow(t *testing.T) {
	c := newShop(t)
	stdout, stderr, code := c.call(t, "tree", "deploy/web", "-n", "shop")
	require.Zero(t, code, stderr)
	require.Empty(t, stderr)
	require.Equal(t, strings.Join([]string{
		"NAME                 READY   STATUS             RESTARTS   AGE",
		"Deployment/web       1/2                                   <unknown>",
		"├─ReplicaSet/web-1   1/2                                   <unknown>",
		"│ ├─Pod/web-1-a      1/1     Running            0          <unknown>",
		"│ └─Pod/web-1-b      0/1     CrashLoopBackOff   4          <unknown>",
		"└─ReplicaSet/web-2   0/0                                   <unknown>",
		"",
	}, "\n"), stdout)
	for args, want := range map[string]string{
		"tree apps/v1/replicasets/web-1 -n shop --no-headers": "ReplicaSet/web-1 ├─Pod/web-1-a └─Pod/web-1-b",
		"tree rs web-2 -n shop --no-headers":                  "ReplicaSet/web-2",
		"tree deploy/web -n shop --no-headers --below rs":     "Deployment/web ├─ReplicaSet/web-1 └─ReplicaSet/web-2",
	} {
		stdout, stderr, code := c.call(t, strings.Fields(args)...)
		require.Zero(t, code, stderr)
		var names []string
		for line := range strings.Lines(stdout) {
			names = append(names, strings.Join(strings.Fields(strings.TrimLeft(line, "│ "))[:1], ""))
		}
		require.Equal(t, want, strings.Join(names, " "), args)
	}
}

func TestTreeReportsErrors(t *testing.T) {
	c := newShop(t)
	for args, want := range map[string]string{
		"tree deploy/none -n shop":               `deployments.apps "none" not found`,
		"tree deployments":                       `"deployments": expected a resource and a name, such as deploy/web`,
		"tree deploy/":                           `"deploy/": expected one name: watchglass tree deploy/NAME`,
		"tree gizmos/x":                          `resource "gizmos" is not built in`,
		"tree deploy/web --below pod,gizmos":     `--below: resource "gizmos" is not built in`,
		"tree deploy/web -n shop x":              `"deploy/web x": expected one name: watchglass tree deploy/NAME`,
		"tree deploy web -n shop x":              `unexpected argument "x"`,
		"tree":                                   "too few arguments, expected: watchglass tree RESOURCE/NAME",
		"tree deploy/web -n shop --output wide":  "unknown flag: --output",
		"tree example.com/v1/gizmos/x -n shop":   "gizmos",
		"tree deploy/web --namespace= --server=": `--namespace ""`,
	} {
		stdout, stderr, code := c.call(t, strings.Fields(args)...)
		require.Equal(t, 1, code, args)
		require.Empty(t, stdout, args)
		require.Contains(t, stderr, want, args)
	}
}

// onlyApps is a policy that permits reads only in the API group apps.
type onlyApps struct{ access.Policy }

func (onlyApps) Authorize(_ context.Context, _ *access.User, r access.Request) (time.Time, *api.Status) {
	if r.Resource.Group == "apps" {
		return time.Time{}, nil
	}
	return time.Time{}, api.Forbidden("only apps may be read")
}

// The command tree prints the objects that the reader may list, and reports the missing
// rights.
func TestTreeReportsMissingRights(t *testing.T) {
	c := newShop(t)
	c.close(t)
	c.connector = connector.New(connector.Config{Source: c.Source, Access: onlyApps{access.Everyone()}})
	handler, err := server.New(server.Config{Connector: c.connector})
	require.NoError(t, err)
	c.serving.Store(handler)
	stdout, stderr, code := c.call(t, "tree", "deploy/web", "-n", "shop", "--no-headers")
	require.Zero(t, code, stderr)
	require.Equal(t, 3, strings.Count(stdout, "\n"), stdout)
	require.Contains(t, stderr, "watchglass: missing in the tree: v1/pods: 403 Forbidden")
}

func TestTreeFollowsChanges(t *testing.T) {
	c := newShop(t)
	run, stop := c.follow(t, newTreeCommand(), "deploy/web -n shop --watch --no-headers")
	run.find(`Deployment/web (?s:.*)└─ReplicaSet/web-2 .*\n`)
	c.ownedPod("web-1-c", "web-1", `"ready":true,"restartCount":0,"state":{"running":{}}`)
	run.find(`\n\nDeployment/web (?s:.*)Pod/web-1-c `)
	c.Delete(deployments, "shop/web")
	run.find(`\n\n\(deleted\) *\n├─ReplicaSet/web-1 `)
	require.NoError(t, stop(), "an interrupted watch succeeds")
}
