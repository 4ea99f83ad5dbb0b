package catalog

// table has an entry for each resource. Its first line has the name, kind, scope
// and selectable fields other than name and namespace. Each further line is a
// column with name, type and path, as in a CustomResourceDefinition. The module
// contains the table as text because that is smaller than code.
const table = `v1/pods Pod namespaced spec.nodeName spec.restartPolicy spec.schedulerName spec.serviceAccountName status.phase status.podIP status.nominatedNodeName
Phase|string|.status.phase
Restarts|integer|.status.containerStatuses[*].restartCount
Node|string|.spec.nodeName
Age|date|.metadata.creationTimestamp
IP|string|.status.podIP|wide
Containers|string|.spec.containers[*].name|wide
Images|string|.spec.containers[*].image|wide

v1/nodes Node cluster
Unschedulable|boolean|.spec.unschedulable
Version|string|.status.nodeInfo.kubeletVersion
CPU|string|.status.capacity.cpu
Memory|string|.status.capacity.memory
Age|date|.metadata.creationTimestamp
Addresses|string|.status.addresses[*].address|wide
OS|string|.status.nodeInfo.osImage|wide
Kernel|string|.status.nodeInfo.kernelVersion|wide
Runtime|string|.status.nodeInfo.containerRuntimeVersion|wide

v1/namespaces Namespace cluster status.phase
Status|string|.status.phase
Age|date|.metadata.creationTimestamp

v1/services Service namespaced spec.clusterIP spec.type
Type|string|.spec.type
Cluster-IP|string|.spec.clusterIP
External-IP|string|.status.loadBalancer.ingress[*].ip
Age|date|.metadata.creationTimestamp

v1/configmaps ConfigMap namespaced
Immutable|boolean|.immutable
Age|date|.metadata.creationTimestamp

v1/secrets Secret namespaced type
Type|string|.type
Immutable|boolean|.immutable
Age|date|.metadata.creationTimestamp

v1/events Event namespaced involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid involvedObject.apiVersion involvedObject.resourceVersion involvedObject.fieldPath reason reportingComponent type
Last Seen|date|.lastTimestamp
Type|string|.type
Reason|string|.reason
Kind|string|.involvedObject.kind
Object|string|.involvedObject.name
Message|string|.message
Source|string|.source.component|wide
First Seen|date|.firstTimestamp|wide
Count|integer|.count|wide

v1/persistentvolumeclaims PersistentVolumeClaim namespaced
Status|string|.status.phase
Volume|string|.spec.volumeName
Capacity|string|.status.capacity.storage
Access Modes|string|.spec.accessModes[*]
StorageClass|string|.spec.storageClassName
Age|date|.metadata.creationTimestamp
VolumeMode|string|.spec.volumeMode|wide

v1/serviceaccounts ServiceAccount namespaced
Age|date|.metadata.creationTimestamp

apps/v1/deployments Deployment namespaced
Ready|integer|.status.readyReplicas
Desired|integer|.spec.replicas
Up-to-date|integer|.status.updatedReplicas
Available|integer|.status.availableReplicas
Age|date|.metadata.creationTimestamp
Containers|string|.spec.template.spec.containers[*].name|wide
Images|string|.spec.template.spec.containers[*].image|wide

apps/v1/replicasets ReplicaSet namespaced status.replicas
Desired|integer|.spec.replicas
Current|integer|.status.replicas
Ready|integer|.status.readyReplicas
Age|date|.metadata.creationTimestamp
Containers|string|.spec.template.spec.containers[*].name|wide
Images|string|.spec.template.spec.containers[*].image|wide

apps/v1/statefulsets StatefulSet namespaced
Ready|integer|.status.readyReplicas
Desired|integer|.spec.replicas
Age|date|.metadata.creationTimestamp
Containers|string|.spec.template.spec.containers[*].name|wide
Images|string|.spec.template.spec.containers[*].image|wide

apps/v1/daemonsets DaemonSet namespaced
Desired|integer|.status.desiredNumberScheduled
Current|integer|.status.currentNumberScheduled
Ready|integer|.status.numberReady
Up-to-date|integer|.status.updatedNumberScheduled
Available|integer|.status.numberAvailable
Age|date|.metadata.creationTimestamp
Containers|string|.spec.template.spec.containers[*].name|wide
Images|string|.spec.template.spec.containers[*].image|wide

batch/v1/jobs Job namespaced
Succeeded|integer|.status.succeeded
Completions|integer|.spec.completions
Active|integer|.status.active
Failed|integer|.status.failed
Started|date|.status.startTime
Age|date|.metadata.creationTimestamp
Images|string|.spec.template.spec.containers[*].image|wide

batch/v1/cronjobs CronJob namespaced
Schedule|string|.spec.schedule
Timezone|string|.spec.timeZone
Suspend|boolean|.spec.suspend
Last Schedule|date|.status.lastScheduleTime
Age|date|.metadata.creationTimestamp
Images|string|.spec.jobTemplate.spec.template.spec.containers[*].image|wide

networking.k8s.io/v1/ingresses Ingress namespaced
Class|string|.spec.ingressClassName
Hosts|string|.spec.rules[*].host
Address|string|.status.loadBalancer.ingress[*].ip
Age|date|.metadata.creationTimestamp

networking.k8s.io/v1/networkpolicies NetworkPolicy namespaced
Policy Types|string|.spec.policyTypes[*]
Age|date|.metadata.creationTimestamp

v1/persistentvolumes PersistentVolume cluster
Capacity|string|.spec.capacity.storage
Access Modes|string|.spec.accessModes[*]
Reclaim Policy|string|.spec.persistentVolumeReclaimPolicy
Status|string|.status.phase
Claim Namespace|string|.spec.claimRef.namespace
Claim|string|.spec.claimRef.name
StorageClass|string|.spec.storageClassName
VolumeAttributesClass|string|.spec.volumeAttributesClassName
Reason|string|.status.reason
Age|date|.metadata.creationTimestamp
VolumeMode|string|.spec.volumeMode|wide

storage.k8s.io/v1/storageclasses StorageClass cluster
Provisioner|string|.provisioner
ReclaimPolicy|string|.reclaimPolicy
VolumeBindingMode|string|.volumeBindingMode
AllowVolumeExpansion|boolean|.allowVolumeExpansion
Age|date|.metadata.creationTimestamp

rbac.authorization.k8s.io/v1/roles Role namespaced
Age|date|.metadata.creationTimestamp

rbac.authorization.k8s.io/v1/rolebindings RoleBinding namespaced
Role Kind|string|.roleRef.kind
Role|string|.roleRef.name
Age|date|.metadata.creationTimestamp
Subjects|string|.subjects[*].name|wide

rbac.authorization.k8s.io/v1/clusterroles ClusterRole cluster
Age|date|.metadata.creationTimestamp

rbac.authorization.k8s.io/v1/clusterrolebindings ClusterRoleBinding cluster
Role Kind|string|.roleRef.kind
Role|string|.roleRef.name
Age|date|.metadata.creationTimestamp
Subjects|string|.subjects[*].name|wide

discovery.k8s.io/v1/endpointslices EndpointSlice namespaced
AddressType|string|.addressType
Ports|string|.ports[*].port
Endpoints|string|.endpoints[*].addresses[*]
Age|date|.metadata.creationTimestamp

autoscaling/v2/horizontalpodautoscalers HorizontalPodAutoscaler namespaced
Reference Kind|string|.spec.scaleTargetRef.kind
Reference|string|.spec.scaleTargetRef.name
MinPods|integer|.spec.minReplicas
MaxPods|integer|.spec.maxReplicas
Replicas|integer|.status.currentReplicas
Age|date|.metadata.creationTimestamp

policy/v1/poddisruptionbudgets PodDisruptionBudget namespaced
Min Available|string|.spec.minAvailable
Max Unavailable|string|.spec.maxUnavailable
Allowed Disruptions|integer|.status.disruptionsAllowed
Age|date|.metadata.creationTimestamp

coordination.k8s.io/v1/leases Lease namespaced
Holder|string|.spec.holderIdentity
Age|date|.metadata.creationTimestamp

apiextensions.k8s.io/v1/customresourcedefinitions CustomResourceDefinition cluster
Group|string|.spec.group
Kind|string|.spec.names.kind
Scope|string|.spec.scope
Age|date|.metadata.creationTimestamp`
