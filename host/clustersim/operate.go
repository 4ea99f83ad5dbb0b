package clustersim

import (
	"fmt"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/source"
)

const (
	// maxRollouts is the maximum number of concurrent rollouts.
	maxRollouts = 3
	// maxLeaving is the number of terminating pods above which deletions take
	// precedence.
	maxLeaving = 50
	// unsettledPercent is the percentage of unsettled pods at and above which every call of
	// settle has an effect.
	unsettledPercent = 6
)

var unsettledStates = []podState{pending, creating, unready, crashed}

// operations lists the operations with their weights, which are relative frequencies. An
// operation without effect writes nothing, and Step picks another one.
var operations = []struct {
	weight int
	do     func(*Cluster)
}{
	{40, (*Cluster).load},
	{8, (*Cluster).flap},
	{6, (*Cluster).crash},
	{60, (*Cluster).settle},
	{6, (*Cluster).rollOut},
	{20, (*Cluster).reap},
	{3, (*Cluster).scale},
	{3, (*Cluster).drain},
	{4, (*Cluster).beat},
	{1, (*Cluster).configure},
	{1, (*Cluster).evict},
	{3, (*Cluster).finish},
	{3, (*Cluster).restartJob},
}

func (c *Cluster) operate() {
	if c.pods[terminating].len() > maxLeaving {
		c.reap()
		return
	}
	total := 0
	for _, op := range operations {
		total += op.weight
	}
	roll := c.rand.IntN(total)
	for _, op := range operations {
		if roll -= op.weight; roll < 0 {
			op.do(c)
			return
		}
	}
}

// pick returns a random pod in a state, or nil.
func (c *Cluster) pick(s podState) *pod { return c.pickFrom(&c.pods[s]) }

func (c *Cluster) pickFrom(p *pool) *pod {
	if p.len() == 0 {
		return nil
	}
	return p.pods[c.rand.IntN(p.len())]
}

// load makes a small update: it changes the CPU usage of a pod.
func (c *Cluster) load() {
	if p := c.pick(running); p != nil {
		p.load = c.rand.IntN(1000)
		c.write(p.render())
	}
}

// flap makes a readiness probe fail.
func (c *Cluster) flap() {
	if p := c.pick(running); p != nil {
		c.move(p, unready)
		c.event(p, "Warning", "Unhealthy", fmt.Sprintf("Readiness probe failed: Get \"http://%s:%d/healthz\": context deadline exceeded", p.ip, p.set.workload.app.port))
		c.writeWorkload(p.set)
	}
}

func (c *Cluster) crash() {
	if p := c.pick(running); p != nil {
		p.restarts++
		c.move(p, crashed)
		c.event(p, "Warning", "BackOff", "Back-off restarting failed container "+p.set.workload.app.name+" in pod "+p.name)
		c.writeWorkload(p.set)
	}
}

// settle moves a pod in one of unsettledStates one step closer to running. The more such
// pods exist, the more often settle has an effect, which keeps their share at a few percent.
func (c *Cluster) settle() {
	unsettled := 0
	for _, s := range unsettledStates {
		unsettled += c.pods[s].len()
	}
	roll := c.rand.IntN(1 + c.config.Pods*unsettledPercent/100)
	if roll >= unsettled {
		return
	}
	roll = c.rand.IntN(unsettled)
	for _, s := range unsettledStates {
		if n := c.pods[s].len(); roll >= n {
			roll -= n
			continue
		}
		c.advance(c.pods[s].pods[roll])
		return
	}
}

func (c *Cluster) advance(p *pod) {
	was := p.state
	if was == pending {
		c.move(p, creating)
		c.event(p, "Normal", "Scheduled", "Successfully assigned "+p.namespace()+"/"+p.name+" to "+p.node.name)
		return
	}
	c.move(p, running)
	if was != unready {
		c.event(p, "Normal", "Started", "Started container "+p.set.workload.app.name)
	}
	c.writeWorkload(p.set)
}

// rollOut begins a rollout, or replaces the next few pods of a running rollout.
func (c *Cluster) rollOut() {
	if len(c.rollouts) < maxRollouts && c.rand.IntN(8) == 0 {
		c.beginRollout(c.pickDeployment())
		return
	}
	if len(c.rollouts) == 0 {
		return
	}
	i := c.rand.IntN(len(c.rollouts))
	w := c.rollouts[i]
	for range 1 + c.rand.IntN(3) {
		if p := c.pickFrom(&w.old.pods); p != nil {
			c.leave(p)
			c.create(w.current)
		}
	}
	c.writeSet(w.old)
	c.writeWorkload(w.current)
	if !w.rolling() {
		c.rollouts = append(c.rollouts[:i], c.rollouts[i+1:]...)
	}
}

func (c *Cluster) beginRollout(w *workload) {
	if w.rolling() {
		return
	}
	if w.old != nil {
		c.write(source.Write{Resource: replicaSets, Key: api.NewKey(w.namespace, w.old.name)})
	}
	w.revision++
	w.generation++
	w.old, w.current = w.current, c.newSet(w)
	c.writeWorkload(w.current)
	c.eventOf(w.reference(), w.namespace, w.app.name, "Normal", "ScalingReplicaSet", "Scaled up replica set "+w.current.name+" to 1")
	if w.rolling() {
		c.rollouts = append(c.rollouts, w)
	}
}

