package catalog

// table has an entry for each resource, the stable ones first. The first line of an entry
// contains the name, kind, scope and selectable fields other than name and namespace. Each
// further line is a column with name, type, value, default and the word "wide" for columns of
// priority one. The value is a path, or a printer with its paths in parentheses. The columns
// match kubectl's for Kubernetes 1.36. The module contains the table as text because that is
// smaller than code.
const table = stable + preview

const stable = `v1/pods Pod namespaced spec.nodeName spec.restartPolicy spec.schedulerName spec.serviceAccountName status.phase status.podIP status.nominatedNodeName
Ready|string|podReady()
Status|string|podStatus()
Restarts|integer|podRestarts()
Age|date|.metadata.creationTimestamp|<unknown>
IP|string|.status.podIP|<none>|wide
Node|string|.spec.nodeName|<none>|wide
Nominated Node|string|.status.nominatedNodeName|<none>|wide
Readiness Gates|string|podGates()|<none>|wide

v1/nodes Node cluster
Status|string|nodeStatus()
Roles|string|nodeRoles()|<none>
Age|date|.metadata.creationTimestamp|<unknown>
Version|string|.status.nodeInfo.kubeletVersion
Internal-IP|string|nodeInternalIP()|<none>|wide
External-IP|string|nodeExternalIP()|<none>|wide
OS-Image|string|.status.nodeInfo.osImage|<unknown>|wide
Kernel-Version|string|nodeKernel()||wide
Container-Runtime|string|.status.nodeInfo.containerRuntimeVersion|<unknown>|wide

v1/namespaces Namespace cluster status.phase
Status|string|.status.phase
Age|date|.metadata.creationTimestamp|<unknown>

v1/services Service namespaced spec.clusterIP spec.type
Type|string|.spec.type
Cluster-IP|string|.spec.clusterIP|<none>
External-IP|string|serviceExternal()|<none>
Port(s)|string|servicePorts()|<none>
Age|date|.metadata.creationTimestamp|<unknown>
Selector|string|labels(.spec.selector)|<none>|wide

v1/configmaps ConfigMap namespaced
Data|integer|count(.data .binaryData)
Age|date|.metadata.creationTimestamp|<unknown>

v1/secrets Secret namespaced type
Type|string|.type
Data|integer|count(.data)
Age|date|.metadata.creationTimestamp|<unknown>

v1/events Event namespaced involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid involvedObject.apiVersion involvedObject.resourceVersion involvedObject.fieldPath reason reportingComponent type
Last Seen|date|firstDate(.series.lastObservedTime .lastTimestamp .firstTimestamp .eventTime)|<unknown>
Type|string|.type
Reason|string|.reason
Object|string|eventObject()
Subobject|string|.involvedObject.fieldPath||wide
Source|string|eventSource()||wide
Message|string|trim(.message)
First Seen|date|firstDate(.firstTimestamp .eventTime)|<unknown>|wide
Count|integer|firstInteger(.series.count .count)|1|wide
Name|string|first(.metadata.name)||wide

v1/persistentvolumeclaims PersistentVolumeClaim namespaced
Status|string|phase(.status.phase .metadata.deletionTimestamp)|Pending
Volume|string|.spec.volumeName
Capacity|string|bound(.spec.volumeName .status.capacity.storage)
Access Modes|string|accessModes(.status.accessModes[*] .spec.volumeName)
StorageClass|string|first(.metadata.annotations['volume.beta.kubernetes.io/storage-class'] .spec.storageClassName)
VolumeAttributesClass|string|.spec.volumeAttributesClassName|<unset>
Age|date|.metadata.creationTimestamp|<unknown>
VolumeMode|string|.spec.volumeMode|<unset>|wide

v1/serviceaccounts ServiceAccount namespaced
Age|date|.metadata.creationTimestamp|<unknown>

v1/endpoints Endpoints namespaced
Endpoints|string|endpoints()
Age|date|.metadata.creationTimestamp|<unknown>

v1/limitranges LimitRange namespaced
Created At|string|.metadata.creationTimestamp

v1/podtemplates PodTemplate namespaced
Containers|string|.template.spec.containers[*].name
Images|string|.template.spec.containers[*].image
Pod Labels|string|labels(.template.metadata.labels)|<none>

v1/replicationcontrollers ReplicationController namespaced status.replicas
Desired|integer|.spec.replicas|0
Current|integer|.status.replicas|0
Ready|integer|.status.readyReplicas|0
Age|date|.metadata.creationTimestamp|<unknown>
Containers|string|.spec.template.spec.containers[*].name||wide
Images|string|.spec.template.spec.containers[*].image||wide
Selector|string|labels(.spec.selector)|<none>|wide

v1/resourcequotas ResourceQuota namespaced
Request|string|quotaRequests()
Limit|string|quotaLimits()
Age|date|.metadata.creationTimestamp|<unknown>

apps/v1/deployments Deployment namespaced
Ready|string|ratio(.status.readyReplicas .spec.replicas)
Up-to-date|integer|.status.updatedReplicas|0
Available|integer|.status.availableReplicas|0
Age|date|.metadata.creationTimestamp|<unknown>
Containers|string|.spec.template.spec.containers[*].name||wide
Images|string|.spec.template.spec.containers[*].image||wide
Selector|string|selector(.spec.selector)||wide

apps/v1/replicasets ReplicaSet namespaced status.replicas
Desired|integer|.spec.replicas|0
Current|integer|.status.replicas|0
Ready|integer|.status.readyReplicas|0
Age|date|.metadata.creationTimestamp|<unknown>
Containers|string|.spec.template.spec.containers[*].name||wide
Images|string|.spec.template.spec.containers[*].image||wide
Selector|string|selector(.spec.selector)|<none>|wide

apps/v1/statefulsets StatefulSet namespaced
Ready|string|ratio(.status.readyReplicas .spec.replicas)
Age|date|.metadata.creationTimestamp|<unknown>
Containers|string|.spec.template.spec.containers[*].name||wide
Images|string|.spec.template.spec.containers[*].image||wide

apps/v1/daemonsets DaemonSet namespaced
Desired|integer|.status.desiredNumberScheduled|0
Current|integer|.status.currentNumberScheduled|0
Ready|integer|.status.numberReady|0
Up-to-date|integer|.status.updatedNumberScheduled|0
Available|integer|.status.numberAvailable|0
Node Selector|string|labels(.spec.template.spec.nodeSelector)|<none>
Age|date|.metadata.creationTimestamp|<unknown>
Containers|string|.spec.template.spec.containers[*].name||wide
Images|string|.spec.template.spec.containers[*].image||wide
Selector|string|selector(.spec.selector)|<none>|wide

apps/v1/controllerrevisions ControllerRevision namespaced
Controller|string|controller()|<none>
Revision|integer|.revision|0
Age|date|.metadata.creationTimestamp|<unknown>

batch/v1/jobs Job namespaced
Status|string|jobStatus()
Completions|string|jobCompletions()
Duration|duration|jobDuration()
Age|date|.metadata.creationTimestamp|<unknown>
Containers|string|.spec.template.spec.containers[*].name||wide
Images|string|.spec.template.spec.containers[*].image||wide
Selector|string|selector(.spec.selector)|<none>|wide

batch/v1/cronjobs CronJob namespaced
Schedule|string|.spec.schedule
Timezone|string|.spec.timeZone|<none>
Suspend|string|title(.spec.suspend)|<unset>
Active|integer|count(.status.active)
Last Schedule|date|.status.lastScheduleTime|<none>
Age|date|.metadata.creationTimestamp|<unknown>
Containers|string|.spec.jobTemplate.spec.template.spec.containers[*].name||wide
Images|string|.spec.jobTemplate.spec.template.spec.containers[*].image||wide
Selector|string|selector(.spec.jobTemplate.spec.selector)|<none>|wide

networking.k8s.io/v1/ingresses Ingress namespaced
Class|string|.spec.ingressClassName|<none>
Hosts|string|hosts(.spec.rules[*])|*
Address|string|loadBalancer(.status.loadBalancer.ingress[*])
Ports|string|tls(.spec.tls)
Age|date|.metadata.creationTimestamp|<unknown>

networking.k8s.io/v1/ingressclasses IngressClass cluster
Name|string|default(.metadata.name .metadata.annotations['ingressclass.kubernetes.io/is-default-class'])
Controller|string|.spec.controller
Parameters|string|ingressClass()|<none>
Age|date|.metadata.creationTimestamp|<unknown>

networking.k8s.io/v1/networkpolicies NetworkPolicy namespaced
Pod-Selector|string|selector(.spec.podSelector)|<none>
Age|date|.metadata.creationTimestamp|<unknown>

networking.k8s.io/v1/ipaddresses IPAddress cluster
ParentRef|string|parent()|<none>

networking.k8s.io/v1/servicecidrs ServiceCIDR cluster
CIDRs|string|.spec.cidrs[*]
Age|date|.metadata.creationTimestamp|<unknown>

v1/persistentvolumes PersistentVolume cluster
Capacity|string|.spec.capacity.storage|0
Access Modes|string|accessModes(.spec.accessModes[*])
Reclaim Policy|string|.spec.persistentVolumeReclaimPolicy
Status|string|phase(.status.phase .metadata.deletionTimestamp)|Pending
Claim|string|slash(.spec.claimRef.namespace .spec.claimRef.name)
StorageClass|string|first(.metadata.annotations['volume.beta.kubernetes.io/storage-class'] .spec.storageClassName)
VolumeAttributesClass|string|.spec.volumeAttributesClassName|<unset>
Reason|string|.status.reason
Age|date|.metadata.creationTimestamp|<unknown>
VolumeMode|string|.spec.volumeMode|<unset>|wide

storage.k8s.io/v1/storageclasses StorageClass cluster
Name|string|default(.metadata.name .metadata.annotations['storageclass.kubernetes.io/is-default-class'] .metadata.annotations['storageclass.beta.kubernetes.io/is-default-class'])
Provisioner|string|.provisioner
ReclaimPolicy|string|.reclaimPolicy|Delete
VolumeBindingMode|string|.volumeBindingMode|Immediate
AllowVolumeExpansion|boolean|.allowVolumeExpansion|false
Age|date|.metadata.creationTimestamp|<unknown>

storage.k8s.io/v1/csidrivers CSIDriver cluster
AttachRequired|boolean|.spec.attachRequired|true
PodInfoOnMount|boolean|.spec.podInfoOnMount|false
StorageCapacity|boolean|.spec.storageCapacity|false
TokenRequests|string|.spec.tokenRequests[*].audience|<unset>
RequiresRepublish|boolean|.spec.requiresRepublish|false
Modes|string|.spec.volumeLifecycleModes[*]|<none>
Age|date|.metadata.creationTimestamp|<unknown>

storage.k8s.io/v1/csinodes CSINode cluster
Drivers|integer|count(.spec.drivers)
Age|date|.metadata.creationTimestamp|<unknown>

storage.k8s.io/v1/csistoragecapacities CSIStorageCapacity namespaced
Created At|string|.metadata.creationTimestamp

storage.k8s.io/v1/volumeattachments VolumeAttachment cluster
Attacher|string|.spec.attacher
PV|string|.spec.source.persistentVolumeName
Node|string|.spec.nodeName
Attached|boolean|.status.attached|false
Age|date|.metadata.creationTimestamp|<unknown>

storage.k8s.io/v1/volumeattributesclasses VolumeAttributesClass cluster
DriverName|string|.driverName
Age|date|.metadata.creationTimestamp|<unknown>

rbac.authorization.k8s.io/v1/roles Role namespaced
Created At|string|.metadata.creationTimestamp

rbac.authorization.k8s.io/v1/clusterroles ClusterRole cluster
Created At|string|.metadata.creationTimestamp

rbac.authorization.k8s.io/v1/rolebindings RoleBinding namespaced
Role|string|slash(.roleRef.kind .roleRef.name)
Age|date|.metadata.creationTimestamp|<unknown>
Users|string|users()||wide
Groups|string|groups()||wide
ServiceAccounts|string|accounts()||wide

rbac.authorization.k8s.io/v1/clusterrolebindings ClusterRoleBinding cluster
Role|string|slash(.roleRef.kind .roleRef.name)
Age|date|.metadata.creationTimestamp|<unknown>
Users|string|users()||wide
Groups|string|groups()||wide
ServiceAccounts|string|accounts()||wide

discovery.k8s.io/v1/endpointslices EndpointSlice namespaced
AddressType|string|.addressType
Ports|string|slicePorts(.ports[*])|<unset>
Endpoints|string|list(.endpoints[*].addresses[*])|<unset>
Age|date|.metadata.creationTimestamp|<unknown>

autoscaling/v2/horizontalpodautoscalers HorizontalPodAutoscaler namespaced
Reference|string|slash(.spec.scaleTargetRef.kind .spec.scaleTargetRef.name)
Targets|string|metrics()|<none>
MinPods|integer|.spec.minReplicas|<unset>
MaxPods|integer|.spec.maxReplicas|0
Replicas|integer|.status.currentReplicas|0
Age|date|.metadata.creationTimestamp|<unknown>

policy/v1/poddisruptionbudgets PodDisruptionBudget namespaced
Min Available|string|.spec.minAvailable|N/A
Max Unavailable|string|.spec.maxUnavailable|N/A
Allowed Disruptions|integer|.status.disruptionsAllowed|0
Age|date|.metadata.creationTimestamp|<unknown>

coordination.k8s.io/v1/leases Lease namespaced
Holder|string|.spec.holderIdentity
Age|date|.metadata.creationTimestamp|<unknown>

apiextensions.k8s.io/v1/customresourcedefinitions CustomResourceDefinition cluster
Created At|string|.metadata.creationTimestamp

apiregistration.k8s.io/v1/apiservices APIService cluster
Service|string|slash(.spec.service.namespace .spec.service.name)|Local
Available|string|apiService()|Unknown
Age|date|.metadata.creationTimestamp|<unknown>

admissionregistration.k8s.io/v1/mutatingwebhookconfigurations MutatingWebhookConfiguration cluster
Webhooks|integer|count(.webhooks)
Age|date|.metadata.creationTimestamp|<unknown>

admissionregistration.k8s.io/v1/validatingwebhookconfigurations ValidatingWebhookConfiguration cluster
Webhooks|integer|count(.webhooks)
Age|date|.metadata.creationTimestamp|<unknown>

admissionregistration.k8s.io/v1/mutatingadmissionpolicies MutatingAdmissionPolicy cluster
Mutations|integer|count(.spec.mutations)
ParamKind|string|slash(.spec.paramKind.apiVersion .spec.paramKind.kind)|<unset>
Age|date|.metadata.creationTimestamp|<unknown>

admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings MutatingAdmissionPolicyBinding cluster
PolicyName|string|.spec.policyName
ParamRef|string|param()|<unset>
Age|date|.metadata.creationTimestamp|<unknown>

admissionregistration.k8s.io/v1/validatingadmissionpolicies ValidatingAdmissionPolicy cluster
Validations|integer|count(.spec.validations)
ParamKind|string|slash(.spec.paramKind.apiVersion .spec.paramKind.kind)|<unset>
Age|date|.metadata.creationTimestamp|<unknown>

admissionregistration.k8s.io/v1/validatingadmissionpolicybindings ValidatingAdmissionPolicyBinding cluster
PolicyName|string|.spec.policyName
ParamRef|string|param()|<unset>
Age|date|.metadata.creationTimestamp|<unknown>

certificates.k8s.io/v1/certificatesigningrequests CertificateSigningRequest cluster spec.signerName
Age|date|.metadata.creationTimestamp|<unknown>
SignerName|string|.spec.signerName|<none>
Requestor|string|.spec.username
RequestedDuration|duration|requestDuration()|<none>
Condition|string|requestCondition()

flowcontrol.apiserver.k8s.io/v1/flowschemas FlowSchema cluster
PriorityLevel|string|.spec.priorityLevelConfiguration.name
MatchingPrecedence|integer|.spec.matchingPrecedence|0
DistinguisherMethod|string|.spec.distinguisherMethod.type|<none>
Age|date|.metadata.creationTimestamp|<unknown>
MissingPL|string|dangling()|?

flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations PriorityLevelConfiguration cluster
Type|string|.spec.type
NominalConcurrencyShares|integer|.spec.limited.nominalConcurrencyShares|<none>
Queues|integer|.spec.limited.limitResponse.queuing.queues|<none>
HandSize|integer|.spec.limited.limitResponse.queuing.handSize|<none>
QueueLengthLimit|integer|.spec.limited.limitResponse.queuing.queueLengthLimit|<none>
Age|date|.metadata.creationTimestamp|<unknown>

node.k8s.io/v1/runtimeclasses RuntimeClass cluster
Handler|string|.handler
Age|date|.metadata.creationTimestamp|<unknown>

scheduling.k8s.io/v1/priorityclasses PriorityClass cluster
Value|integer|.value|0
Global-Default|boolean|.globalDefault|false
Age|date|.metadata.creationTimestamp|<unknown>
PreemptionPolicy|string|.preemptionPolicy

resource.k8s.io/v1/deviceclasses DeviceClass cluster
Age|date|.metadata.creationTimestamp|<unknown>

resource.k8s.io/v1/resourceclaims ResourceClaim namespaced
State|string|claim()
Age|date|.metadata.creationTimestamp|<unknown>

resource.k8s.io/v1/resourceclaimtemplates ResourceClaimTemplate namespaced
Age|date|.metadata.creationTimestamp|<unknown>

resource.k8s.io/v1/resourceslices ResourceSlice cluster spec.nodeName spec.driver
Node|string|.spec.nodeName
Driver|string|.spec.driver
Pool|string|.spec.pool.name
Age|date|.metadata.creationTimestamp|<unknown>`

