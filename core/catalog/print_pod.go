package catalog

import (
	"strconv"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/objectjson"
)

// The cell indexes of a pod.
const (
	podReady = iota
	podStatus
	podRestarts
	podGates
)

// The value indexes of a pod, in the order of podPrinter.Paths.
const (
	podPhase = iota
	podReason
	podDeleted
	podConditions
	podContainers
	podInitContainers
	podInitStatuses
	podContainerStatuses
	podReadinessGates
)

var podPrinter = objectjson.Printer{
	Paths: []string{
		".status.phase", ".status.reason", ".metadata.deletionTimestamp", ".status.conditions[*]",
		".spec.containers[*]", ".spec.initContainers[*]",
		".status.initContainerStatuses[*]", ".status.containerStatuses[*]",
		".spec.readinessGates[*].conditionType",
	},
	Print: printPod,
}

// pod accumulates the cells of a pod.
type pod struct {
	values *objectjson.Values
	ready  int
	total  int
	// The status consists of prefix, the text of reason, and word. Either reason or word
	// is empty.
	prefix string
	reason objectjson.Document
	word   string

	restarts, sidecarRestarts counter
}

// counter is a number of restarts, with the time of the last restart.
type counter struct {
	count int
	last  int64 // time of the last restart in milliseconds, or zero
}

func (c *counter) add(s *containerStatus) {
	c.count += s.restarts
	c.last = max(c.last, s.lastFinished)
}

// printPod prints a pod as kubectl does. The status is the phase or the reason of the
// pod, unless a container that is not running has a more precise reason. An unfinished
// init container takes precedence over the other containers.
func printPod(v *objectjson.Values, out *objectjson.Cells) {
	p := pod{values: v, total: len(v.All(podContainers)), reason: v.Get(podPhase)}
	if reason := v.Get(podReason); len(reason) > len(`""`) {
		p.reason = reason
	}
	if p.hasCondition("PodScheduled", "reason", "SchedulingGated") {
		p.set("", nil, "SchedulingGated")
	}
	for _, c := range v.All(podInitContainers) {
		if isSidecar(c) {
			p.total++
		}
	}
	if initializing := p.initContainers(); !initializing || p.isInitialized() {
		p.restarts = p.sidecarRestarts
		p.containers()
	}
	if !v.Get(podDeleted).IsNull() {
		switch phase := v.Get(podPhase); {
		case v.Get(podReason).Is("NodeLost"):
			p.set("", nil, "Unknown")
		case !phase.Is("Failed") && !phase.Is("Succeeded"):
			p.set("", nil, "Terminating")
		}
	}
	p.print(out)
}

func (p *pod) print(out *objectjson.Cells) {
	addRatio(out, p.ready, p.total)
	out.SetText(podReady)

	out.Add(p.prefix)
	out.AddValue(p.reason)
	out.Add(p.word)
	out.SetText(podStatus)

	restarts := api.Value{Kind: api.Integer, Int: int64(p.restarts.count)}
	if restarts.Int != 0 {
		restarts.Time = p.restarts.last
	}
	out.Set(podRestarts, restarts)
	p.printGates(out)
}

// set sets the status to prefix, followed by the text of reason, or by word if reason is
// nil.
//
//go:noinline
func (p *pod) set(prefix string, reason objectjson.Document, word string) {
	p.prefix, p.reason, p.word = prefix, reason, word
}

// is reports whether the status is the given reason, without a prefix.
func (p *pod) is(reason string) bool {
	return p.prefix == "" && (p.word == reason || p.word == "" && p.reason.Is(reason))
}

// initContainers counts restarts and ready sidecars, and reports whether an init
// container has not finished. If so, the status describes that container.
func (p *pod) initContainers() (initializing bool) {
	for i, status := range p.values.All(podInitStatuses) {
		var c containerStatus
		c.read(status)
		sidecar := p.isSidecarNamed(c.name)
		p.restarts.add(&c)
		if sidecar {
			p.sidecarRestarts.add(&c)
		}
		switch {
		case c.terminated != nil && c.exitCode == "0":
			continue
		case sidecar && c.started:
			if c.ready {
				p.ready++
			}
			continue
		case c.terminated != nil:
			p.setTerminated("Init:", &c)
		case len(c.reason) > len(`""`) && c.waiting != nil && !c.reason.Is("PodInitializing"):
			p.set("Init:", c.reason, "")
		default:
			p.set("Init:", nil, strconv.Itoa(i)+"/"+strconv.Itoa(len(p.values.All(podInitContainers))))
		}
		return true
	}
	return false
}