// reap deletes a terminating pod, or an evicted pod if there are more evicted pods than
// nodes.
func (c *Cluster) reap() {
	state := terminating
	if c.pods[evicted].len() > len(c.nodes) {
		state = evicted
	}
	if p := c.pick(state); p != nil {
		c.remove(p)
	}
}

// scale adds or removes a few replicas of a deployment. The number of replicas stays
// within about a third of the initial number.
func (c *Cluster) scale() {
	w := c.pickDeployment()
	if w.rolling() {
		return
	}
	by := 1 + c.rand.IntN(3)
	if c.rand.IntN(2) == 0 {
		by = -by
	}
	if target := w.desired + by; target < max(1, w.base*2/3) || target > w.base*4/3+3 {
		by = -by
	}
	if w.desired+by < 0 {
		return
	}
	w.desired += by
	w.generation++
	for ; by > 0; by-- {
		c.create(w.current)
	}
	for ; by < 0; by++ {
		if p := c.pickFrom(&w.current.pods); p != nil {
			c.leave(p)
		}
	}
	c.writeWorkload(w.current)
	c.eventOf(w.reference(), w.namespace, w.app.name, "Normal", "ScalingReplicaSet", fmt.Sprintf("Scaled replica set %s to %d", w.current.name, w.desired))
}

// drain cordons a node, moves its pods away a few at a time, and uncordons it.
func (c *Cluster) drain() {
	if c.draining == nil {
		if len(c.nodes) > 1 && c.rand.IntN(10) == 0 {
			c.draining = c.pickNode()
			c.cordon(true)
		}
		return
	}
	left := 0
	for _, p := range c.draining.pods.pods {
		if p.state == terminating || p.state.finished() {
			continue
		}
		if left++; left > 3 {
			return
		}
		c.leave(p)
		c.replace(p)
	}
	if left == 0 {
		c.cordon(false)
		c.draining = nil
	}
}

func (c *Cluster) cordon(yes bool) {
	c.draining.cordoned = yes
	c.draining.beat = c.config.Now()
	c.write(c.draining.render())
}

// beat writes a node's heartbeat.
func (c *Cluster) beat() {
	n := c.nodes[c.rand.IntN(len(c.nodes))]
	n.beat = c.config.Now()
	c.write(n.render())
}

func (c *Cluster) configure() {
	if len(c.configMaps) > 0 {
		m := c.configMaps[c.rand.IntN(len(c.configMaps))]
		m.edits++
		c.write(m.render())
	}
}

// evict evicts a pod as if its node were low on memory.
func (c *Cluster) evict() {
	p := c.pick(running)
	if p == nil || p.set.workload.app.job {
		return
	}
	c.move(p, evicted)
	c.event(p, "Warning", "Evicted", "The node was low on resource: memory.")
	c.replace(p)
}

// finish makes a running pod of a job succeed or fail.
func (c *Cluster) finish() {
	p := c.pickFrom(&c.pickJob().current.pods)
	if p == nil || p.state != running {
		return
	}
	if c.rand.IntN(6) == 0 {
		c.move(p, failed)
	} else {
		c.move(p, succeeded)
	}
	c.writeWorkload(p.set)
}

// restartJob replaces a finished pod of a job with a new one.
func (c *Cluster) restartJob() {
	p := c.pick(succeeded)
	if p == nil || c.rand.IntN(5) == 0 {
		p = c.pick(failed)
	}
	if p != nil {
		c.remove(p)
		c.replace(p)
	}
}

// The following methods implement the steps of the operations.

func (c *Cluster) move(p *pod, next podState) {
	c.become(p, next)
	p.changed = c.config.Now()
	c.write(p.render())
}

func (c *Cluster) create(s *replicaSet) { c.write(c.newPod(s).render()) }

// replace creates a pod of the workload's current version to replace a deleted one.
func (c *Cluster) replace(p *pod) {
	current := p.set.workload.current
	c.create(current)
	c.writeWorkload(current)
	if p.set == p.set.workload.old {
		c.writeSet(p.set)
	}
}

func (c *Cluster) leave(p *pod) {
	c.move(p, terminating)
	c.event(p, "Normal", "Killing", "Stopping container "+p.set.workload.app.name)
}

func (c *Cluster) remove(p *pod) {
	c.forget(p)
	c.write(source.Write{Resource: pods, Key: p.key()})
}

// writeWorkload writes the set and, unless it is a job, its Deployment. The status of
// both contains the number of pods.
func (c *Cluster) writeWorkload(s *replicaSet) {
	c.writeSet(s)
	if !s.workload.app.job {
		c.write(s.workload.render())
	}
}

func (c *Cluster) writeSet(s *replicaSet) {
	if s.workload.app.job {
		c.write(s.renderJob())
	} else {
		c.write(s.render())
	}
}

func (c *Cluster) pickDeployment() *workload { return c.pickWorkload(false) }
func (c *Cluster) pickJob() *workload        { return c.pickWorkload(true) }

// pickWorkload returns a random job or deployment. The loop terminates, because every
// namespace runs apps of both kinds.
func (c *Cluster) pickWorkload(job bool) *workload {
	for {
		if w := c.workloads[c.rand.IntN(len(c.workloads))]; w.app.job == job {
			return w
		}
	}
}
