package clustersim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/watchglass/watchglass/core/api"
)

// plan generates the cluster that Populate writes.
func (c *Cluster) plan() {
	for i := range c.config.Nodes {
		c.nodes = append(c.nodes, &node{
			name:    fmt.Sprintf("node-%03d", i),
			ip:      fmt.Sprintf("192.168.%d.%d", i/250, i%250+1),
			uid:     c.uid(),
			created: c.ago(90 * 24 * time.Hour),
			beat:    c.ago(time.Minute),
		})
	}
	for i := range c.config.Namespaces {
		for j := range apps {
			c.planWorkload(namespaceName(i), &apps[j])
		}
	}
	c.planPods()
	c.planNamespaces()
}

// planNamespaces plans the namespaces. It uses a separate sequence of random numbers, so
// that a seed yields the same other objects as in older versions of this package.
// Benchmarks compare results across these versions.
func (c *Cluster) planNamespaces() {
	others := c.rand
	c.rand = rand.New(rand.NewPCG(c.config.Seed, 0x6e616d65))
	for i := range c.config.Namespaces {
		c.namespaces = append(c.namespaces, &namespace{name: namespaceName(i), uid: c.uid(), created: c.ago(90 * 24 * time.Hour)})
	}
	c.rand = others
}

func (c *Cluster) planWorkload(namespace string, a *app) {
	w := &workload{app: a, namespace: namespace, uid: c.uid(), created: c.ago(60 * 24 * time.Hour), revision: 1 + c.rand.IntN(40)}
	w.generation = w.revision
	w.current = c.newSet(w)
	c.workloads = append(c.workloads, w)
	c.configMaps = append(c.configMaps, &configMap{
		namespace: namespace, name: a.name + "-config", uid: c.uid(), created: w.created,
	})
}

// planPods distributes the pods unevenly over the workloads, as in real clusters.
func (c *Cluster) planPods() {
	weights, total := make([]int, len(c.workloads)), 0
	for i := range weights {
		weights[i] = 1 + c.rand.IntN(8)
		total += weights[i]
	}
	given := 0
	for i, w := range c.workloads {
		w.desired = c.config.Pods * weights[i] / total
		given += w.desired
	}
	for i := 0; given < c.config.Pods; i++ {
		c.workloads[i%len(c.workloads)].desired++
		given++
	}
	for _, w := range c.workloads {
		w.base = w.desired
		for range w.desired {
			c.planPod(w)
		}
	}
}

func (c *Cluster) planPod(w *workload) {
	p := c.newPod(w.current)
	p.created = c.ago(14 * 24 * time.Hour)
	p.started = p.created.Add(5 * time.Second)
	p.changed = p.started
	p.load = c.rand.IntN(1000)
	if c.rand.IntN(10) == 0 {
		p.restarts = 1 + c.rand.IntN(5)
	}
	switch roll := c.rand.IntN(100); {
	case w.app.job && roll < 50:
		c.become(p, succeeded)
	case w.app.job && roll < 60:
		c.become(p, failed)
	case roll < 61 || roll >= 67:
		c.become(p, running)
	case roll < 63:
		c.become(p, crashed)
		p.restarts += 5
	case roll < 64:
		c.become(p, unready)
	case roll < 66:
		c.become(p, creating)
	}
}

// newSet returns a replicaSet, without pods, for the current revision of a workload.
func (c *Cluster) newSet(w *workload) *replicaSet {
	s := &replicaSet{
		workload: w,
		hash:     c.letters(10),
		uid:      c.uid(),
		version:  fmt.Sprintf("1.%d.%d", w.revision, c.rand.IntN(10)),
		created:  c.config.Now(),
		revision: w.revision,
	}
	s.name = w.app.name + "-" + s.hash
	if w.app.job {
		s.name = fmt.Sprintf("%s-%d", w.app.name, c.config.Now().Unix()/60)
	}
	return s
}

// newPod creates a pending pod of a set. Like Kubernetes, it generates another name if
// the first one exists.
func (c *Cluster) newPod(s *replicaSet) *pod {
	now, name := c.config.Now(), s.name+"-"+c.letters(5)
	for c.podNames[api.NewKey(s.workload.namespace, name)] {
		name = s.name + "-" + c.letters(5)
	}
	p := &pod{set: s, name: name, uid: c.uid(), created: now, changed: now}
	c.podNames[p.key()] = true
	s.pods.add(p)
	c.pods[pending].add(p)
	return p
}

// become moves a pod to a state and updates the pools. It schedules a pod that is no
// longer pending, and records when a container starts.
func (c *Cluster) become(p *pod, next podState) {
	if p.node == nil && next != terminating {
		c.schedule(p)
	}
	if next == running && (p.state == pending || p.state == creating || p.state == crashed) {
		p.started = c.config.Now()
	}
	c.pods[p.state].remove(p)
	p.state = next
	c.pods[next].add(p)
	if next.finished() || next == terminating {
		p.set.pods.remove(p)
	}
}

func (c *Cluster) schedule(p *pod) {
	p.node = c.pickNode()
	p.node.pods.add(p)
	c.addresses++
	p.ip = fmt.Sprintf("10.%d.%d.%d", 64+c.addresses>>16&63, c.addresses>>8&255, c.addresses&255)
}

// forget removes a deleted pod from all pools.
func (c *Cluster) forget(p *pod) {
	c.pods[p.state].remove(p)
	p.set.pods.remove(p)
	delete(c.podNames, p.key())
	if p.node != nil {
		p.node.pods.remove(p)
	}
}

// pickNode returns a random node that is not cordoned. At most one node is cordoned.
func (c *Cluster) pickNode() *node {
	for {
		if n := c.nodes[c.rand.IntN(len(c.nodes))]; !n.cordoned {
			return n
		}
	}
}

// ago returns a random time within the last d, in whole seconds as in Kubernetes.
func (c *Cluster) ago(d time.Duration) time.Time {
	return c.config.Now().Add(-time.Duration(c.rand.Int64N(int64(d)))).Truncate(time.Second)
}

// letters returns n random characters from the set that Kubernetes uses in generated
// names. The set has no vowels, so that the characters form no words.
func (c *Cluster) letters(n int) string {
	const alphabet = "bcdfghjklmnpqrstvwxz2456789"
	text := make([]byte, n)
	for i := range text {
		text[i] = alphabet[c.rand.IntN(len(alphabet))]
	}
	return string(text)
}

func (c *Cluster) uid() string {
	a, b := c.rand.Uint64(), c.rand.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", uint32(a), uint16(a>>32), a>>48&0xfff, b&0xfff, b>>16)
}