// preview contains all kinds that are alpha or beta in Kubernetes 1.36 or 1.37, in every version
// that these two releases serve. Clusters serve them only if their administrators enable them.
const preview = `

certificates.k8s.io/v1/clustertrustbundles ClusterTrustBundle cluster spec.signerName
SignerName|string|.spec.signerName|<none>

certificates.k8s.io/v1beta1/clustertrustbundles ClusterTrustBundle cluster spec.signerName
SignerName|string|.spec.signerName|<none>

certificates.k8s.io/v1alpha1/clustertrustbundles ClusterTrustBundle cluster spec.signerName
SignerName|string|.spec.signerName|<none>

coordination.k8s.io/v1beta1/leasecandidates LeaseCandidate namespaced
LeaseName|string|.spec.leaseName
BinaryVersion|string|.spec.binaryVersion
EmulationVersion|string|.spec.emulationVersion
Age|date|.metadata.creationTimestamp|<unknown>

coordination.k8s.io/v1alpha2/leasecandidates LeaseCandidate namespaced
LeaseName|string|.spec.leaseName
BinaryVersion|string|.spec.binaryVersion
EmulationVersion|string|.spec.emulationVersion
Age|date|.metadata.creationTimestamp|<unknown>

scheduling.k8s.io/v1beta1/workloads Workload namespaced
Age|date|.metadata.creationTimestamp|<unknown>

scheduling.k8s.io/v1alpha3/workloads Workload namespaced
Age|date|.metadata.creationTimestamp|<unknown>

scheduling.k8s.io/v1alpha2/workloads Workload namespaced
Age|date|.metadata.creationTimestamp|<unknown>

resource.k8s.io/v1/devicetaintrules DeviceTaintRule cluster
Key|string|.spec.taint.key
Value|string|.spec.taint.value
Effect|string|.spec.taint.effect
TimeAdded|date|.spec.taint.timeAdded
Age|date|.metadata.creationTimestamp|<unknown>

resource.k8s.io/v1beta2/devicetaintrules DeviceTaintRule cluster
Key|string|.spec.taint.key
Value|string|.spec.taint.value
Effect|string|.spec.taint.effect
TimeAdded|date|.spec.taint.timeAdded
Age|date|.metadata.creationTimestamp|<unknown>

resource.k8s.io/v1alpha3/devicetaintrules DeviceTaintRule cluster
Key|string|.spec.taint.key
Value|string|.spec.taint.value
Effect|string|.spec.taint.effect
TimeAdded|date|.spec.taint.timeAdded
Age|date|.metadata.creationTimestamp|<unknown>

certificates.k8s.io/v1/podcertificaterequests PodCertificateRequest namespaced spec.signerName spec.podName spec.nodeName
PodName|string|.spec.podName
ServiceAccountName|string|.spec.serviceAccountName
NodeName|string|.spec.nodeName
SignerName|string|.spec.signerName
State|string|requestState(.status.conditions[*])|Pending
UnverifiedUserAnnotations|string|labels(.spec.unverifiedUserAnnotations)|<none>

certificates.k8s.io/v1beta1/podcertificaterequests PodCertificateRequest namespaced spec.signerName spec.podName spec.nodeName
PodName|string|.spec.podName
ServiceAccountName|string|.spec.serviceAccountName
NodeName|string|.spec.nodeName
SignerName|string|.spec.signerName
State|string|requestState(.status.conditions[*])|Pending
UnverifiedUserAnnotations|string|labels(.spec.unverifiedUserAnnotations)|<none>

storagemigration.k8s.io/v1/storageversionmigrations StorageVersionMigration cluster
Resource|string|groupResource(.spec.resource.resource .spec.resource.group)
Status|string|migration(.status.conditions[*])|Unknown

storagemigration.k8s.io/v1beta1/storageversionmigrations StorageVersionMigration cluster
Resource|string|groupResource(.spec.resource.resource .spec.resource.group)
Status|string|migration(.status.conditions[*])|Unknown

scheduling.k8s.io/v1beta1/podgroups PodGroup namespaced
Policy|string|groupPolicy()
Workload|string|.spec.workloadRef.workloadName|<none>
Status|string|groupStatus()|Pending
Age|date|.metadata.creationTimestamp|<unknown>

scheduling.k8s.io/v1alpha3/podgroups PodGroup namespaced
Policy|string|groupPolicy()
Workload|string|.spec.workloadRef.workloadName|<none>
Status|string|groupStatus()|Pending
Age|date|.metadata.creationTimestamp|<unknown>

scheduling.k8s.io/v1alpha2/podgroups PodGroup namespaced
Policy|string|groupPolicy()
Workload|string|.spec.podGroupTemplateRef.workload.workloadName|<none>
Status|string|groupStatus()|Pending
Age|date|.metadata.creationTimestamp|<unknown>

scheduling.k8s.io/v1alpha3/compositepodgroups CompositePodGroup namespaced
Policy|string|groupPolicy()
Workload|string|.spec.workloadRef.workloadName|<none>
Age|date|.metadata.creationTimestamp|<unknown>

internal.apiserver.k8s.io/v1alpha1/storageversions StorageVersion cluster
CommonEncodingVersion|string|.status.commonEncodingVersion|<unset>
StorageVersions|string|versions(.status.storageVersions[*])|<unset>
Age|date|.metadata.creationTimestamp|<unknown>

resource.k8s.io/v1alpha3/resourcepoolstatusrequests ResourcePoolStatusRequest cluster
Driver|string|.spec.driver
Total|string|poolTotal()|-
Available|string|poolAvailable()|-
Allocated|string|poolAllocated()|-
Unavailable|string|poolUnavailable()|-
Errors|string|poolErrors()|-
Pools|integer|.status.poolCount|0
Status|string|poolStatus()
Completed|date|poolCompleted()|<none>

lifecycle.k8s.io/v1alpha1/evictionrequests EvictionRequest namespaced
Target|string|.spec.target.pod.name|<unset>
Target Type|string|evictionTarget()|<unset>
Status|string|evictionStatus()
Requester|string|.spec.requester
Intent|string|.spec.intent
Age|date|.metadata.creationTimestamp|<unknown>

lifecycle.k8s.io/v1alpha1/evictions Eviction namespaced
Target|string|.spec.target.pod.name|<unset>
Target Type|string|evictionTarget()|<unset>
Status|string|evictionStatus()
Active Responder|string|responder()
Responder Status|string|responderStatus()|<unset>
Responder Expected Finish|string|responderFinish()|<unknown>
Requesters|string|requesters(.status.requesters[*])|<none>
Age|date|.metadata.creationTimestamp|<unknown>
Responder Heartbeat|string|responderHeartbeat()|<unset>|wide
Responder Status Message|string|responderMessage()|<unset>|wide`
