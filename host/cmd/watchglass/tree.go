package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/client"
	"github.com/watchglass/watchglass/host/internal/cells"
	"github.com/watchglass/watchglass/host/internal/terminal"
)

func newTreeCommand() *cobra.Command {
	var f readFlags
	var below []string
	cmd := &cobra.Command{
		Use:   "tree RESOURCE/NAME",
		Short: "Print an object and all objects below it",
		Long: `Tree prints an object, the objects that it owns, those that these own, and so on.
The owner of an object is its controller, or else its first owner reference.

It finds the replica sets, jobs, pods and endpoint slices of built-in workloads and
services. For other objects it searches all workloads, services and config maps;
--below searches other resources instead. Name the resources in between as well: the
pods of a deployment are below its replica sets. A resource that you may not list is
reported, and missing in the tree. A tree has at most 10000 objects of each resource.

The resource is written as for get, and may also be an argument of its own.`,
		Example: `  watchglass tree deploy/web -n shop
  watchglass tree cronjob/backup --watch
  watchglass tree example.com/v1/shops/main --below deployments,replicasets,pods`,
		Args: arguments(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return readTree(cmd, &f, below, args) },
	}
	flags := cmd.Flags()
	f.addConnection(cmd)
	flags.StringVarP(&f.namespace, "namespace", "n", "default", "namespace of the object")
	flags.StringSliceVar(&below, "below", nil, "the resources to search for objects below, such as replicasets,pods")
	flags.BoolVar(&f.noHeaders, "no-headers", false, "print no table header")
	flags.BoolVarP(&f.watch, "watch", "w", false, "print the tree again after every change")
	return cmd
}

// treeReading is one run of tree.
type treeReading struct {
	reading
	client  *client.Client
	below   []api.Resource
	printed bool // a tree was printed
}

func readTree(cmd *cobra.Command, f *readFlags, below, args []string) error {
	resource, name, err := resolveArguments(cmd, args)
	if err != nil {
		return err
	}
	if name == "" {
		return misused(cmd, fmt.Sprintf("%q: expected a resource and a name, such as deploy/web", args[0]))
	}
	r := &treeReading{reading: reading{flags: f, name: name, stdout: cmd.OutOrStdout(), stderr: cmd.ErrOrStderr()}, below: resourcesBelow(resource)}
	if err := f.check(); err != nil {
		return err
	}
	if len(below) > 0 {
		if r.below, err = resolveAll("--below", below); err != nil {
			return err
		}
	}
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	r.client, err = client.Open(ctx, client.Config{
		URL: f.url(resource), Token: f.token, Client: "watchglass/" + versionText(), Logger: warnings(r.stderr),
	})
	if err != nil {
		return err
	}
	defer r.client.Close()
	return f.interrupted(ctx, r.run(ctx, resource))
}

var (
	treePods        = api.Resource{Version: "v1", Name: "pods"}
	treeReplicaSets = api.Resource{Group: "apps", Version: "v1", Name: "replicasets"}
	treeJobs        = api.Resource{Group: "batch", Version: "v1", Name: "jobs"}
)

// resourcesBelow returns the resources whose objects an object of the given resource may
// own, directly or indirectly.
func resourcesBelow(resource api.Resource) []api.Resource {
	switch resource.Name + "." + resource.Group {
	case "deployments.apps":
		return []api.Resource{treeReplicaSets, treePods}
	case "cronjobs.batch":
		return []api.Resource{treeJobs, treePods}
	case "replicasets.apps", "statefulsets.apps", "daemonsets.apps", "jobs.batch", "replicationcontrollers.":
		return []api.Resource{treePods}
	case "services.":
		return []api.Resource{{Group: "discovery.k8s.io", Version: "v1", Name: "endpointslices"}}
	}
	all := []api.Resource{
		{Group: "apps", Version: "v1", Name: "deployments"}, {Group: "apps", Version: "v1", Name: "statefulsets"},
		{Group: "apps", Version: "v1", Name: "daemonsets"}, treeReplicaSets, {Group: "batch", Version: "v1", Name: "cronjobs"}, treeJobs,
		treePods, {Version: "v1", Name: "services"}, {Version: "v1", Name: "configmaps"},
	}
	return slices.DeleteFunc(all, func(r api.Resource) bool { return r == resource })
}

// maxTreeObjects is the maximum number of objects of each resource in a tree.
const maxTreeObjects = 10_000

