package catalog

// table has an entry for each resource: its name, kind and scope with the fields
// one can select on beside name and namespace, then its columns, with name, kind
// and path. A guest carries it, so it is text and not code.
const table = `v1/pods Pod namespaced spec.nodeName spec.restartPolicy spec.schedulerName spec.serviceAccountName status.phase status.podIP status.nominatedNodeName
Phase|text|.status.phase
Restarts|integer|.status.containerStatuses[*].restartCount
Node|text|.spec.nodeName
Age|date|.metadata.creationTimestamp
IP|text|.status.podIP|wide
Containers|text|.spec.containers[*].name|wide
Images|text|.spec.containers[*].image|wide

v1/nodes Node cluster
Unschedulable|bool|.spec.unschedulable
Version|text|.status.nodeInfo.kubeletVersion
CPU|text|.status.capacity.cpu
Memory|text|.status.capacity.memory
Age|date|.metadata.creationTimestamp
Addresses|text|.status.addresses[*].address|wide
OS|text|.status.nodeInfo.osImage|wide
Kernel|text|.status.nodeInfo.kernelVersion|wide
Runtime|text|.status.nodeInfo.containerRuntimeVersion|wide

v1/namespaces Namespace cluster status.phase
Status|text|.status.phase
Age|date|.metadata.creationTimestamp

v1/services Service namespaced spec.clusterIP spec.type
Type|text|.spec.type
Cluster-IP|text|.spec.clusterIP
External-IP|text|.status.loadBalancer.ingress[*].ip
Age|date|.metadata.creationTimestamp

v1/configmaps ConfigMap namespaced
Immutable|bool|.immutable
Age|date|.metadata.creationTimestamp

v1/secrets Secret namespaced type
Type|text|.type
Immutable|bool|.immutable
Age|date|.metadata.creationTimestamp

v1/events Event namespaced involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid involvedObject.apiVersion involvedObject.resourceVersion involvedObject.fieldPath reason reportingComponent type
Last Seen|date|.lastTimestamp
Type|text|.type
Reason|text|.reason
Kind|text|.involvedObject.kind
Object|text|.involvedObject.name
Message|text|.message
Source|text|.source.component|wide
First Seen|date|.firstTimestamp|wide
Count|integer|.count|wide

v1/persistentvolumeclaims PersistentVolumeClaim namespaced
Status|text|.status.phase
Volume|text|.spec.volumeName
Capacity|text|.status.capacity.storage
Access Modes|text|.spec.accessModes[*]
StorageClass|text|.spec.storageClassName
Age|date|.metadata.creationTimestamp
VolumeMode|text|.spec.volumeMode|wide

v1/serviceaccounts ServiceAccount namespaced
Age|date|.metadata.creationTimestamp

apps/v1/deployments Deployment namespaced
Ready|integer|.status.readyReplicas
Desired|integer|.spec.replicas
Up-to-date|integer|.status.updatedReplicas
Available|integer|.status.availableReplicas
Age|date|.metadata.creationTimestamp
Containers|text|.spec.template.spec.containers[*].name|wide
Images|text|.spec.template.spec.containers[*].image|wide

apps/v1/replicasets ReplicaSet namespaced status.replicas
Desired|integer|.spec.replicas
Current|integer|.status.replicas
Ready|integer|.status.readyReplicas
Age|date|.metadata.creationTimestamp
Containers|text|.spec.template.spec.containers[*].name|wide
Images|text|.spec.template.spec.containers[*].image|wide

apps/v1/statefulsets StatefulSet namespaced
Ready|integer|.status.readyReplicas
Desired|integer|.spec.replicas
Age|date|.metadata.creationTimestamp
Containers|text|.spec.template.spec.containers[*].name|wide
Images|text|.spec.template.spec.containers[*].image|wide

apps/v1/daemonsets DaemonSet namespaced
Desired|integer|.status.desiredNumberScheduled
Current|integer|.status.currentNumberScheduled
Ready|integer|.status.numberReady
Up-to-date|integer|.status.updatedNumberScheduled
Available|integer|.status.numberAvailable
Age|date|.metadata.creationTimestamp
Containers|text|.spec.template.spec.containers[*].name|wide
Images|text|.spec.template.spec.containers[*].image|wide

batch/v1/jobs Job namespaced
Succeeded|integer|.status.succeeded
Completions|integer|.spec.completions
Active|integer|.status.active
Failed|integer|.status.failed
Started|date|.status.startTime
Age|date|.metadata.creationTimestamp
Images|text|.spec.template.spec.containers[*].image|wide

batch/v1/cronjobs CronJob namespaced
Schedule|text|.spec.schedule
Timezone|text|.spec.timeZone
Suspend|bool|.spec.suspend
Last Schedule|date|.status.lastScheduleTime
Age|date|.metadata.creationTimestamp
Images|text|.spec.jobTemplate.spec.template.spec.containers[*].image|wide

networking.k8s.io/v1/ingresses Ingress namespaced
Class|text|.spec.ingressClassName
Hosts|text|.spec.rules[*].host
Address|text|.status.loadBalancer.ingress[*].ip
Age|date|.metadata.creationTimestamp

networking.k8s.io/v1/networkpolicies NetworkPolicy namespaced
Policy Types|text|.spec.policyTypes[*]
Age|date|.metadata.creationTimestamp

v1/persistentvolumes PersistentVolume cluster
Capacity|text|.spec.capacity.storage
Access Modes|text|.spec.accessModes[*]
Reclaim Policy|text|.spec.persistentVolumeReclaimPolicy
Status|text|.status.phase
Claim Namespace|text|.spec.claimRef.namespace
Claim|text|.spec.claimRef.name
StorageClass|text|.spec.storageClassName
VolumeAttributesClass|text|.spec.volumeAttributesClassName
Reason|text|.status.reason
Age|date|.metadata.creationTimestamp
VolumeMode|text|.spec.volumeMode|wide

storage.k8s.io/v1/storageclasses StorageClass cluster
Provisioner|text|.provisioner
ReclaimPolicy|text|.reclaimPolicy
VolumeBindingMode|text|.volumeBindingMode
AllowVolumeExpansion|bool|.allowVolumeExpansion
Age|date|.metadata.creationTimestamp

rbac.authorization.k8s.io/v1/roles Role namespaced
Age|date|.metadata.creationTimestamp

rbac.authorization.k8s.io/v1/rolebindings RoleBinding namespaced
Role Kind|text|.roleRef.kind
Role|text|.roleRef.name
Age|date|.metadata.creationTimestamp
Subjects|text|.subjects[*].name|wide

rbac.authorization.k8s.io/v1/clusterroles ClusterRole cluster
Age|date|.metadata.creationTimestamp

rbac.authorization.k8s.io/v1/clusterrolebindings ClusterRoleBinding cluster
Role Kind|text|.roleRef.kind
Role|text|.roleRef.name
Age|date|.metadata.creationTimestamp
Subjects|text|.subjects[*].name|wide

discovery.k8s.io/v1/endpointslices EndpointSlice namespaced
AddressType|text|.addressType
Ports|text|.ports[*].port
Endpoints|text|.endpoints[*].addresses[*]
Age|date|.metadata.creationTimestamp

autoscaling/v2/horizontalpodautoscalers HorizontalPodAutoscaler namespaced
Reference Kind|text|.spec.scaleTargetRef.kind
Reference|text|.spec.scaleTargetRef.name
MinPods|integer|.spec.minReplicas
MaxPods|integer|.spec.maxReplicas
Replicas|integer|.status.currentReplicas
Age|date|.metadata.creationTimestamp

policy/v1/poddisruptionbudgets PodDisruptionBudget namespaced
Min Available|text|.spec.minAvailable
Max Unavailable|text|.spec.maxUnavailable
Allowed Disruptions|integer|.status.disruptionsAllowed
Age|date|.metadata.creationTimestamp

coordination.k8s.io/v1/leases Lease namespaced
Holder|text|.spec.holderIdentity
Age|date|.metadata.creationTimestamp

apiextensions.k8s.io/v1/customresourcedefinitions CustomResourceDefinition cluster
Group|text|.spec.group
Kind|text|.spec.names.kind
Scope|text|.spec.scope
Age|date|.metadata.creationTimestamp`
