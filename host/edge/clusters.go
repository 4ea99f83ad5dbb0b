package edge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/watchglass/watchglass/core/api"
)

// DefaultCluster is the cluster of requests that do not name one.
const DefaultCluster = "default"

// Clusters are the clusters of an edge and the objects that hold them.
type Clusters map[string]Cluster

// Cluster describes how one cluster is divided over objects. Without shards one
// object contains all of it.
type Cluster struct {
	Shards []Shard `json:"shards"`
	// Regions is the number of objects per part of the world that serve the readers
	// of each shard. The shards must then name their resources. Zero means none. The
	// JavaScript entry routes readers to them. The requests of this package go to
	// the fed object.
	Regions int `json:"regions"`
}

// Shard contains the named resources of a cluster. Without names it contains all
// resources that the shards before it do not contain. It is one object, or several
// objects that each have part of the namespaces.
type Shard struct {
	Name      string   `json:"name"`
	Resources []string `json:"resources"`
	// NamespaceShards is the number of objects among which namespaces are divided,
	// by [api.ShardOf]. Zero means one object with all of them. Such a shard cannot
	// contain cluster-scoped resources.
	NamespaceShards uint32 `json:"namespaceShards"`
}

// maxNamespaceShards limits the number of objects that /readyz and /metrics query,
// and the connections of a connector.
const maxNamespaceShards = 256

// whole is the name of the only shard of an undivided cluster.
const whole = "all"

// ParseClusters parses the configuration, a JSON object. An empty text means one
// cluster called [DefaultCluster] in one object.
func ParseClusters(text string) (Clusters, error) {
	if text == "" {
		return Clusters{DefaultCluster: {}}, nil
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	var clusters Clusters
	if err := decoder.Decode(&clusters); err != nil {
		return nil, fmt.Errorf(`invalid clusters, expected an object such as {"default": {"shards": [{"name": "pods", "resources": ["v1/pods"]}, {"name": "rest"}]}}: %w`, err)
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
	if c.Regions < 0 || c.Regions > 0 && slices.ContainsFunc(c.shards(), func(s Shard) bool { return len(s.Resources) == 0 }) {
		return fmt.Errorf("cluster %s has %d regions: expected none, or shards that all name their resources", cluster, c.Regions)
	}
	for i, s := range c.Shards {
		if !isName(s.Name) {
			return fmt.Errorf("cluster %s, shard %d: the name %q is not of lower case letters, digits, '-' and '.'", cluster, i+1, s.Name)
		}
		if slices.ContainsFunc(c.Shards[:i], func(other Shard) bool { return other.Name == s.Name }) {
			return fmt.Errorf("cluster %s: two shards are called %s", cluster, s.Name)
		}
		if err := s.checkDivision(cluster); err != nil {
			return err
		}
		for _, r := range s.Resources {
			if _, err := api.ParseResource(r); err != nil {
				return fmt.Errorf("cluster %s, shard %s: %w", cluster, s.Name, err)
			}
		}
	}
	return nil
}

// shards returns the shards, at least one.
func (c Cluster) shards() []Shard {
	if len(c.Shards) == 0 {
		return []Shard{{Name: whole}}
	}
	return c.Shards
}

// find returns the first shard that holds a resource.
func (c Cluster) find(resource string) (*Shard, *api.Status) {
	shards := c.shards()
	for i := range shards {
		if len(shards[i].Resources) == 0 || slices.Contains(shards[i].Resources, resource) {
			return &shards[i], nil
		}
	}
	return nil, api.NotFound("this edge does not have the resource " + resource)
}

// checkDivision checks that namespaces are divided over several objects or not at
// all.
func (s *Shard) checkDivision(cluster string) error {
	switch n := s.NamespaceShards; {
	case n == 0:
		return nil
	case n == 1 || n > maxNamespaceShards:
		return fmt.Errorf("cluster %s, shard %s: %d namespaceShards, expected 2 to %d, or none for one object", cluster, s.Name, n, maxNamespaceShards)
	case len(s.Resources) == 0:
		return fmt.Errorf("cluster %s, shard %s: it is divided by namespace, so it must name its resources: some have no namespaces", cluster, s.Name)
	}
	return nil
}

// objects returns the names of the objects of all shards, within the cluster.
func (c Cluster) objects() []string {
	var names []string
	for _, s := range c.shards() {
		for i := range max(s.NamespaceShards, 1) {
			names = append(names, s.object(i))
		}
	}
	return names
}

// object returns the name of the i-th object of the shard, within the cluster. The
// name contains the number of objects, so a different division has different
// objects. Objects of a former division serve no requests and delete themselves
// after some time.
func (s *Shard) object(i uint32) string {
	if s.NamespaceShards == 0 {
		return s.Name
	}
	return s.Name + "/" + api.Shard{Index: i, Count: s.NamespaceShards}.String()
}

// place returns the object that holds a namespace of a resource, or all of the
// resource if the namespace is empty. If the resource is divided by namespace, no
// object holds all of it. Responses of several objects are not combined, because
// their versions differ.
func (c Cluster) place(resource, namespace string) (string, *api.Status) {
	s, status := c.find(resource)
	switch {
	case status != nil:
		return "", status
	case s.NamespaceShards == 0:
		return s.Name, nil
	case namespace == "":
		return "", api.BadRequest(fmt.Sprintf("%s is divided by namespace over %d objects of this edge: request one namespace, or all of one object over a WebSocket, as watchglass get does with /watch?shard=0-of-%d",
			resource, s.NamespaceShards, s.NamespaceShards))
	}
	return s.object(api.ShardOf(namespace, s.NamespaceShards).Index), nil
}

// isName reports whether a text is valid in a path and in the name of an object.
func isName(text string) bool {
	return text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789-.") == ""
}

// objectName returns the name of an object of a cluster.
func objectName(cluster, object string) string { return cluster + "/" + object }
