package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/core/selector"
	"github.com/watchglass/watchglass/host/client"
	"github.com/watchglass/watchglass/host/internal/redact"
	"github.com/watchglass/watchglass/host/source"
)

// readFlags are the flags that get and watch share.
type readFlags struct {
	server, token string
	namespace     string
	allNamespaces bool
	labels        string
	fields        string
	query         queryFlags
	groups        groupFlags
	output        string
	columns       []api.Column // of --output custom-columns
	added         addedColumns
	noHeaders     bool
	watch         bool
	events        bool
	record        string
}

func (f *readFlags) add(cmd *cobra.Command) {
	f.addConnection(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&f.namespace, "namespace", "n", "default", "namespace to read")
	flags.BoolVarP(&f.allNamespaces, "all-namespaces", "A", false, "read all namespaces")
	flags.StringVarP(&f.labels, "selector", "l", "", "label selector, such as app=web,tier!=db")
	flags.StringVar(&f.fields, "field-selector", "", "field selector, such as status.phase=Running")
	f.query.add(cmd)
	flags.StringVarP(&f.output, "output", "o", "", "output format: wide, name, json or custom-columns=NAME:PATH,... (default: a table)")
	flags.StringArrayVar(&f.added.specs, "add-column", nil, "add a column of another resource, such as 'CPU:join:metrics.k8s.io/v1beta1/pods CPU' or Pods:children:replicasets,pods (repeatable)")
	flags.BoolVar(&f.noHeaders, "no-headers", false, "print no table header")
}

func (f *readFlags) addConnection(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.server, "server", "ws://127.0.0.1:8080/watch", "watch endpoint of the connector")
	flags.StringVar(&f.token, "token", "", "token for the connector (default $WATCHGLASS_TOKEN)")
}

// check sets defaults, and returns an error for flags that are invalid with any server.
func (f *readFlags) check() error {
	if err := f.checkCustomColumns(); err != nil {
		return err
	}
	switch f.output {
	case formatTable, formatWide, formatName, formatJSON:
	default:
		if f.columns == nil {
			return fmt.Errorf("--output %q: expected wide, name, json or custom-columns=", f.output)
		}
	}
	if err := f.checkAdded(); err != nil {
		return err
	}
	if err := errors.Join(f.checkQuery(), f.checkGroups()); err != nil {
		return err
	}
	if f.namespace == "" && !f.allNamespaces {
		return errors.New(`--namespace "": expected a name; -A reads all namespaces`)
	}
	u, err := url.Parse(f.server)
	if err != nil || u.Host == "" || !slices.Contains([]string{"ws", "wss", "http", "https"}, u.Scheme) {
		return fmt.Errorf("--server %q: expected a URL such as ws://127.0.0.1:8080/watch", redact.URL(f.server))
	}
	from := "--token"
	if f.token == "" {
		from, f.token = "$WATCHGLASS_TOKEN", strings.TrimSpace(os.Getenv("WATCHGLASS_TOKEN"))
	}
	if strings.ContainsFunc(f.token, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return fmt.Errorf("%s: expected ASCII characters without spaces and line breaks", from)
	}
	return nil
}

func newGetCommand() *cobra.Command {
	var f readFlags
	cmd := &cobra.Command{
		Use:   "get RESOURCE [NAME]",
		Short: "Print objects",
		Long: `Get reads objects from a connector and prints them.

A resource is a name or short name as in kubectl (pods, po, deploy), a plural with
its group (deployments.apps), or group/version/plural (example.com/v1/gadgets). The
name of one object follows: get pods web-1, or get pods/web-1.` + queryHelp + addColumnHelp,
		Example: `  watchglass get pods -A
  watchglass get po -n shop -l app=web -o wide
  watchglass get pods -A -o custom-columns=NAME:.metadata.name,IMAGES:.spec.containers[*].image
  watchglass get pods -A --search pay --where 'restarts>3' --sort-by node,-age
  watchglass get pods -A --group-by node,status --aggregate restarts
  watchglass get deploy -A --add-column 'Pods:children:replicasets,pods Status' --where 'pods~crash'
  watchglass get deploy web -o json`,
		Args: arguments(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return read(cmd, &f, args) },
	}
	f.add(cmd)
	f.groups.add(cmd)
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "then print every change, like the watch command")
	return cmd
}

