package edge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/watchglass/watchglass/core/api"
)

// DefaultCluster is the cluster of requests that name no cluster.
const DefaultCluster = "default"

// Clusters describes the clusters of an edge, by name.
type Clusters map[string]Cluster

// Cluster describes how the resources of one cluster are divided among Durable Objects.
// Without groups, one object contains the whole cluster.
type Cluster struct {
	Groups []Group `json:"groups"`
	// Regions is the number of regional objects per continent that serve the readers of each
	// object. Zero means none; otherwise, the groups must name their resources. The
	// JavaScript entry routes readers to the regional objects. This package sends its
	// requests to the object that the connector feeds.
	Regions int `json:"regions"`
}

// Group contains the named resources of a cluster. Without names, it contains all
// resources that the groups before it do not contain. One object stores the group, or
// several objects that each store one shard of the namespaces; see [api.Shard].
type Group struct {
	Name      string   `json:"name"`
	Resources []string `json:"resources"`
	// Shards is the number of shards of the namespaces, each in its own object. Zero
	// means one object with all namespaces. A group with shards cannot contain
	// cluster-scoped resources.
	Shards uint32 `json:"shards"`
}

// maxShards limits the number of objects that /readyz and /metrics query, and the
// connections of a connector.
const maxShards = 256

// whole is the name of the only group of an undivided cluster.
const whole = "all"

// ParseClusters parses the configuration, a JSON object. An empty text means one cluster
// called [DefaultCluster] in one object.
func ParseClusters(text string) (Clusters, error) {
	if text == "" {
		return Clusters{DefaultCluster: {}}, nil
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	var clusters Clusters
	if err := decoder.Decode(&clusters); err != nil {
		return nil, fmt.Errorf(`invalid clusters, expected an object such as {"default": {"groups": [{"name": "pods", "resources": ["v1/pods"]}, {"name": "rest"}]}}: %w`, err)
	}
	for cluster, c := range clusters {
		if err := c.check(cluster); err != nil {
			return nil, err
		}
	}
	return clusters, nil
}

func (c Cluster) check(cluster string) error {
	if !isName(cluster) {
		return fmt.Errorf("cluster %q: expected lower case letters, digits, '-' and '.'", cluster)
	}
	if c.Regions < 0 || c.Regions > 0 && slices.ContainsFunc(c.groups(), func(g Group) bool { return len(g.Resources) == 0 }) {
		return fmt.Errorf("cluster %s has %d regions: expected none, or groups that all name their resources", cluster, c.Regions)
	}
	for i, g := range c.Groups {
		if !isName(g.Name) {
			return fmt.Errorf("cluster %s, group %d: the name %q is not of lower case letters, digits, '-' and '.'", cluster, i+1, g.Name)
		}
		if slices.ContainsFunc(c.Groups[:i], func(other Group) bool { return other.Name == g.Name }) {
			return fmt.Errorf("cluster %s: two groups are called %s", cluster, g.Name)
		}
		if err := g.checkShards(cluster); err != nil {
			return err
		}
		for _, r := range g.Resources {
			if _, err := api.ParseResource(r); err != nil {
				return fmt.Errorf("cluster %s, group %s: %w", cluster, g.Name, err)
			}
		}
	}
	return nil
}

// groups returns the configured groups, or else one group with all resources.
func (c Cluster) groups() []Group {
	if len(c.Groups) == 0 {
		return []Group{{Name: whole}}
	}
	return c.Groups
}

// find returns the first group that contains a resource, or a 404.
func (c Cluster) find(resource string) (*Group, *api.Status) {
	groups := c.groups()
	for i := range groups {
		if len(groups[i].Resources) == 0 || slices.Contains(groups[i].Resources, resource) {
			return &groups[i], nil
		}
	}
	return nil, api.NotFound("this edge does not have the resource " + resource)
}

// checkShards checks that a group has no shards, or that it names its resources and has
// a valid number of shards.
func (g *Group) checkShards(cluster string) error {
	switch n := g.Shards; {
	case n == 0:
		return nil
	case n == 1 || n > maxShards:
		return fmt.Errorf("cluster %s, group %s: %d shards, expected 2 to %d, or none for one object", cluster, g.Name, n, maxShards)
	case len(g.Resources) == 0:
		return fmt.Errorf("cluster %s, group %s: it is divided by namespace, so it must name its resources: some have no namespaces", cluster, g.Name)
	}
	return nil
}

// objects returns the names of the objects of all groups, without the name of the cluster.
func (c Cluster) objects() []string {
	var names []string
	for _, g := range c.groups() {
		for i := range max(g.Shards, 1) {
			names = append(names, g.object(i))
		}
	}
	return names
}

// object returns the name of the i-th object of the group, without the name of the
// cluster. The name contains the number of shards, so changing this number selects other
// objects. The former objects receive no requests and delete themselves after some time.
func (g *Group) object(i uint32) string {
	if g.Shards == 0 {
		return g.Name
	}
	return g.Name + "/" + api.Shard{Index: i, Count: g.Shards}.String()
}

// objectFor returns the name of the object that contains a namespace of a resource, or the
// whole resource if the namespace is empty. It refuses an empty namespace if the resource
// is divided by namespace: responses of several objects cannot be combined, because their
// versions differ.
func (c Cluster) objectFor(resource, namespace string) (string, *api.Status) {
	g, status := c.find(resource)
	switch {
	case status != nil:
		return "", status
	case g.Shards == 0:
		return g.Name, nil
	case namespace == "":
		return "", api.BadRequest(fmt.Sprintf("%s is divided by namespace over %d objects of this edge: request one namespace, or all of one object over a WebSocket, as watchglass get does with /watch?shard=0-of-%d",
			resource, g.Shards, g.Shards))
	}
	return g.object(api.ShardOf(namespace, g.Shards).Index), nil
}

// isName reports whether a text is valid in a path and in the name of an object.
func isName(text string) bool {
	return text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789-.") == ""
}

// objectName returns the full name of an object, which includes the cluster.
func objectName(cluster, object string) string { return cluster + "/" + object }