func (r *treeReading) run(ctx context.Context, resource api.Resource) error {
	if err := r.open(ctx, r.client, resource); err != nil {
		return err
	}
	objects, _, err := r.list(ctx)
	if err != nil {
		return err
	}
	if len(objects) == 0 {
		return r.notFound()
	}
	collections, err := r.openBelow(ctx)
	if err != nil {
		return err
	}
	tree, err := r.client.Tree(ctx, append([]*client.Collection{r.collection}, collections...), objects[0].(client.Object).UID(), client.TreeOptions{Limit: maxTreeObjects})
	if err != nil {
		return err
	}
	defer tree.Close()
	if r.flags.watch {
		watching, cancel := context.WithCancel(ctx)
		var states sync.WaitGroup
		states.Go(func() { reportStates(watching, r.collection, r.stderr) })
		defer states.Wait()
		defer cancel()
	}
	for snapshot, err := range tree.Snapshots(ctx) {
		if err != nil {
			return err
		}
		if err := r.print(snapshot); err != nil || !r.flags.watch {
			return err
		}
	}
	return nil
}

// openBelow opens the collections of the resources in r.below. It skips resources that it
// cannot read, and reports them on stderr.
func (r *treeReading) openBelow(ctx context.Context) ([]*client.Collection, error) {
	namespace := "" // an owner without a namespace may own objects in all namespaces
	if r.printer.schema.Namespaced {
		namespace = r.flags.namespace
	}
	var collections []*client.Collection
	for _, resource := range r.below {
		c, err := r.client.Collection(ctx, resource.String(), client.CollectionOptions{Namespace: namespace, MetadataOnly: true})
		if err != nil {
			return nil, err
		}
		if err := firstSync(ctx, c, r.flags); err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			r.missing(err)
			continue
		}
		collections = append(collections, c)
	}
	return collections, nil
}

func (r *treeReading) missing(err error) {
	fmt.Fprintln(r.stderr, "watchglass: missing in the tree:", terminal.Text(err.Error()))
}

// print writes a tree. In a watch, an empty line precedes each tree after the first.
func (r *treeReading) print(snapshot *client.TreeSnapshot) error {
	p := treePrinter{printer: printer{out: r.stdout, now: time.Now}}
	if !r.flags.noHeaders {
		p.rows = append(p.rows, []string{"NAME", "READY", "STATUS", "RESTARTS", "AGE"})
	}
	p.add(snapshot.Root, "", "", "")
	for _, missing := range snapshot.Errors {
		r.missing(missing.Err)
	}
	if snapshot.Truncated {
		fmt.Fprintf(r.stderr, "watchglass: a resource has more than %d objects below; the others are missing\n", maxTreeObjects)
	}
	if r.printed {
		if _, err := io.WriteString(r.stdout, "\n"); err != nil {
			return err
		}
	}
	r.printed = true
	return p.table(p.rows)
}

// treePrinter writes a tree as a table.
type treePrinter struct {
	printer
	rows [][]string
}

// add adds rows for a node and the nodes below it. The strings indent and branch precede
// the name of the node, and indent and below precede the names of its children.
func (p *treePrinter) add(n *client.TreeNode, indent, branch, below string) {
	p.rows = append(p.rows, p.row(n, indent+branch))
	for i, child := range n.Children {
		if i < len(n.Children)-1 {
			p.add(child, indent+below, "├─", "│ ")
		} else {
			p.add(child, indent+below, "└─", "  ")
		}
	}
}

func (p *treePrinter) row(n *client.TreeNode, prefix string) []string {
	if n.Collection == nil {
		return []string{prefix + "(deleted)", "", "", "", ""}
	}
	schema := n.Collection.Schema()
	cell := func(name string) string {
		for i := range schema.Columns {
			if c := &schema.Columns[i]; c.Name == name {
				return cells.Text(c, n.Object.Column(i), p.now().UnixMilli())
			}
		}
		return ""
	}
	ready := cell("Ready")
	if desired := cell("Desired"); ready != "" && desired != "" {
		ready += "/" + desired // in one column, as for pods
	} else if ready == "" {
		ready = cell("Completions")
	}
	row := []string{prefix + schema.Kind + "/" + n.Object.Key().Name(), ready, cell("Status"), cell("Restarts"), cell("Age")}
	for i := range row {
		row[i] = terminal.Text(row[i])
	}
	return row
}
