package clustersim

import (
	"strconv"

	"github.com/watchglass/watchglass/host/source"
)

func (p *pod) render() source.Write {
	metadata := obj{
		"name": p.name, "generateName": p.set.name + "-", "namespace": p.namespace(), "uid": p.uid,
		"creationTimestamp": stamp(p.created),
		"labels":            p.set.labels(),
		"annotations":       obj{"metrics.example.com/cpu-millis": strconv.Itoa(p.load), "cni.example.com/network": "default"},
		"ownerReferences":   arr{p.set.owner()},
		"managedFields":     p.managedFields(),
	}
	if p.state == terminating {
		metadata["deletionTimestamp"], metadata["deletionGracePeriodSeconds"] = stamp(p.changed), 30
	}
	spec := p.set.podSpec()
	spec["tolerations"] = arr{
		obj{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
		obj{"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
	}
	if p.node != nil {
		spec["nodeName"] = p.node.name
	}
	return encode(pods, p.key(), "Pod", obj{"metadata": metadata, "spec": spec, "status": p.status()})
}

func (p *pod) status() obj {
	status := obj{"phase": p.state.phase(), "qosClass": "Burstable", "conditions": p.conditions()}
	if p.state == evicted {
		status["reason"], status["message"] = "Evicted", "The node was low on resource: memory."
	}
	if p.node == nil {
		return status
	}
	status["hostIP"], status["hostIPs"] = p.node.ip, arr{obj{"ip": p.node.ip}}
	status["startTime"] = stamp(p.created)
	if p.state != creating {
		status["podIP"], status["podIPs"] = p.ip, arr{obj{"ip": p.ip}}
	}
	statuses := arr{p.containerStatus()}
	if p.set.workload.app.sidecar {
		statuses = append(statuses, p.sidecarStatus())
	}
	status["containerStatuses"] = statuses
	return status
}

func (p *pod) conditions() arr {
	ready := p.state == running
	unreadiness := obj{}
	if !ready {
		unreadiness = obj{"reason": "ContainersNotReady", "message": "containers with unready status: [" + p.set.workload.app.name + "]"}
	}
	return arr{
		condition("PodReadyToStartContainers", p.node != nil && p.state != creating, p.changed, nil),
		condition("Initialized", true, p.created, nil),
		condition("Ready", ready, p.changed, unreadiness),
		condition("ContainersReady", ready, p.changed, unreadiness),
		condition("PodScheduled", p.node != nil, p.created, nil),
	}
}

func (p *pod) containerStatus() obj {
	s := obj{
		"name": p.set.workload.app.name, "image": p.set.image(), "imageID": "", "ready": p.state == running,
		"started": p.started.After(p.created), "restartCount": p.restarts, "state": p.containerState(),
	}
	if p.state != creating {
		s["imageID"] = p.set.workload.app.image + "@sha256:" + digest(p.set.image())
		s["containerID"] = p.containerID(p.restarts)
	}
	if p.restarts > 0 {
		s["lastState"] = p.exited("Error", 137, p.restarts-1)
	}
	return s
}

func (p *pod) containerState() obj {
	switch p.state {
	case creating:
		return obj{"waiting": obj{"reason": "ContainerCreating"}}
	case crashed:
		return obj{"waiting": obj{"reason": "CrashLoopBackOff", "message": "back-off restarting failed container " + p.set.workload.app.name}}
	case succeeded:
		return p.exited("Completed", 0, p.restarts)
	case failed, evicted:
		return p.exited("Error", 1, p.restarts)
	}
	return obj{"running": obj{"startedAt": stamp(p.started)}}
}

func (p *pod) exited(reason string, code, attempt int) obj {
	return obj{"terminated": obj{
		"exitCode": code, "reason": reason, "startedAt": stamp(p.created), "finishedAt": stamp(p.changed),
		"containerID": p.containerID(attempt),
	}}
}

func (p *pod) containerID(attempt int) string {
	return "containerd://" + digest(p.uid+strconv.Itoa(attempt))
}

func (p *pod) sidecarStatus() obj {
	up := p.state != creating
	s := obj{"name": "proxy", "image": sidecarImage, "imageID": "", "ready": up, "started": up, "restartCount": 0}
	if !up {
		s["state"] = obj{"waiting": obj{"reason": "ContainerCreating"}}
		return s
	}
	s["imageID"] = "registry.example.com/mesh/proxy@sha256:" + digest(sidecarImage)
	s["containerID"] = "containerd://" + digest(p.uid+"proxy")
	s["state"] = obj{"running": obj{"startedAt": stamp(p.created)}}
	return s
}

// managedFields returns metadata.managedFields, which lists the fields that the
// controller and the kubelet have written. It is a large part of a pod in a real cluster.
func (p *pod) managedFields() arr {
	manager := "kube-controller-manager"
	entries := arr{managedFields("v1", manager, stamp(p.created), "", obj{"f:metadata": p.managedMetadata(), "f:spec": p.set.managedSpec()})}
	if p.node == nil {
		return entries
	}
	return append(entries, managedFields("v1", "kubelet", stamp(p.changed), "status", obj{"f:status": obj{
		"f:conditions": obj{
			`k:{"type":"ContainersReady"}`: touched("type", "status", "lastTransitionTime"),
			`k:{"type":"Initialized"}`:     touched("type", "status", "lastTransitionTime"),
			`k:{"type":"Ready"}`:           touched("type", "status", "lastTransitionTime"),
		},
		"f:containerStatuses": obj{}, "f:hostIP": obj{}, "f:hostIPs": obj{}, "f:phase": obj{}, "f:podIP": obj{},
		"f:podIPs": obj{".": obj{}, `k:{"ip":"` + p.ip + `"}`: touched("ip")}, "f:startTime": obj{},
	}}))
}

func (p *pod) managedMetadata() obj {
	labels := obj{".": obj{}}
	for key := range p.set.labels() {
		labels["f:"+key] = obj{}
	}
	return obj{
		"f:generateName": obj{}, "f:labels": labels,
		"f:ownerReferences": obj{".": obj{}, `k:{"uid":"` + p.set.uid + `"}`: obj{}},
	}
}

func (s *replicaSet) managedSpec() obj {
	container := touched("name", "image", "imagePullPolicy", "args")
	container["f:ports"] = obj{".": obj{}, `k:{"containerPort":` + strconv.Itoa(s.workload.app.port) + `,"protocol":"TCP"}`: touched("containerPort", "name", "protocol")}
	container["f:resources"] = touched("limits", "requests")
	spec := touched("dnsPolicy", "restartPolicy", "schedulerName", "securityContext", "serviceAccount", "terminationGracePeriodSeconds")
	spec["f:containers"] = obj{`k:{"name":"` + s.workload.app.name + `"}`: container}
	spec["f:volumes"] = obj{".": obj{}, `k:{"name":"config"}`: touched("name", "configMap"), `k:{"name":"tmp"}`: touched("name", "emptyDir")}
	return spec
}

func managedFields(version, manager, at, subresource string, fields obj) obj {
	entry := obj{"manager": manager, "operation": "Update", "apiVersion": version, "time": at, "fieldsType": "FieldsV1", "fieldsV1": fields}
	if subresource != "" {
		entry["subresource"] = subresource
	}
	return entry
}

// touched returns a set of fields in the format of managedFields.
func touched(names ...string) obj {
	set := obj{".": obj{}}
	for _, name := range names {
		set["f:"+name] = obj{}
	}
	return set
}
