package clustersim

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/source"
)

// These are the resources that a simulation writes.
var (
	pods        = api.Resource{Version: "v1", Name: "pods"}
	nodes       = api.Resource{Version: "v1", Name: "nodes"}
	namespaces  = api.Resource{Version: "v1", Name: "namespaces"}
	configMaps  = api.Resource{Version: "v1", Name: "configmaps"}
	events      = api.Resource{Version: "v1", Name: "events"}
	deployments = api.Resource{Group: "apps", Version: "v1", Name: "deployments"}
	replicaSets = api.Resource{Group: "apps", Version: "v1", Name: "replicasets"}
	jobs        = api.Resource{Group: "batch", Version: "v1", Name: "jobs"}
)

// obj and arr make JSON literals readable. Maps marshal with sorted keys, so equal
// states have equal bytes.
type (
	obj = map[string]any
	arr = []any
)

func encode(resource api.Resource, key api.Key, kind string, object obj) source.Write {
	object["apiVersion"], object["kind"] = resource.APIVersion(), kind
	value, err := json.Marshal(object)
	if err != nil {
		panic("clustersim: " + err.Error()) // maps of plain values always marshal
	}
	return source.Write{Resource: resource, Key: key, Value: value}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func condition(kind string, yes bool, since time.Time, more obj) obj {
	c := obj{"type": kind, "status": truth(yes), "lastTransitionTime": stamp(since)}
	for k, v := range more {
		c[k] = v
	}
	return c
}

func truth(yes bool) string {
	if yes {
		return "True"
	}
	return "False"
}

// digest returns a fake ID of an image or container.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func (n *node) render() source.Write {
	metadata := obj{
		"name": n.name, "uid": n.uid, "creationTimestamp": stamp(n.created),
		"labels": obj{
			"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "kubernetes.io/hostname": n.name,
			"node.kubernetes.io/instance-type": "m6i.4xlarge", "topology.kubernetes.io/region": "eu-central-1",
			"topology.kubernetes.io/zone": "eu-central-1" + string('a'+n.name[len(n.name)-1]%3),
		},
		"annotations": obj{"node.alpha.kubernetes.io/ttl": "0", "volumes.kubernetes.io/controller-managed-attach-detach": "true"},
	}
	spec := obj{"podCIDR": "10.64.0.0/24", "providerID": "aws:///eu-central-1/" + n.name}
	if n.cordoned {
		spec["unschedulable"] = true
		spec["taints"] = arr{obj{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}}
	}
	return encode(nodes, api.Key(n.name), "Node", obj{"metadata": metadata, "spec": spec, "status": n.status()})
}

func (n *node) status() obj {
	quiet := func(kind, reason, message string) obj {
		return condition(kind, false, n.created, obj{"lastHeartbeatTime": stamp(n.beat), "reason": reason, "message": message})
	}
	return obj{
		"addresses":   arr{obj{"type": "InternalIP", "address": n.ip}, obj{"type": "Hostname", "address": n.name}},
		"capacity":    obj{"cpu": "16", "memory": "65536000Ki", "pods": "250", "ephemeral-storage": "104845292Ki"},
		"allocatable": obj{"cpu": "15890m", "memory": "63488000Ki", "pods": "250", "ephemeral-storage": "95551679124"},
		"conditions": arr{
			quiet("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
			quiet("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
			quiet("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
			condition("Ready", true, n.created, obj{"lastHeartbeatTime": stamp(n.beat), "reason": "KubeletReady", "message": "kubelet is posting ready status"}),
		},
		"nodeInfo": obj{
			"architecture": "amd64", "operatingSystem": "linux", "kubeletVersion": "v1.36.3", "kernelVersion": "6.12.48-cloud-amd64",
			"osImage": "Debian GNU/Linux 13 (trixie)", "containerRuntimeVersion": "containerd://2.1.4",
			"bootID": digest(n.uid)[:36], "machineID": digest(n.name)[:32], "systemUUID": n.uid,
		},
	}
}

func (n *namespace) render() source.Write {
	return encode(namespaces, api.Key(n.name), "Namespace", obj{
		"metadata": obj{
			"name": n.name, "uid": n.uid, "creationTimestamp": stamp(n.created),
			"labels": obj{"kubernetes.io/metadata.name": n.name},
		},
		"spec":   obj{"finalizers": arr{"kubernetes"}},
		"status": obj{"phase": "Active"},
	})
}

func (m *configMap) render() source.Write {
	return encode(configMaps, api.NewKey(m.namespace, m.name), "ConfigMap", obj{
		"metadata": obj{"name": m.name, "namespace": m.namespace, "uid": m.uid, "creationTimestamp": stamp(m.created)},
		"data": obj{
			"revision":     strconv.Itoa(m.edits),
			"settings.yml": "log:\n  level: info\n  format: json\nlimits:\n  connections: " + strconv.Itoa(100+m.edits) + "\n  timeout: 30s\n",
		},
	})
}

// reference returns a reference to the workload, for use in an event.
func (w *workload) reference() obj {
	return obj{"apiVersion": "apps/v1", "kind": "Deployment", "namespace": w.namespace, "name": w.app.name, "uid": w.uid}
}

func (p *pod) reference() obj {
	return obj{
		"apiVersion": "v1", "kind": "Pod", "namespace": p.namespace(), "name": p.name, "uid": p.uid,
		"fieldPath": "spec.containers{" + p.set.workload.app.name + "}",
	}
}

func (c *Cluster) event(p *pod, kind, reason, message string) {
	c.eventOf(p.reference(), p.namespace(), p.name, kind, reason, message)
}

// eventOf writes an event. It deletes the oldest event if there are more than maxEvents.
func (c *Cluster) eventOf(about obj, namespace, name, kind, reason, message string) {
	now := stamp(c.config.Now())
	name += "." + strconv.FormatUint(c.rand.Uint64(), 16)
	key := api.NewKey(namespace, name)
	component := "kubelet"
	if about["kind"] == "Deployment" {
		component = "deployment-controller"
	}
	c.write(encode(events, key, "Event", obj{
		"metadata":       obj{"name": name, "namespace": namespace, "uid": c.uid(), "creationTimestamp": now},
		"involvedObject": about, "type": kind, "reason": reason, "message": message, "count": 1,
		"firstTimestamp": now, "lastTimestamp": now,
		"source": obj{"component": component}, "reportingComponent": component, "reportingInstance": "",
	}))
	c.events = append(c.events, key)
	if len(c.events) > maxEvents {
		c.write(source.Write{Resource: events, Key: c.events[0]})
		c.events = c.events[1:]
	}
}
