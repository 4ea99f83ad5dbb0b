package etcd

import (
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
)

// KubernetesPaths returns the paths of kube-apiserver's built-in resources. Most paths
// are the resource's name without the group. A few are historical names. In the groups
// apiextensions.k8s.io and apiregistration.k8s.io, the group precedes the name, as for
// custom resources.
func KubernetesPaths() map[api.Resource]string {
	paths := map[api.Resource]string{
		{Version: "v1", Name: "nodes"}:                                 "minions",
		{Version: "v1", Name: "endpoints"}:                             "services/endpoints",
		{Version: "v1", Name: "replicationcontrollers"}:                "controllers",
		{Version: "v1", Name: "services"}:                              "services/specs",
		{Group: "networking.k8s.io", Version: "v1", Name: "ingresses"}: "ingress",
	}
	for _, s := range catalog.All() {
		_, special := paths[s.Resource]
		if !special && s.Resource.Group != "" && s.Resource.Group != "apiextensions.k8s.io" && s.Resource.Group != "apiregistration.k8s.io" {
			paths[s.Resource] = s.Resource.Name
		}
	}
	return paths
}

// keyspace is the range of the etcd keys that belong to one resource.
type keyspace struct {
	prefix     string // ends with a slash, so that "pods" does not include "pods2"
	namespaced bool
}

func (c *Config) keyspace(resource api.Resource) (keyspace, error) {
	schema, err := catalog.Lookup(c.Resources, resource)
	if err != nil {
		return keyspace{}, err
	}
	path, ok := c.Paths[resource]
	if !ok {
		path = strings.TrimPrefix(resource.Group+"/"+resource.Name, "/")
	}
	return keyspace{prefix: c.Prefix + "/" + path + "/", namespaced: schema.Namespaced}, nil
}

// key returns the object key that an etcd key contains. ok reports whether the object key
// has the expected form: "namespace/name", or "name" for a cluster-scoped resource.
func (s keyspace) key(raw []byte) (key api.Key, ok bool) {
	rest, ok := strings.CutPrefix(string(raw), s.prefix)
	if !ok {
		return "", false
	}
	namespace, name, slash := strings.Cut(rest, "/")
	if !s.namespaced {
		return api.Key(rest), rest != "" && !slash
	}
	return api.Key(rest), namespace != "" && name != "" && !strings.Contains(name, "/")
}
