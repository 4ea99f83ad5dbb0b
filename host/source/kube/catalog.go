package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/host/internal/apiversion"
	"github.com/watchglass/watchglass/host/source"
)

// resource is a resource of the server that the source can stream.
type resource struct {
	api.Resource
	Kind       string
	namespaced bool
	names      []string // plural, singular and short names
	described  source.Description
}

// directory caches the server's resources. It requests the resources again when the
// cached ones are older than DiscoveryTTL, or when a resource is missing.
type directory struct {
	source *Source

	mu    sync.Mutex // held during a request, so that concurrent callers share the result
	all   []*resource
	asked time.Time
	// misses limits how often missing resources cause discoveries.
	misses *rate.Limiter
	// definitions contains the last definition of each custom resource whose schema was
	// requested.
	definitions map[api.Resource]*definition
}

// find returns the resource with the given name, or a 404 if the server does not serve
// it.
func (c *directory) find(ctx context.Context, name api.Resource) (*resource, error) {
	all, err := c.resources(ctx, func(r *resource) bool { return r.Resource == name })
	if err != nil {
		return nil, err
	}
	var names []api.Resource
	for _, r := range all {
		if r.Resource == name {
			return r, nil
		}
		names = append(names, r.Resource)
	}
	return nil, catalog.NotServed(name, "by kube-apiserver "+c.source.base.Host+", or cannot be watched", names)
}

// These constants limit the discoveries that missing resources cause. Above the limit,
// the directory uses its last discovery and returns a 404 for a missing resource. Clients
// that request unknown resources thus neither flood the server nor wait.
const (
	missesPerSecond = 1
	missesAtOnce    = 10
)

// resources returns all resources, sorted by name. If the function wanted accepts none of
// them, resources requests them from the server again, within the limits above. The
// missing resource may be new.
func (c *directory) resources(ctx context.Context, wanted func(*resource) bool) ([]*resource, error) {
	began := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	fresh := time.Since(c.asked) < c.source.config.DiscoveryTTL
	if fresh && (slices.ContainsFunc(c.all, wanted) || !c.asked.Before(began) || !c.misses.Allow()) {
		return c.all, nil
	}
	asked := time.Now()
	all, err := c.discover(ctx)
	if err != nil {
		return nil, err
	}
	c.all, c.asked = all, asked
	return all, nil
}

// discover requests the resources from the server. If a group fails, such as an
// aggregated one whose server is down, it returns the resources of the other groups.
func (c *directory) discover(ctx context.Context) ([]*resource, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.source.config.RequestTimeout,
		fmt.Errorf("no response within %v", c.source.config.RequestTimeout))
	defer cancel()
	client, err := discovery.NewDiscoveryClientForConfigAndClient(rest.CopyConfig(c.source.config.REST), c.source.client.Load())
	if err != nil {
		return nil, fmt.Errorf("kube source: %w", err)
	}
	_, lists, err := client.ServerGroupsAndResourcesWithContext(ctx)
	var partial *discovery.ErrGroupDiscoveryFailed
	switch {
	case errors.As(err, &partial):
		c.source.config.Logger.Warn("discovery of some API groups failed", "error", err)
	case err != nil:
		return nil, fmt.Errorf("kube-apiserver %s: discovery: %w", c.source.base.Host, discoveryError(ctx, err))
	}
	var all []*resource
	for _, list := range lists {
		for i := range list.APIResources {
			if r := toResource(list.GroupVersion, &list.APIResources[i]); r != nil && c.source.reads(r, &list.APIResources[i]) {
				all = append(all, r)
			}
		}
	}
	slices.SortFunc(all, func(a, b *resource) int { return cmp.Compare(a.String(), b.String()) })
	return all, nil
}

// discoveryError converts a refusal by the server to an api.Status, and returns any other
// error as transportError does.
func discoveryError(ctx context.Context, err error) error {
	var status interface{ Status() metav1.Status }
	if !errors.As(err, &status) {
		return transportError(ctx, err)
	}
	s := status.Status()
	return &api.Status{Code: int(s.Code), Reason: api.Reason(s.Reason), Message: s.Message}
}