// setTerminated sets the status to the reason why a container terminated.
func (p *pod) setTerminated(prefix string, c *containerStatus) {
	switch {
	case len(c.reason) > len(`""`):
		p.set(prefix, c.reason, "")
	case c.signal != "" && c.signal != "0":
		p.set(prefix+"Signal:", nil, c.signal)
	default:
		p.set(prefix+"ExitCode:", nil, c.exitCode)
	}
}

// containers counts restarts and ready containers. The status describes the first
// container that is not running.
func (p *pod) containers() {
	running, failed := false, false
	var failure pod
	statuses := p.values.All(podContainerStatuses)
	for i := len(statuses) - 1; i >= 0; i-- {
		var c containerStatus
		c.read(statuses[i])
		p.restarts.add(&c)
		switch {
		case c.waiting != nil && len(c.reason) > len(`""`):
			p.set("", c.reason, "")
		case c.terminated != nil:
			p.setTerminated("", &c)
			if c.exitCode != "0" {
				failed, failure = true, *p
			}
		case c.ready && c.running != nil:
			running = true
			p.ready++
		}
	}
	if !p.is("Completed") {
		return
	}
	switch {
	case running && p.hasCondition("Ready", "status", "True"):
		p.set("", nil, "Running")
	case failed:
		p.set(failure.prefix, failure.reason, failure.word)
	case running:
		p.set("", nil, "NotReady")
	}
}

// hasCondition reports whether the pod has a condition of the given type in which the
// named member has the given value.
func (p *pod) hasCondition(kind, member, value string) bool {
	for _, condition := range p.values.All(podConditions) {
		if k, v := pick(condition, "type", member); k.Is(kind) && v.Is(value) {
			return true
		}
	}
	return false
}

// isInitialized reports whether the first Initialized condition is true.
func (p *pod) isInitialized() bool {
	return findCondition(p.values.All(podConditions), "Initialized").status.Is("True")
}

// isSidecarNamed reports whether the named init container has the restart policy
// Always.
func (p *pod) isSidecarNamed(name objectjson.Document) bool {
	sidecar := false
	for _, c := range p.values.All(podInitContainers) {
		if c.Member("name").Text() == name.Text() {
			sidecar = isSidecar(c) // if several containers have this name, the last one decides
		}
	}
	return sidecar
}

func isSidecar(container objectjson.Document) bool {
	return container.Member("restartPolicy").Is("Always")
}

// printGates prints the number of true readiness gates and the number of all gates,
// such as "1/2".
func (p *pod) printGates(out *objectjson.Cells) {
	gates, passed := p.values.All(podReadinessGates), 0
	for _, gate := range gates {
		if findCondition(p.values.All(podConditions), gate.Text()).status.Is("True") {
			passed++
		}
	}
	if len(gates) > 0 {
		addRatio(out, passed, len(gates))
	}
	out.SetText(podGates)
}

// containerStatus is the relevant part of a container's status.
type containerStatus struct {
	name           objectjson.Document
	ready, started bool
	restarts       int
	lastFinished   int64 // end of the previous run, in milliseconds, or zero

	// At most one of waiting, running and terminated is set.
	waiting, running, terminated objectjson.Document
	reason                       objectjson.Document // reason of waiting or terminated
	exitCode, signal             string              // of terminated
}

func (c *containerStatus) read(status objectjson.Document) {
	var parts [6]objectjson.Document
	status.Pick(parts[:], "name", "ready", "started", "restartCount", "state", "lastState")
	c.name, c.ready, c.started, c.restarts = parts[0], parts[1].True(), parts[2].True(), parts[3].Int()
	if last := parts[5].Member("terminated"); !last.IsNull() {
		c.lastFinished, _ = last.Member("finishedAt").Date()
	}
	var state [3]objectjson.Document
	parts[4].Pick(state[:], "waiting", "running", "terminated")
	for i := range state {
		if state[i].IsNull() {
			state[i] = nil
		}
	}
	c.waiting, c.running, c.terminated = state[0], state[1], state[2]
	switch {
	case c.terminated != nil:
		var end [3]objectjson.Document
		c.terminated.Pick(end[:], "reason", "exitCode", "signal")
		c.reason, c.exitCode, c.signal = end[0], string(end[1]), string(end[2])
		if c.exitCode == "" {
			c.exitCode = "0"
		}
	case c.waiting != nil:
		c.reason = c.waiting.Member("reason")
	}
}
