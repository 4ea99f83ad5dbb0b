package edge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/watchglass/watchglass/core/api"
)

// DefaultCluster is the cluster of requests that name none.
const DefaultCluster = "default"

// Clusters are the clusters of an edge and the objects that hold them.
type Clusters map[string]Cluster

// Cluster is how one cluster is spread over objects. Without shards one object
// holds all of it.
type Cluster struct {
	Shards []Shard `json:"shards"`
	// Regions is how many objects in each part of the world serve readers of
	// each shard, which must say what it holds then; zero for none. The
	// JavaScript entry sends readers there; what this package asks is asked of
	// the object that is fed.
	Regions int `json:"regions"`
}

// Shard is an object that holds some resources of a cluster, or with no resources
// named all that the shards before it do not hold.
type Shard struct {
	Name      string   `json:"name"`
	Resources []string `json:"resources"`
}

// whole is the shard of a cluster that is not split.
const whole = "all"

// ParseClusters reads the configuration, a JSON object. Nothing at all is one
// cluster called [DefaultCluster] in one object.
func ParseClusters(text string) (Clusters, error) {
	if text == "" {
		return Clusters{DefaultCluster: {}}, nil
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	var clusters Clusters
	if err := decoder.Decode(&clusters); err != nil {
		return nil, fmt.Errorf(`the clusters are not what is expected, such as {"default": {"shards": [{"name": "pods", "resources": ["v1/pods"]}, {"name": "rest"}]}}: %w`, err)
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
		for _, r := range s.Resources {
			if _, err := api.ParseResource(r); err != nil {
				return fmt.Errorf("cluster %s, shard %s: %w", cluster, s.Name, err)
			}
		}
	}
	return nil
}

// shards are the shards, of which there is at least one.
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
	return nil, api.NotFound("resource " + resource + " is not kept at this edge")
}

// isName reports whether a text can stand in a path and in the name of an object.
func isName(text string) bool {
	return text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789-.") == ""
}

// objectName is the name of the object of a shard.
func objectName(cluster, shard string) string { return cluster + "/" + shard }
