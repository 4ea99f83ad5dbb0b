package etcd

import (
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/source"
)

// KubernetesPaths is Config.Paths for an etcd that kube-apiserver writes: its
// built-in resources lie there under names of their own.
func KubernetesPaths() map[api.Resource]string {
	paths := map[api.Resource]string{
		{Version: "v1", Name: "nodes"}:                                 "minions",
		{Version: "v1", Name: "services"}:                              "services/specs",
		{Group: "networking.k8s.io", Version: "v1", Name: "ingresses"}: "ingress",
	}
	for _, name := range []string{"deployments", "replicasets", "statefulsets", "daemonsets"} {
		paths[api.Resource{Group: "apps", Version: "v1", Name: name}] = name
	}
	for _, name := range []string{"jobs", "cronjobs"} {
		paths[api.Resource{Group: "batch", Version: "v1", Name: name}] = name
	}
	return paths
}

// place is where the objects of one resource lie.
type place struct {
	prefix     string // ends with a slash, so that "pods" does not see "pods2"
	namespaced bool
}

func (c *Config) place(resource api.Resource) (place, error) {
	schema, err := source.Lookup(c.Resources, resource)
	if err != nil {
		return place{}, err
	}
	path, ok := c.Paths[resource]
	if !ok {
		path = strings.TrimPrefix(resource.Group+"/"+resource.Name, "/")
	}
	return place{prefix: c.Prefix + "/" + path + "/", namespaced: schema.Namespaced}, nil
}

// key reads an etcd key. It is not ok when the key is not shaped like one of
// the resource: "namespace/name", or "name" when cluster-scoped.
func (p place) key(raw []byte) (key api.Key, ok bool) {
	rest, ok := strings.CutPrefix(string(raw), p.prefix)
	if !ok {
		return "", false
	}
	namespace, name, slash := strings.Cut(rest, "/")
	if !p.namespaced {
		return api.Key(rest), rest != "" && !slash
	}
	return api.Key(rest), namespace != "" && name != "" && !strings.Contains(name, "/")
}
