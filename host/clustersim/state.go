package clustersim

import (
	"fmt"
	"time"

	"github.com/watchglass/watchglass/core/api"
)

// The types in this file are the state of the simulation. The state contains no JSON:
// every write renders its object from the state.

type node struct {
	name, ip, uid string
	created       time.Time
	beat          time.Time
	cordoned      bool
	pods          pool
}

// app is a program that every namespace runs.
type app struct {
	name, tier, image string
	port              int
	cpu, memory       string
	sidecar           bool
	job               bool // runs to completion
}

var apps = []app{
	{name: "web", tier: "frontend", image: "registry.example.com/shop/web", port: 8080, cpu: "250m", memory: "256Mi", sidecar: true},
	{name: "api", tier: "backend", image: "registry.example.com/shop/api", port: 8443, cpu: "500m", memory: "512Mi", sidecar: true},
	{name: "worker", tier: "backend", image: "registry.example.com/shop/worker", port: 9090, cpu: "1", memory: "1Gi"},
	{name: "search", tier: "backend", image: "registry.example.com/shop/search", port: 9200, cpu: "1", memory: "2Gi"},
	{name: "db", tier: "data", image: "docker.io/library/postgres", port: 5432, cpu: "2", memory: "4Gi"},
	{name: "cache", tier: "data", image: "docker.io/library/redis", port: 6379, cpu: "250m", memory: "1Gi"},
	{name: "mail", tier: "edge", image: "registry.example.com/shop/mail", port: 2525, cpu: "100m", memory: "128Mi"},
	{name: "report", tier: "batch", image: "registry.example.com/shop/report", port: 9091, cpu: "500m", memory: "512Mi", job: true},
}

// workload is one app in one namespace.
type workload struct {
	app        *app
	namespace  string
	uid        string
	created    time.Time
	desired    int // replicas
	base       int // initial number of replicas; scaling stays close to it
	revision   int
	generation int
	current    *replicaSet
	old        *replicaSet // previous version, replaced during a rollout and without pods after it
}

func (w *workload) rolling() bool { return w.old != nil && w.old.pods.len() > 0 }

// replicaSet is one version of a workload: a ReplicaSet, or a Job if the app is a job.
type replicaSet struct {
	workload *workload
	name     string
	hash     string
	uid      string
	version  string
	created  time.Time
	revision int
	pods     pool // pods that are neither terminating nor finished
}

type podState uint8

const (
	pending     podState = iota // not scheduled
	creating                    // scheduled, no container yet
	running                     // and ready
	unready                     // running, its probe fails
	crashed                     // waits for its restart
	succeeded                   // a pod of a job that succeeded
	failed                      // a pod of a job that failed
	evicted                     // by its node
	terminating                 // deleted, still shutting down
)

// phase returns the status.phase of a pod in this state. A terminating pod is still
// Running.
func (s podState) phase() string {
	switch s {
	case pending, creating:
		return "Pending"
	case succeeded:
		return "Succeeded"
	case failed, evicted:
		return "Failed"
	}
	return "Running"
}

func (s podState) finished() bool { return s == succeeded || s == failed || s == evicted }

type pod struct {
	set      *replicaSet
	node     *node // nil until scheduled
	name     string
	uid      string
	ip       string
	state    podState
	restarts int
	load     int // CPU usage in thousandths
	created  time.Time
	started  time.Time // start of the current container
	changed  time.Time // time of the last change of state
}

func (p *pod) namespace() string { return p.set.workload.namespace }

func (p *pod) key() api.Key { return api.NewKey(p.namespace(), p.name) }

type namespace struct {
	name, uid string
	created   time.Time
}

type configMap struct {
	namespace, name, uid string
	created              time.Time
	edits                int
}

// pool is a set of pods that supports random selection. Its order depends only on the
// additions and removals, so a selection is reproducible. The zero value is empty.
type pool struct {
	pods []*pod
	at   map[*pod]int
}

func (p *pool) len() int { return len(p.pods) }

func (p *pool) add(x *pod) {
	if p.at == nil {
		p.at = map[*pod]int{}
	}
	if _, ok := p.at[x]; ok {
		return
	}
	p.at[x] = len(p.pods)
	p.pods = append(p.pods, x)
}

// remove removes a pod, if the pool contains it.
func (p *pool) remove(x *pod) {
	i, ok := p.at[x]
	if !ok {
		return
	}
	last := p.pods[len(p.pods)-1]
	p.pods[i], p.at[last] = last, i
	p.pods = p.pods[:len(p.pods)-1]
	delete(p.at, x)
}

// count returns the number of pods in a state.
func (p *pool) count(s podState) int {
	n := 0
	for _, x := range p.pods {
		if x.state == s {
			n++
		}
	}
	return n
}

var namespaceNames = []string{
	"default", "shop", "payments", "identity", "catalog", "shipping",
	"search", "analytics", "mobile", "partners", "staging", "platform",
}

func namespaceName(i int) string {
	if i < len(namespaceNames) {
		return namespaceNames[i]
	}
	return fmt.Sprintf("team-%02d", i)
}