// reading is one run of get or watch.
type reading struct {
	flags      *readFlags
	name       string // name of the requested object; empty for all
	stdout     io.Writer
	stderr     io.Writer
	collection *client.Collection
	printer    *printer
	recorder   *recorder // nil without --record
}

// read opens the collection, waits until it is complete, and prints its objects.
func read(cmd *cobra.Command, f *readFlags, args []string) (failed error) {
	r := &reading{flags: f, stdout: cmd.OutOrStdout(), stderr: cmd.ErrOrStderr()}
	resource, name, err := resolveArguments(cmd, args)
	if err != nil {
		return err
	}
	r.name = name
	if err := f.check(); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	if f.record != "" {
		if r.recorder, err = newRecorder(f.record, resource, stop); err != nil {
			return err
		}
		defer func() { failed = errors.Join(failed, r.recorder.Close()) }()
	}
	cl, err := client.Open(ctx, client.Config{
		URL: f.url(resource), Token: f.token, Client: "watchglass/" + versionText(), Logger: warnings(r.stderr), Tap: r.recorder.tap(),
	})
	if err != nil {
		return err
	}
	defer cl.Close()
	return f.interrupted(ctx, r.run(ctx, cl, resource))
}

// interrupted returns err unless the user interrupted the run. After an interrupt, it
// returns nil for a watch and an error about the interrupt for get.
func (f *readFlags) interrupted(ctx context.Context, err error) error {
	switch {
	case err != nil && ctx.Err() != nil && f.watch:
		return nil // an interrupt is the regular end of a watch
	case err != nil && ctx.Err() != nil:
		return errors.New("interrupted before all objects had arrived")
	}
	return err
}

func (r *reading) run(ctx context.Context, cl *client.Client, resource api.Resource) error {
	if err := r.open(ctx, cl, resource); err != nil {
		return err
	}
	switch {
	case r.flags.watch:
		return watchObjects(ctx, r)
	case len(r.flags.groups.by) > 0:
		return r.printGroups(ctx)
	}
	return getObjects(ctx, r)
}

