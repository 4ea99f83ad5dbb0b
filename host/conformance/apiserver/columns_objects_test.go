package apiserver

// hardObject is an object whose table cells are hard to compute. The JSON includes its
// status.
type hardObject struct{ resource, namespace, object string }

// pod returns a pod with the containers a and b. The parameters metadata, spec and status
// contain further JSON members.
func pod(name, metadata, spec, status string) hardObject {
	return hardObject{"v1/pods", "all", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"` + name + `"` + metadata + `},"spec":{"containers":[` +
		`{"name":"a","image":"example.com/a:1"},{"name":"b","image":"example.com/b:1"}]` + spec + `},"status":{` + status + `}}`}
}

// container returns the status of a container.
func container(name, restarts, rest string) string {
	return `{"name":"` + name + `","image":"i","imageID":"","restartCount":` + restarts + `,` + rest + `}`
}

const (
	isRunning  = `"ready":true,"started":true,"state":{"running":{"startedAt":"2026-01-02T03:04:05Z"}}`
	notReady   = `"ready":false,"started":true,"state":{"running":{"startedAt":"2026-01-02T03:04:05Z"}}`
	loops      = `"ready":false,"state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"exitCode":1,"reason":"Error","finishedAt":"2026-10-02T03:04:05Z"}}`
	waits      = `"ready":false,"state":{"waiting":{"reason":"PodInitializing"}}`
	isComplete = `"ready":false,"state":{"terminated":{"exitCode":0,"reason":"Completed"}}`
	failed     = `"ready":false,"state":{"terminated":{"exitCode":3}}`
	killed     = `"ready":false,"state":{"terminated":{"exitCode":137,"signal":9}}`
	oom        = `"ready":false,"state":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}`

	withInit    = `,"initContainers":[{"name":"i","image":"i"},{"name":"j","image":"j"}]`
	withSidecar = `,"initContainers":[{"name":"s","image":"s","restartPolicy":"Always"},{"name":"i","image":"i"}]`
	ready       = `,"conditions":[{"type":"Initialized","status":"True"},{"type":"Ready","status":"True"}]`
	kept        = `,"finalizers":["example.com/keep"]`
)

func containers(statuses string) string { return `,"containerStatuses":[` + statuses + `]` }
func inits(statuses string) string      { return `,"initContainerStatuses":[` + statuses + `]` }

const phaseRunning, phasePending = `"phase":"Running"`, `"phase":"Pending"`

