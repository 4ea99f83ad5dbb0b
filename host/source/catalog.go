package source

import (
	"slices"
	"strings"

	"github.com/watchglass/watchglass/core/api"
)

// Catalog describes the well-known Kubernetes resources: the fields Kubernetes
// lets one select on and columns like those of kubectl. It is a fresh copy.
//
// A column is the value at a path, so what kubectl's server puts together is
// missing, such as the status of a pod, the data of a config map or the selector of
// a network policy, or is several columns here: a volume's claim, the reference of
// an autoscaler, the role of a binding. A value that is not there is null, where the
// server has words or zeros.
//
// Declared fields whose value is not what lies at the path of that name are
// left out, so that selecting on one is refused instead of answered wrongly:
// spec.hostNetwork of Pods and spec.unschedulable of Nodes (absent means
// "false"), source of Events (is source.component), status.successful of Jobs
// (is status.succeeded).
func Catalog() []api.Schema {
	return slices.Concat(coreCatalog(), appsCatalog(), batchCatalog(), networkingCatalog(),
		storageCatalog(), rbacCatalog(), platformCatalog())
}

// Lookup finds a resource among schemas, or returns a 404 *api.Status that
// names the ones there are. The result points into schemas and is read-only.
func Lookup(schemas []api.Schema, resource api.Resource) (*api.Schema, error) {
	for i := range schemas {
		if schemas[i].Resource == resource {
			return &schemas[i], nil
		}
	}
	var names []string
	for _, r := range Names(schemas) {
		names = append(names, r.String())
	}
	return nil, api.NotFound("resource " + resource.String() + " is not served here; there are: " + strings.Join(names, ", "))
}

// Names are the resources of schemas, sorted by their text form.
func Names(schemas []api.Schema) []api.Resource {
	resources := make([]api.Resource, len(schemas))
	for i := range schemas {
		resources[i] = schemas[i].Resource
	}
	slices.SortFunc(resources, func(a, b api.Resource) int { return strings.Compare(a.String(), b.String()) })
	return resources
}

func coreCatalog() []api.Schema {
	return []api.Schema{
		namespaced("", "v1", "pods", "Pod",
			columns(
				text("Phase", ".status.phase"),
				integer("Restarts", ".status.containerStatuses[*].restartCount"),
				text("Node", ".spec.nodeName"),
				age(),
				wide(text("IP", ".status.podIP")),
				wide(text("Containers", ".spec.containers[*].name")),
				wide(text("Images", ".spec.containers[*].image")),
			),
			"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
			"status.phase", "status.podIP", "status.nominatedNodeName"),
		clusterScoped("", "v1", "nodes", "Node",
			columns(
				boolean("Unschedulable", ".spec.unschedulable"),
				text("Version", ".status.nodeInfo.kubeletVersion"),
				text("CPU", ".status.capacity.cpu"),
				text("Memory", ".status.capacity.memory"),
				age(),
				wide(text("Addresses", ".status.addresses[*].address")),
				wide(text("OS", ".status.nodeInfo.osImage")),
				wide(text("Kernel", ".status.nodeInfo.kernelVersion")),
				wide(text("Runtime", ".status.nodeInfo.containerRuntimeVersion")),
			)),
		clusterScoped("", "v1", "namespaces", "Namespace",
			columns(text("Status", ".status.phase"), age()),
			"status.phase"),
		namespaced("", "v1", "services", "Service",
			columns(
				text("Type", ".spec.type"),
				text("Cluster-IP", ".spec.clusterIP"),
				text("External-IP", ".status.loadBalancer.ingress[*].ip"),
				age(),
			),
			"spec.clusterIP", "spec.type"),
		namespaced("", "v1", "configmaps", "ConfigMap",
			columns(boolean("Immutable", ".immutable"), age())),
		namespaced("", "v1", "secrets", "Secret",
			columns(text("Type", ".type"), boolean("Immutable", ".immutable"), age()),
			"type"),
		namespaced("", "v1", "events", "Event",
			columns(
				date("Last Seen", ".lastTimestamp"),
				text("Type", ".type"),
				text("Reason", ".reason"),
				text("Kind", ".involvedObject.kind"),
				text("Object", ".involvedObject.name"),
				text("Message", ".message"),
				wide(text("Source", ".source.component")),
				wide(date("First Seen", ".firstTimestamp")),
				wide(integer("Count", ".count")),
			),
			"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
			"involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath",
			"reason", "reportingComponent", "type"),
		namespaced("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim",
			columns(
				text("Status", ".status.phase"),
				text("Volume", ".spec.volumeName"),
				text("Capacity", ".status.capacity.storage"),
				text("Access Modes", ".spec.accessModes[*]"),
				text("StorageClass", ".spec.storageClassName"),
				age(),
				wide(text("VolumeMode", ".spec.volumeMode")),
			)),
		namespaced("", "v1", "serviceaccounts", "ServiceAccount", columns(age())),
	}
}

