package source

import "github.com/watchglass/watchglass/core/api"

func storageCatalog() []api.Schema {
	return []api.Schema{
		clusterScoped("", "v1", "persistentvolumes", "PersistentVolume",
			columns(
				text("Capacity", ".spec.capacity.storage"),
				text("Access Modes", ".spec.accessModes[*]"),
				text("Reclaim Policy", ".spec.persistentVolumeReclaimPolicy"),
				text("Status", ".status.phase"),
				text("Claim Namespace", ".spec.claimRef.namespace"),
				text("Claim", ".spec.claimRef.name"),
				text("StorageClass", ".spec.storageClassName"),
				text("VolumeAttributesClass", ".spec.volumeAttributesClassName"),
				text("Reason", ".status.reason"),
				age(),
				wide(text("VolumeMode", ".spec.volumeMode")),
			)),
		clusterScoped("storage.k8s.io", "v1", "storageclasses", "StorageClass",
			columns(
				text("Provisioner", ".provisioner"),
				text("ReclaimPolicy", ".reclaimPolicy"),
				text("VolumeBindingMode", ".volumeBindingMode"),
				boolean("AllowVolumeExpansion", ".allowVolumeExpansion"),
				age(),
			)),
	}
}

func rbacCatalog() []api.Schema {
	const group, version = "rbac.authorization.k8s.io", "v1"
	bound := func() []api.Column {
		return columns(
			text("Role Kind", ".roleRef.kind"),
			text("Role", ".roleRef.name"),
			age(),
			wide(text("Subjects", ".subjects[*].name")),
		)
	}
	return []api.Schema{
		namespaced(group, version, "roles", "Role", columns(age())),
		namespaced(group, version, "rolebindings", "RoleBinding", bound()),
		clusterScoped(group, version, "clusterroles", "ClusterRole", columns(age())),
		clusterScoped(group, version, "clusterrolebindings", "ClusterRoleBinding", bound()),
	}
}

func platformCatalog() []api.Schema {
	return []api.Schema{
		namespaced("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice",
			columns(
				text("AddressType", ".addressType"),
				text("Ports", ".ports[*].port"),
				text("Endpoints", ".endpoints[*].addresses[*]"),
				age(),
			)),
		namespaced("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler",
			columns(
				text("Reference Kind", ".spec.scaleTargetRef.kind"),
				text("Reference", ".spec.scaleTargetRef.name"),
				integer("MinPods", ".spec.minReplicas"),
				integer("MaxPods", ".spec.maxReplicas"),
				integer("Replicas", ".status.currentReplicas"),
				age(),
			)),
		namespaced("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget",
			columns(
				text("Min Available", ".spec.minAvailable"),
				text("Max Unavailable", ".spec.maxUnavailable"),
				integer("Allowed Disruptions", ".status.disruptionsAllowed"),
				age(),
			)),
		namespaced("coordination.k8s.io", "v1", "leases", "Lease",
			columns(text("Holder", ".spec.holderIdentity"), age())),
		clusterScoped("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition",
			columns(
				text("Group", ".spec.group"),
				text("Kind", ".spec.names.kind"),
				text("Scope", ".spec.scope"),
				age(),
			)),
	}
}