var hardObjects = []hardObject{
	pod("running", "", `,"nodeName":"hard-1"`, phaseRunning+`,"podIP":"10.0.0.1","podIPs":[{"ip":"10.0.0.1"},{"ip":"fd00::1"}]`+containers(container("a", "0", isRunning)+","+container("b", "0", isRunning))+ready),
	pod("half-ready", "", "", phaseRunning+containers(container("a", "2", isRunning)+","+container("b", "0", notReady))),
	pod("crash-loop", "", "", phaseRunning+containers(container("a", "7", loops)+","+container("b", "1", isRunning))),
	pod("completed", "", "", `"phase":"Succeeded"`+containers(container("a", "0", isComplete)+","+container("b", "0", isComplete))),
	pod("completed-running", "", "", phaseRunning+containers(container("a", "0", isComplete)+","+container("b", "0", isRunning))+ready),
	pod("completed-not-ready", "", "", phaseRunning+containers(container("a", "0", isComplete)+","+container("b", "0", isRunning))),
	pod("completed-oom", "", "", `"phase":"Failed"`+containers(container("a", "0", isComplete)+","+container("b", "0", oom))),
	pod("exit-code", "", "", `"phase":"Failed"`+containers(container("a", "0", failed)+","+container("b", "0", isComplete))),
	pod("signal", "", "", `"phase":"Failed"`+containers(container("a", "0", killed))),
	pod("evicted", "", "", `"phase":"Failed","reason":"Evicted"`),
	pod("gated", "", `,"schedulingGates":[{"name":"example.com/gate"}]`, phasePending+`,"conditions":[{"type":"PodScheduled","status":"False","reason":"SchedulingGated"}]`),
	pod("nominated", "", `,"readinessGates":[{"conditionType":"example.com/a"},{"conditionType":"example.com/b"}]`,
		phasePending+`,"nominatedNodeName":"hard-2","conditions":[{"type":"example.com/b","status":"True"}]`),
	pod("init-first", "", withInit, phasePending+inits(container("i", "0", notReady)+","+container("j", "0", waits))),
	pod("init-second", "", withInit, phasePending+inits(container("i", "1", isComplete)+","+container("j", "0", waits))),
	pod("init-loop", "", withInit, phasePending+inits(container("i", "4", loops))),
	pod("init-exit", "", withInit, phasePending+inits(container("i", "0", failed))),
	pod("init-signal", "", withInit, phasePending+inits(container("i", "0", killed))),
	pod("init-oom", "", withInit, phasePending+inits(container("i", "0", oom))),
	pod("init-again", "", withInit, phaseRunning+inits(container("i", "1", notReady))+containers(container("a", "1", isRunning))+ready),
	pod("sidecar", "", withSidecar, phaseRunning+inits(container("s", "2", isRunning)+","+container("i", "5", isComplete))+containers(container("a", "1", isRunning))),
	pod("sidecar-starts", "", withSidecar, phasePending+inits(container("s", "0", `"ready":false,"started":false,"state":{"running":{}}`))),
	pod("sidecar-loops", "", withSidecar, phasePending+inits(container("s", "3", loops))),
	pod("terminating", kept, "", phaseRunning+containers(container("a", "0", isRunning))),
	pod("deleted-complete", kept, "", `"phase":"Succeeded"`+containers(container("a", "0", isComplete))),
	pod("lost", kept, "", phaseRunning+`,"reason":"NodeLost"`),

	{"v1/nodes", "", `{"metadata":{"name":"hard-1","labels":{"node-role.kubernetes.io/control-plane":"","kubernetes.io/role":"edge"}},"spec":{"unschedulable":true},"status":{` +
		`"conditions":[{"type":"Ready","status":"True"}],"addresses":[{"type":"InternalIP","address":"10.0.0.1"},{"type":"ExternalIP","address":"1.2.3.4"}],` +
		`"nodeInfo":{"kubeletVersion":"v1.36.3","osImage":"An OS 12","kernelVersion":"6.1","architecture":"arm64","containerRuntimeVersion":"containerd://2.0","machineID":"","systemUUID":"","bootID":"","kubeProxyVersion":"","operatingSystem":"linux"}}}`},
	{"v1/nodes", "", `{"metadata":{"name":"hard-2"},"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}}`},

	{"v1/services", "all", `{"metadata":{"name":"balanced"},"spec":{"type":"LoadBalancer","externalIPs":["9.9.9.9"],"selector":{"b":"1","a":"2"},"ports":[{"name":"a","port":80},{"name":"b","port":53,"protocol":"UDP"}]},` +
		`"status":{"loadBalancer":{"ingress":[{"hostname":"b.example.com"},{"ip":"1.1.1.1"}]}}}`},
	// The server allocates ports of 30086 and above to other services, so 30042 is free.
	{"v1/services", "all", `{"metadata":{"name":"pending"},"spec":{"type":"LoadBalancer","ports":[{"port":80,"nodePort":30042}]}}`},
	{"v1/services", "all", `{"metadata":{"name":"external"},"spec":{"type":"ExternalName","externalName":"example.com"}}`},
	{"v1/services", "all", `{"metadata":{"name":"headless"},"spec":{"clusterIP":"None","selector":{"a":"b"}}}`},
	{"v1/endpoints", "all", `{"metadata":{"name":"many"},"subsets":[{"addresses":[{"ip":"10.0.0.1"},{"ip":"10.0.0.2"}],"ports":[{"name":"a","port":80},{"name":"b","port":81}]},{"addresses":[{"ip":"fd00::1"}],"ports":[{"port":7}]}]}`},
	{"v1/endpoints", "all", `{"metadata":{"name":"none"}}`},
	{"v1/endpoints", "all", `{"metadata":{"name":"no-ports"},"subsets":[{"addresses":[{"ip":"10.0.0.1"},{"ip":"10.0.0.2"}]}]}`},
	{"discovery.k8s.io/v1/endpointslices", "all", `{"metadata":{"name":"many"},"addressType":"IPv4","ports":[{"name":"a","port":1},{"name":"b"},{"name":"c","port":3},{"name":"d","port":4}],` +
		`"endpoints":[{"addresses":["10.0.0.1"]},{"addresses":["10.0.0.2"]},{"addresses":["10.0.0.3"]},{"addresses":["10.0.0.4"]}]}`},
	{"discovery.k8s.io/v1/endpointslices", "all", `{"metadata":{"name":"none"},"addressType":"IPv6","endpoints":[]}`},
	{"networking.k8s.io/v1/ingresses", "all", `{"metadata":{"name":"many"},"spec":{"ingressClassName":"x","tls":[{"hosts":["a"]}],"rules":[` +
		`{"host":"a.example.com"},{"host":"b.example.com"},{"host":"c.example.com"},{"host":"d.example.com"},{"host":"e.example.com"}]},` +
		`"status":{"loadBalancer":{"ingress":[{"ip":"1.1.1.1"},{"hostname":"lb.example.com"}]}}}`},
	{"networking.k8s.io/v1/ingressclasses", "", `{"metadata":{"name":"standard","annotations":{"ingressclass.kubernetes.io/is-default-class":"true"}},"spec":{"controller":"example.com/c"}}`},
	{"networking.k8s.io/v1/networkpolicies", "all", `{"metadata":{"name":"some"},"spec":{"podSelector":{"matchLabels":{"b":"1","a":"2"},"matchExpressions":[{"key":"c","operator":"In","values":["y","x"]},{"key":"0","operator":"DoesNotExist"}]}}}`},
	{"storage.k8s.io/v1/storageclasses", "", `{"metadata":{"name":"standard","annotations":{"storageclass.kubernetes.io/is-default-class":"true"}},"provisioner":"example.com/p","reclaimPolicy":"Retain","volumeBindingMode":"WaitForFirstConsumer","allowVolumeExpansion":true}`},
	{"v1/persistentvolumes", "", `{"metadata":{"name":"bound"},"spec":{"capacity":{"storage":"2048Mi"},"accessModes":["ReadWriteMany","ReadWriteOnce"],"hostPath":{"path":"/x"},"storageClassName":"x","claimRef":{"namespace":"all","name":"bound"}},"status":{"phase":"Bound"}}`},
	{"v1/persistentvolumeclaims", "all", `{"metadata":{"name":"bound"},"spec":{"volumeName":"bound","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}},"status":{"phase":"Bound","accessModes":["ReadWriteOnce"],"capacity":{"storage":"2Gi"}}}`},
	{"v1/persistentvolumeclaims", "all", `{"metadata":{"name":"leaving","finalizers":["example.com/keep"]},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`},

	{"apps/v1/deployments", "all", `{"metadata":{"name":"partly"},"spec":{"replicas":3,"selector":{"matchLabels":{"a":"b"},"matchExpressions":[{"key":"a","operator":"Exists"}]},"template":` + template + `},"status":{"replicas":3,"readyReplicas":1,"updatedReplicas":2,"availableReplicas":1}}`},
	{"apps/v1/daemonsets", "all", `{"metadata":{"name":"partly"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"nodeSelector":{"z":"1","y":"2"},"containers":[{"name":"c","image":"c:1"},{"name":"d","image":"d:1"}]}}},` +
		`"status":{"desiredNumberScheduled":3,"currentNumberScheduled":2,"numberReady":1,"numberMisscheduled":0,"updatedNumberScheduled":2,"numberAvailable":1}}`},
	{"apps/v1/controllerrevisions", "all", `{"metadata":{"name":"owned","ownerReferences":[{"apiVersion":"apps/v1","kind":"DaemonSet","name":"partly","uid":"u","controller":true}]},"revision":7,"data":{}}`},
	{"batch/v1/jobs", "all", `{"metadata":{"name":"runs"},"spec":{"parallelism":3,"template":` + once + `},"status":{"active":1,"startTime":"2026-10-02T03:04:05Z"}}`},
	{"batch/v1/jobs", "all", `{"metadata":{"name":"completions"},"spec":{"completions":5,"suspend":true,"template":` + once + `},"status":{"conditions":[{"type":"Suspended","status":"True"}]}}`},
	{"batch/v1/cronjobs", "all", `{"metadata":{"name":"scheduled"},"spec":{"schedule":"@daily","timeZone":"Europe/Berlin","suspend":true,"jobTemplate":{"spec":{"template":` + once + `}}},"status":{"lastScheduleTime":"2026-10-02T03:04:05Z","active":[{"name":"x"}]}}`},
	{"autoscaling/v2/horizontalpodautoscalers", "all", `{"metadata":{"name":"many"},"spec":{"scaleTargetRef":{"kind":"Deployment","name":"x","apiVersion":"apps/v1"},"maxReplicas":5,"metrics":[` +
		`{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":80}}},{"type":"Pods","pods":{"metric":{"name":"m"},"target":{"type":"AverageValue","averageValue":"10"}}},` +
		`{"type":"External","external":{"metric":{"name":"m"},"target":{"type":"Value","value":"7"}}}]},"status":{"currentReplicas":2,"desiredReplicas":2,` +
		`"currentMetrics":[{"type":"Resource","resource":{"name":"cpu","current":{"averageValue":"100m","averageUtilization":20}}}]}}`},
	{"policy/v1/poddisruptionbudgets", "all", `{"metadata":{"name":"percent"},"spec":{"maxUnavailable":"30%","selector":{"matchLabels":{"a":"b"}}}}`},
	{"v1/resourcequotas", "all", `{"metadata":{"name":"used"},"spec":{"hard":{"pods":"4","limits.cpu":"2","requests.memory":"1Gi"}},"status":{"hard":{"pods":"4","limits.cpu":"2","requests.memory":"1Gi"},"used":{"pods":"1","limits.cpu":"500m"}}}`},
	{"v1/configmaps", "all", `{"metadata":{"name":"both"},"data":{"a":"1","b":"2"},"binaryData":{"c":"AA=="}}`},
	{"v1/secrets", "all", `{"metadata":{"name":"two"},"data":{"a":"AA==","b":"AA=="}}`},
	{"v1/events", "all", `{"metadata":{"name":"new"},"involvedObject":{"kind":"Pod","namespace":"all","name":"x","fieldPath":"spec.containers{a}"},"type":"Normal","reason":"R","message":" padded\n","action":"A",` +
		`"eventTime":"2026-10-02T03:04:05.000000Z","reportingComponent":"example.com/c","reportingInstance":"i","series":{"count":5,"lastObservedTime":"2026-10-03T03:04:05.000000Z"}}`},
	{"rbac.authorization.k8s.io/v1/rolebindings", "all", `{"metadata":{"name":"subjects"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"},"subjects":[` +
		`{"kind":"User","name":"u","apiGroup":"rbac.authorization.k8s.io"},{"kind":"User","name":"v","apiGroup":"rbac.authorization.k8s.io"},{"kind":"Group","name":"g","apiGroup":"rbac.authorization.k8s.io"},{"kind":"ServiceAccount","name":"s","namespace":"all"}]}`},
	{"admissionregistration.k8s.io/v1/validatingadmissionpolicybindings", "", `{"metadata":{"name":"selects"},"spec":{"policyName":"none","validationActions":["Deny"],"paramRef":{"selector":{"matchLabels":{"a":"b"},"matchExpressions":[{"key":"c","operator":"In","values":["x","y"]}]},"parameterNotFoundAction":"Deny"}}}`},
}

// gauges defines a custom resource with a printer column of every type. plains defines a
// custom resource without printer columns.
const (
	gauges = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"gauges.stable.example.com"},` +
		`"spec":{"group":"stable.example.com","scope":"Namespaced","names":{"plural":"gauges","singular":"gauge","kind":"Gauge"},` +
		`"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}},` +
		`"additionalPrinterColumns":[{"name":"Level","type":"integer","jsonPath":".spec.level"},{"name":"Ratio","type":"number","jsonPath":".spec.ratio"},` +
		`{"name":"On","type":"boolean","jsonPath":".spec.on"},{"name":"Since","type":"date","jsonPath":".spec.since"},` +
		`{"name":"Text","type":"string","jsonPath":".spec.text","priority":1},{"name":"Missing","type":"string","jsonPath":".spec.none"}]}]}}`
	plains = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"plains.stable.example.com"},` +
		`"spec":{"group":"stable.example.com","scope":"Namespaced","names":{"plural":"plains","singular":"plain","kind":"Plain"},` +
		`"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`
)