// reads reports whether a resource can be watched or polled.
func (s *Source) reads(r *resource, listed *metav1.APIResource) bool {
	if metricsSchema(r.Resource) != nil {
		return s.config.MetricsInterval > 0
	}
	return slices.Contains(listed.Verbs, "watch")
}

// toResource converts a resource from the discovery format. It returns nil for resources
// that cannot be listed, such as subresources and reviews.
func toResource(groupVersion string, r *metav1.APIResource) *resource {
	if strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "list") {
		return nil
	}
	group, version, found := strings.Cut(groupVersion, "/")
	if !found {
		group, version = "", groupVersion
	}
	singular := cmp.Or(r.SingularName, strings.ToLower(r.Kind)) // kubectl uses the same default
	names := append([]string{r.Name, singular}, r.ShortNames...)
	name := api.Resource{Group: group, Version: version, Name: r.Name}
	return &resource{
		Resource:   name,
		Kind:       r.Kind,
		namespaced: r.Namespaced,
		names:      slices.DeleteFunc(names, func(n string) bool { return n == "" }),
		described: source.Description{
			Resource: name, Kind: r.Kind, Singular: singular, Namespaced: r.Namespaced,
			ShortNames: r.ShortNames, Categories: r.Categories,
		},
	}
}

// Resources implements source.Source.
func (s *Source) Resources(ctx context.Context) ([]api.Resource, error) {
	all, err := s.catalog.resources(ctx, func(*resource) bool { return true })
	if err != nil {
		return nil, err
	}
	names := make([]api.Resource, len(all))
	for i, r := range all {
		names[i] = r.Resource
	}
	return names, nil
}

// Describe implements source.Describer.
func (s *Source) Describe(ctx context.Context) ([]source.Description, error) {
	all, err := s.catalog.resources(ctx, func(*resource) bool { return true })
	if err != nil {
		return nil, err
	}
	described := make([]source.Description, len(all))
	for i, r := range all {
		described[i] = r.described
	}
	return described, nil
}

// Schema implements source.Source.
func (s *Source) Schema(ctx context.Context, name api.Resource) (*api.Schema, error) {
	r, err := s.catalog.find(ctx, name)
	if err != nil {
		return nil, err
	}
	if known := cmp.Or(metricsSchema(name), catalog.Find(name)); known != nil {
		return known, nil
	}
	d, err := s.catalog.define(ctx, r)
	if err != nil {
		return nil, err
	}
	return d.schema(r), nil
}

// Resolve finds a resource by any name that kubectl accepts: plural, singular or short. A
// group may follow after a dot ("deploy.apps"), with an optional version between them
// ("deployments.v1.apps"). If several resources match, it prefers the core group, then
// the first group by name, and the most stable version.
func (s *Source) Resolve(ctx context.Context, text string) (api.Resource, error) {
	if r, err := api.ParseResource(text); err == nil {
		return r, nil
	}
	name, rest, _ := strings.Cut(strings.ToLower(text), ".")
	matches := func(r *resource) bool {
		return slices.Contains(r.names, name) && (rest == "" || rest == r.Group || rest == r.Version+"."+r.Group || rest == r.Version)
	}
	all, err := s.catalog.resources(ctx, matches)
	if err != nil {
		return api.Resource{}, err
	}
	var best *resource
	for _, r := range all {
		if matches(r) && (best == nil || r.Group == best.Group && apiversion.MoreStable(r.Version, best.Version) || r.Group == "" && best.Group != "") {
			best = r
		}
	}
	if best == nil {
		return api.Resource{}, api.NotFound("kube-apiserver " + s.base.Host + " has no resource " + fmt.Sprintf("%q", text) +
			" that can be watched; see what there is with: kubectl api-resources --verbs=list,watch")
	}
	return best.Resource, nil
}

// isNotFound reports whether an error is a 404.
func isNotFound(err error) bool {
	var status *api.Status
	return errors.As(err, &status) && status.Code == http.StatusNotFound
}