func appsCatalog() []api.Schema {
	return []api.Schema{
		namespaced("apps", "v1", "deployments", "Deployment",
			columns(
				integer("Ready", ".status.readyReplicas"),
				integer("Desired", ".spec.replicas"),
				integer("Up-to-date", ".status.updatedReplicas"),
				integer("Available", ".status.availableReplicas"),
				age(),
				wide(text("Containers", ".spec.template.spec.containers[*].name")),
				wide(text("Images", ".spec.template.spec.containers[*].image")),
			)),
		namespaced("apps", "v1", "replicasets", "ReplicaSet",
			columns(
				integer("Desired", ".spec.replicas"),
				integer("Current", ".status.replicas"),
				integer("Ready", ".status.readyReplicas"),
				age(),
				wide(text("Containers", ".spec.template.spec.containers[*].name")),
				wide(text("Images", ".spec.template.spec.containers[*].image")),
			),
			"status.replicas"),
		namespaced("apps", "v1", "statefulsets", "StatefulSet",
			columns(
				integer("Ready", ".status.readyReplicas"),
				integer("Desired", ".spec.replicas"),
				age(),
				wide(text("Containers", ".spec.template.spec.containers[*].name")),
				wide(text("Images", ".spec.template.spec.containers[*].image")),
			)),
		namespaced("apps", "v1", "daemonsets", "DaemonSet",
			columns(
				integer("Desired", ".status.desiredNumberScheduled"),
				integer("Current", ".status.currentNumberScheduled"),
				integer("Ready", ".status.numberReady"),
				integer("Up-to-date", ".status.updatedNumberScheduled"),
				integer("Available", ".status.numberAvailable"),
				age(),
				wide(text("Containers", ".spec.template.spec.containers[*].name")),
				wide(text("Images", ".spec.template.spec.containers[*].image")),
			)),
	}
}

func batchCatalog() []api.Schema {
	return []api.Schema{
		namespaced("batch", "v1", "jobs", "Job",
			columns(
				integer("Succeeded", ".status.succeeded"),
				integer("Completions", ".spec.completions"),
				integer("Active", ".status.active"),
				integer("Failed", ".status.failed"),
				date("Started", ".status.startTime"),
				age(),
				wide(text("Images", ".spec.template.spec.containers[*].image")),
			)),
		namespaced("batch", "v1", "cronjobs", "CronJob",
			columns(
				text("Schedule", ".spec.schedule"),
				text("Timezone", ".spec.timeZone"),
				boolean("Suspend", ".spec.suspend"),
				date("Last Schedule", ".status.lastScheduleTime"),
				age(),
				wide(text("Images", ".spec.jobTemplate.spec.template.spec.containers[*].image")),
			)),
	}
}

func networkingCatalog() []api.Schema {
	return []api.Schema{
		namespaced("networking.k8s.io", "v1", "ingresses", "Ingress",
			columns(
				text("Class", ".spec.ingressClassName"),
				text("Hosts", ".spec.rules[*].host"),
				text("Address", ".status.loadBalancer.ingress[*].ip"),
				age(),
			)),
		namespaced("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy",
			columns(text("Policy Types", ".spec.policyTypes[*]"), age())),
	}
}

func namespaced(group, version, name, kind string, cols []api.Column, fields ...string) api.Schema {
	return api.Schema{
		Resource:   api.Resource{Group: group, Version: version, Name: name},
		Kind:       kind,
		Namespaced: true,
		Fields:     append([]string{"metadata.name", "metadata.namespace"}, fields...),
		Columns:    cols,
	}
}

func clusterScoped(group, version, name, kind string, cols []api.Column, fields ...string) api.Schema {
	return api.Schema{
		Resource: api.Resource{Group: group, Version: version, Name: name},
		Kind:     kind,
		Fields:   append([]string{"metadata.name"}, fields...),
		Columns:  cols,
	}
}

func columns(cols ...api.Column) []api.Column { return cols }

func text(name, path string) api.Column {
	return api.Column{Name: name, Kind: api.String, Path: path}
}

func integer(name, path string) api.Column {
	return api.Column{Name: name, Kind: api.Integer, Path: path}
}

func boolean(name, path string) api.Column {
	return api.Column{Name: name, Kind: api.Bool, Path: path}
}

func date(name, path string) api.Column {
	return api.Column{Name: name, Kind: api.Date, Path: path}
}

func age() api.Column { return date("Age", ".metadata.creationTimestamp") }

func wide(c api.Column) api.Column {
	c.Priority = 1
	return c
}
