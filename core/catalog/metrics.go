package catalog

import "github.com/watchglass/watchglass/core/api"

// Metrics returns the schemas of the resources of metrics.k8s.io. All omits these
// resources, because they are neither stored in etcd nor watched. The columns are those
// of metrics-server's own tables. The result is a fresh copy.
func Metrics() []api.Schema {
	const group, version = "metrics.k8s.io", "v1beta1"
	return []api.Schema{{
		Resource: api.Resource{Group: group, Version: version, Name: "nodes"},
		Kind:     "NodeMetrics",
		Fields:   []string{"metadata.name"},
		Columns: []api.Column{
			{Name: "CPU", Kind: api.String, Path: ".usage.cpu"},
			{Name: "Memory", Kind: api.String, Path: ".usage.memory"},
			{Name: "Window", Kind: api.String, Path: ".window"},
		},
	}, {
		Resource:   api.Resource{Group: group, Version: version, Name: "pods"},
		Kind:       "PodMetrics",
		Namespaced: true,
		Fields:     []string{"metadata.name", "metadata.namespace"},
		Columns: []api.Column{
			{Name: "CPU", Kind: api.String, Printer: "sum", Path: ".containers[*].usage.cpu"},
			{Name: "Memory", Kind: api.String, Printer: "sum", Path: ".containers[*].usage.memory"},
			{Name: "Window", Kind: api.String, Path: ".window"},
		},
	}}
}
