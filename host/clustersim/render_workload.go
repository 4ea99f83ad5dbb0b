package clustersim

import (
	"strconv"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/source"
)

func (w *workload) render() source.Write {
	total, ready := w.current.pods.len(), w.current.pods.count(running)
	updated := total
	if w.old != nil {
		total += w.old.pods.len()
		ready += w.old.pods.count(running)
	}
	status := obj{
		"observedGeneration": w.generation, "replicas": total, "updatedReplicas": updated,
		"readyReplicas": ready, "availableReplicas": ready, "unavailableReplicas": total - ready,
		"conditions": arr{
			condition("Available", 4*ready >= 3*w.desired, w.created, obj{"reason": "MinimumReplicasAvailable", "lastUpdateTime": stamp(w.created)}),
			condition("Progressing", true, w.current.created, obj{"reason": "NewReplicaSetAvailable", "lastUpdateTime": stamp(w.current.created)}),
		},
	}
	return encode(deployments, api.NewKey(w.namespace, w.app.name), "Deployment", obj{
		"metadata": obj{
			"name": w.app.name, "namespace": w.namespace, "uid": w.uid, "generation": w.generation,
			"creationTimestamp": stamp(w.created),
			"labels":            obj{"app": w.app.name, "tier": w.app.tier},
			"annotations":       obj{"deployment.kubernetes.io/revision": strconv.Itoa(w.revision)},
			"managedFields":     w.managedFields(),
		},
		"spec": obj{
			"replicas": w.desired, "revisionHistoryLimit": 1, "progressDeadlineSeconds": 600,
			"selector": obj{"matchLabels": obj{"app": w.app.name}},
			"strategy": obj{"type": "RollingUpdate", "rollingUpdate": obj{"maxSurge": "25%", "maxUnavailable": "25%"}},
			"template": w.current.template(),
		},
		"status": status,
	})
}

// managedFields returns metadata.managedFields, which lists the fields that the
// deployment pipeline and the controller have written.
func (w *workload) managedFields() arr {
	spec := touched("progressDeadlineSeconds", "replicas", "revisionHistoryLimit", "selector", "strategy")
	spec["f:template"] = obj{"f:metadata": obj{"f:labels": touched("app", "version", "tier")}, "f:spec": w.current.managedSpec()}
	status := touched("availableReplicas", "observedGeneration", "readyReplicas", "replicas", "unavailableReplicas", "updatedReplicas")
	status["f:conditions"] = obj{
		".":                        obj{},
		`k:{"type":"Available"}`:   touched("lastTransitionTime", "lastUpdateTime", "reason", "status", "type"),
		`k:{"type":"Progressing"}`: touched("lastTransitionTime", "lastUpdateTime", "reason", "status", "type"),
	}
	return arr{
		managedFields("apps/v1", "argocd-controller", stamp(w.current.created), "", obj{"f:metadata": obj{"f:labels": touched("app", "tier")}, "f:spec": spec}),
		managedFields("apps/v1", "kube-controller-manager", stamp(w.current.created), "status", obj{
			"f:metadata": obj{"f:annotations": touched("deployment.kubernetes.io/revision")}, "f:status": status,
		}),
	}
}

func (s *replicaSet) render() source.Write {
	w, ready := s.workload, s.pods.count(running)
	desired := s.pods.len()
	return encode(replicaSets, api.NewKey(w.namespace, s.name), "ReplicaSet", obj{
		"metadata": obj{
			"name": s.name, "namespace": w.namespace, "uid": s.uid, "creationTimestamp": stamp(s.created),
			"labels":          s.labels(),
			"annotations":     obj{"deployment.kubernetes.io/revision": strconv.Itoa(s.revision), "deployment.kubernetes.io/desired-replicas": strconv.Itoa(w.desired)},
			"ownerReferences": arr{owner("apps/v1", "Deployment", w.app.name, w.uid)},
		},
		"spec": obj{
			"replicas": desired,
			"selector": obj{"matchLabels": obj{"app": w.app.name, "pod-template-hash": s.hash}},
			"template": s.template(),
		},
		"status": obj{"replicas": desired, "fullyLabeledReplicas": desired, "readyReplicas": ready, "availableReplicas": ready},
	})
}