// url returns the endpoint, with the resource and namespace in its query unless --server
// already specifies them. An edge selects the Durable Object by resource and namespace.
func (f *readFlags) url(resource api.Resource) string {
	u, err := url.Parse(f.server)
	if err != nil {
		return f.server // unreachable, because check refuses it
	}
	query := u.Query()
	if !query.Has("resource") {
		query.Set("resource", resource.String())
	}
	if namespace := f.readNamespace(resource); namespace != "" && !query.Has("namespace") && !query.Has("shard") {
		query.Set("namespace", namespace)
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// readNamespace returns the namespace to read, or "" for all namespaces and for built-in
// resources without namespaces.
func (f *readFlags) readNamespace(resource api.Resource) string {
	if schema, err := catalog.Lookup(catalog.All(), resource); f.allNamespaces || err == nil && !schema.Namespaced {
		return ""
	}
	return f.namespace
}

// open opens the collection of the rows. If the server rejects the namespace, because a
// custom resource is not namespaced, open tries again without it. Added columns need the schema of
// the rows in advance. For a custom resource, open reads the schema from a first
// collection, which it closes.
func (r *reading) open(ctx context.Context, cl *client.Client, resource api.Resource) error {
	namespace := r.flags.readNamespace(resource)
	rows, _ := catalog.Lookup(catalog.All(), resource) // nil if the resource is not built in
	for {
		options := client.CollectionOptions{
			Namespace: namespace, LabelSelector: r.flags.labels, FieldSelector: r.fieldSelector(),
			MetadataOnly: r.flags.output != formatJSON, Columns: r.flags.columns,
		}
		adds := len(r.flags.added.columns) > 0
		if adds && rows != nil {
			var err error
			if options.Columns, err = r.openAdded(ctx, cl, rows); err != nil {
				return err
			}
		}
		c, err := cl.Collection(ctx, resource.String(), options)
		if err != nil {
			return err
		}
		err = firstSync(ctx, c, r.flags)
		var status *api.Status
		if errors.As(err, &status) && status.Code == http.StatusBadRequest && rows == nil && namespace != "" {
			namespace = ""
			_ = c.Close()
			continue
		}
		if err != nil {
			return err
		}
		schema := c.Schema()
		if adds && rows == nil {
			rows = &schema
			_ = c.Close()
			continue
		}
		r.collection = c
		r.recorder.opened(schema, options)
		r.printer = &printer{
			out: r.stdout, format: r.flags.output, schema: schema, now: time.Now,
			custom:     r.flags.columns != nil,
			namespaces: schema.Namespaced && r.flags.allNamespaces && r.flags.columns == nil, noHeaders: r.flags.noHeaders, events: r.flags.events,
		}
		return nil
	}
}

func (r *reading) fieldSelector() string {
	if r.name == "" {
		return r.flags.fields
	}
	name := "metadata.name=" + selector.EscapeValue(r.name)
	if r.flags.fields == "" {
		return name
	}
	return r.flags.fields + "," + name
}

// howToStart returns advice if no program listens at the address of the connector, and ""
// otherwise.
func howToStart(err error) string {
	text := err.Error()
	if !strings.Contains(text, "connection to the connector") || !strings.Contains(text, "connection refused") {
		return ""
	}
	return `: start a connector with "watchglass demo" or "watchglass serve", or name another with --server`
}

// retryTime is how long firstSync retries if the server sends Retry-After.
const retryTime = 15 * time.Second

// firstSync waits until a collection is complete. It fails immediately if no server
// responds, because a user waits at the terminal. If the server sends Retry-After,
// firstSync retries for retryTime. The reason is that the first reader in a region of an
// edge must wait until the region has loaded the data.
func firstSync(ctx context.Context, c *client.Collection, f *readFlags) error {
	deadline := time.NewTimer(retryTime)
	defer deadline.Stop()
	retry := true
	for {
		status, changed := c.StatusChange()
		if status.State == api.StateConnecting && status.Err != nil && !(retry && mayRetry(status.Err)) {
			return fmt.Errorf("--server %s: no data: %w%s", f.server, status.Err, howToStart(status.Err))
		}
		if status.State != api.StateConnecting && status.State != api.StateSyncing {
			return explainUnauthorized(c.WaitForSync(ctx), f)
		}
		select {
		case <-changed:
		case <-deadline.C:
			retry = false
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// explainUnauthorized extends a 401 with advice on how to specify a token. It returns
// other errors unchanged.
func explainUnauthorized(err error, f *readFlags) error {
	var status *api.Status
	switch {
	case !errors.As(err, &status) || status.Code != http.StatusUnauthorized:
		return err
	case f.token == "":
		return fmt.Errorf("--server %s: %w; give one with --token or in $WATCHGLASS_TOKEN", f.server, status)
	}
	return fmt.Errorf("--server %s: the token was refused: %w; give another token with --token or in $WATCHGLASS_TOKEN", f.server, status)
}

func mayRetry(err error) bool {
	var status *api.Status
	return errors.As(err, &status) && status.RetryAfterSeconds > 0
}

func getObjects(ctx context.Context, r *reading) error {
	objects, rv, err := r.list(ctx)
	if err != nil {
		return err
	}
	if r.name != "" {
		if len(objects) == 0 {
			return r.notFound()
		}
		if r.flags.output == formatJSON && len(objects) == 1 {
			return r.printer.single(objects[0])
		}
	}
	return r.print(objects, rv)
}

// print writes a list to stdout. If the list is empty, print writes a message to stderr,
// so that programs can parse stdout.
func (r *reading) print(objects []object, rv api.ResourceVersion) error {
	if len(objects) > 0 || r.flags.output == formatJSON {
		return r.printer.list(objects, rv)
	}
	where := ""
	if r.printer.schema.Namespaced && !r.flags.allNamespaces {
		where = " in " + r.flags.namespace + " namespace."
	}
	fmt.Fprintf(r.stderr, "No resources found%s\n", where)
	return nil
}

// pageSize is the number of objects per page. It limits the size of the engine's frames.
const pageSize = 500

func (r *reading) list(ctx context.Context) ([]object, api.ResourceVersion, error) {
	if r.flags.readsView() {
		return r.listMatching(ctx)
	}
	var objects []object
	var items []client.Object
	opts := client.ListOptions{Limit: pageSize}
	for {
		page, err := r.collection.List(ctx, opts)
		if err != nil {
			return nil, 0, err
		}
		for _, o := range page.Items {
			objects = append(objects, o)
		}
		if items = append(items, page.Items...); page.Continue == "" {
			r.recorder.listed(page.ResourceVersion, items)
			return objects, page.ResourceVersion, nil
		}
		opts.Continue = page.Continue
	}
}

func (r *reading) notFound() error {
	resource := r.printer.schema.Resource
	plural := resource.Name
	if resource.Group != "" {
		plural += "." + resource.Group
	}
	if r.flags.query.isSet() {
		return fmt.Errorf("%s %q not found among the objects that match --search and --where", plural, r.name)
	}
	return fmt.Errorf("%s %q not found", plural, r.name)
}

// resolveArguments parses the arguments RESOURCE [NAME] or, as in kubectl, RESOURCE/NAME.
// The name is optional.
func resolveArguments(cmd *cobra.Command, args []string) (_ api.Resource, name string, err error) {
	text := args[0]
	if len(args) > 1 {
		name = args[1]
	}
	if at := strings.LastIndexByte(text, '/'); at >= 0 {
		kind := text[:at]
		resource, err := resolve(kind)
		switch version, _, several := strings.Cut(kind, "/"); {
		case err == nil && (resource.Group != "" || !several):
			if len(args) > 1 || at == len(text)-1 {
				return api.Resource{}, "", misused(cmd, fmt.Sprintf("%q: expected one name: %s %s/NAME", strings.Join(args, " "), cmd.CommandPath(), kind))
			}
			return resource, text[at+1:], nil
		case !several && !versions.MatchString(version):
			return api.Resource{}, "", err
		}
	}
	resource, err := resolve(text)
	return resource, name, err
}

// versions matches the version of a resource in the core group, as in v1/pods.
var versions = regexp.MustCompile(`^v[0-9]`)

// maxSuggestions is the maximum number of resources that an error suggests.
const maxSuggestions = 3

// resolve parses a resource in any notation that the help of get describes.
func resolve(text string) (api.Resource, error) {
	if strings.Contains(text, "/") {
		return api.ParseResource(text)
	}
	name, group, grouped := strings.Cut(strings.ToLower(text), ".")
	names := &cobra.Command{SuggestionsMinimumDistance: 2} // finds similar names
	for _, s := range catalog.All() {
		named := s.Resource.Name == name || strings.ToLower(s.Kind) == name ||
			slices.Contains(source.Describe(&s).ShortNames, name)
		if named && (!grouped || s.Resource.Group == group) {
			return s.Resource, nil
		}
		names.AddCommand(&cobra.Command{Use: s.Resource.Name, Run: func(*cobra.Command, []string) {}})
	}
	near := ""
	if similar := names.SuggestionsFor(name); len(similar) > 0 {
		slices.Sort(similar)
		similar = slices.Compact(similar)
		near = "did you mean " + strings.Join(similar[:min(len(similar), maxSuggestions)], " or ") + "? "
	}
	return api.Resource{}, fmt.Errorf("resource %q is not built in: %swrite other resources as group/version/plural, such as apps/v1/deployments", text, near)
}

// resolveAll parses the resources of a flag.
func resolveAll(flag string, texts []string) ([]api.Resource, error) {
	resources := make([]api.Resource, len(texts))
	for i, text := range texts {
		var err error
		if resources[i], err = resolve(text); err != nil {
			return nil, fmt.Errorf("%s: %w", flag, err)
		}
	}
	return resources, nil
}