// renderJob renders the set as a Job.
func (s *replicaSet) renderJob() source.Write {
	w := s.workload
	return encode(jobs, api.NewKey(w.namespace, s.name), "Job", obj{
		"metadata": obj{
			"name": s.name, "namespace": w.namespace, "uid": s.uid, "creationTimestamp": stamp(s.created), "labels": s.labels(),
		},
		"spec": obj{
			"parallelism": w.desired, "completions": w.desired, "backoffLimit": 6, "suspend": false,
			"selector": obj{"matchLabels": obj{"batch.kubernetes.io/controller-uid": s.uid}},
			"template": s.template(),
		},
		"status": obj{"active": s.pods.len(), "ready": s.pods.count(running), "startTime": stamp(s.created)},
	})
}

func owner(version, kind, name, uid string) obj {
	return obj{"apiVersion": version, "kind": kind, "name": name, "uid": uid, "controller": true, "blockOwnerDeletion": true}
}

func (s *replicaSet) owner() obj {
	if s.workload.app.job {
		return owner("batch/v1", "Job", s.name, s.uid)
	}
	return owner("apps/v1", "ReplicaSet", s.name, s.uid)
}

// labels returns the labels of the set and of its pods.
func (s *replicaSet) labels() obj {
	a := s.workload.app
	labels := obj{"app": a.name, "version": s.version, "tier": a.tier}
	if a.job {
		labels["job-name"] = s.name
		labels["batch.kubernetes.io/controller-uid"] = s.uid
	} else {
		labels["pod-template-hash"] = s.hash
	}
	return labels
}

func (s *replicaSet) template() obj {
	return obj{"metadata": obj{"labels": s.labels()}, "spec": s.podSpec()}
}

func (s *replicaSet) image() string { return s.workload.app.image + ":" + s.version }

const sidecarImage = "registry.example.com/mesh/proxy:2.9.1"

// podSpec returns the spec that all pods of the set share.
func (s *replicaSet) podSpec() obj {
	a := s.workload.app
	containers := arr{s.container()}
	if a.sidecar {
		containers = append(containers, obj{
			"name": "proxy", "image": sidecarImage, "imagePullPolicy": "IfNotPresent",
			"args":      arr{"proxy", "sidecar", "--log-level=warning", "--concurrency=2"},
			"ports":     arr{obj{"name": "mesh", "containerPort": 15090, "protocol": "TCP"}},
			"resources": obj{"requests": obj{"cpu": "50m", "memory": "64Mi"}},
		})
	}
	restart := "Always"
	if a.job {
		restart = "Never"
	}
	return obj{
		"containers": containers, "restartPolicy": restart, "dnsPolicy": "ClusterFirst",
		"schedulerName": "default-scheduler", "serviceAccountName": a.name, "serviceAccount": a.name,
		"terminationGracePeriodSeconds": 30, "securityContext": obj{"runAsNonRoot": true, "fsGroup": 2000},
		"volumes": arr{
			obj{"name": "config", "configMap": obj{"name": a.name + "-config", "defaultMode": 420}},
			obj{"name": "tmp", "emptyDir": obj{}},
		},
	}
}

func (s *replicaSet) container() obj {
	a := s.workload.app
	probe := func(path string, period int) obj {
		return obj{
			"httpGet":       obj{"path": path, "port": a.port, "scheme": "HTTP"},
			"periodSeconds": period, "timeoutSeconds": 1, "successThreshold": 1, "failureThreshold": 3,
		}
	}
	return obj{
		"name": a.name, "image": s.image(), "imagePullPolicy": "IfNotPresent",
		"args":  arr{"--listen=:" + strconv.Itoa(a.port), "--config=/etc/app/settings.yml"},
		"ports": arr{obj{"name": "http", "containerPort": a.port, "protocol": "TCP"}},
		"env": arr{
			obj{"name": "POD_NAME", "valueFrom": obj{"fieldRef": obj{"apiVersion": "v1", "fieldPath": "metadata.name"}}},
			obj{"name": "VERSION", "value": s.version},
		},
		"resources":      obj{"requests": obj{"cpu": a.cpu, "memory": a.memory}, "limits": obj{"memory": a.memory}},
		"livenessProbe":  probe("/livez", 20),
		"readinessProbe": probe("/healthz", 10),
		"volumeMounts": arr{
			obj{"name": "config", "mountPath": "/etc/app", "readOnly": true},
			obj{"name": "tmp", "mountPath": "/tmp"},
		},
		"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
	}
}
