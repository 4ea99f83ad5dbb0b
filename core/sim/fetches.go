package sim

import (
	"slices"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/kubeserver"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/sim/check"
	"github.com/watchglass/watchglass/core/wire"
)

// directPeriod is the progress interval of a reader that reads Kubernetes
// directly.
const directPeriod = 10_000

// part is a part of a response with its arrival time.
type part struct {
	due int64
	kubeserver.Part
}

// answer is a pending response.
type answer struct {
	fetches              *fetches
	kube                 *kubeAPI
	stream               uint32
	*kubeserver.Response // its code is zero if the connection fails
	source               *source
	scope                *scope // the requested scope; nil for an identity request
	due                  int64  // arrival time of the status code
	begun                bool
	parts                []part // sent, and not delivered yet
	message              string
	silent               bool // none of the response arrives
	breaks               int64
	over                 bool // the reader ignores the rest

	// The engine may request the cluster's identity again before it uses a
	// response:
	confirms *answer // the response whose cluster this identity request confirms
	unproved bool    // the identity of its cluster was requested and is not confirmed yet
	held     []kubeserver.Part
	// heldBytes counts the data that has arrived and is not confirmed. The engine
	// processes it in one step.
	heldBytes int
}

// send sends the parts that the server has added. The parts arrive at the time due or
// later.
func (a *answer) send(due int64) {
	for _, p := range a.Parts {
		a.parts = append(a.parts, part{max(a.due, due), p})
	}
	a.Parts = nil
}

// fetches is the network between an engine and API servers: concurrent requests
// with responses in pieces of any size. It records for each scope which versions
// have arrived.
type fetches struct {
	driver   *driver
	servers  []*kubeAPI
	target   *kubeAPI
	balanced bool // each request may reach a different server
	late     bool // a status code arrives with the first part or the end, as in Firefox
	open     []*answer
	rand     *lite.Rand
	asking   *answer // the response whose processing causes the current requests
}

// ask sends a request to an API server.
func (f *fetches) ask(stream uint32, path string) {
	if f.balanced {
		f.target = pick(f.rand, f.servers...)
	}
	q, err := kubeserver.ParseRequest(path)
	must(err)
	a := f.target.respond(q, f.rand)
	a.fetches, a.stream = f, stream
	a.due += f.driver.link.latency
	a.send(a.due)
	if q.Purpose != kubeserver.Cluster {
		_, filter := scopeOf(&q)
		a.scope = f.driver.link.tap.scope(q.Resource, filter, false)
		f.begin(a)
	} else if f.asking != nil && !f.asking.names() {
		a.confirms, f.asking.unproved = f.asking, true
	}
	f.open = append(f.open, a)
}

// begin records the start of a list or a resumption.
func (f *fetches) begin(a *answer) {
	if f.asking != nil && f.asking.names() {
		a.scope.named = f.asking.source
	}
	first := a.Purpose == kubeserver.Initial || a.Purpose == kubeserver.List && !a.Query.Has("continue")
	if first && (a.ResourceVersion == 0 || !a.scope.ready) {
		a.scope.renew()
		a.scope.source = a.source
	}
	if first {
		a.scope.asked = f.driver.world.now
	}
}

// listed is called when a complete state has arrived.
func (f *fetches) listed(a *answer, rv api.ResourceVersion) {
	e := a.scope.epoch
	if rv < e.rv {
		return // the reader rejects such a state
	}
	if e.ready {
		e.relists = append(e.relists, check.Relist{From: e.rv, To: rv})
		f.driver.world.saw(APIRelisted)
	} else {
		e.ready, e.first = true, rv
	}
	f.reached(a, rv)
	e.asked, e.progressAt = f.driver.world.now, f.driver.world.now
	a.over = true // the next watch delivers the events after this state
}

// reached is called when everything up to the version rv has arrived; zero adds no version.
// The call counts as progress only if the reader has reached the newest version that a
// server reported. The responding server itself may lag.
func (f *fetches) reached(a *answer, rv api.ResourceVersion) {
	e := a.scope.epoch
	e.rv = max(e.rv, rv)
	if e.newest <= e.rv {
		e.progressAt = f.driver.world.now
	}
	if a.Purpose == kubeserver.Watch && a.Query.Get("timeoutSeconds") == "4" && !a.over {
		f.driver.world.saw(APIResumed)
	}
}

// current is called when the server has reported its newest version.
func (f *fetches) current(a *answer, rv api.ResourceVersion) {
	a.scope.epoch.newest = rv
	f.reached(a, 0)
}

// abandon drops a response.
func (f *fetches) abandon(stream uint32) {
	f.open = slices.DeleteFunc(f.open, func(a *answer) bool { return a.stream == stream })
}

func (f *fetches) find(a *answer) bool { return slices.Contains(f.open, a) }

// move delivers data that can arrive now, and reports whether there was any.
func (f *fetches) move() bool {
	d := f.driver
	if d.busy() || d.world.now < d.link.stalled {
		return false
	}
	moved := false
	for _, a := range slices.Clone(f.open) {
		if f.find(a) {
			moved = f.deliver(a) || moved
		}
	}
	return moved
}

func (f *fetches) deliver(a *answer) bool {
	d, now := f.driver, f.driver.world.now
	// An engine ignores data that arrives after its timeout. The clock of the engine may
	// have jumped meanwhile.
	d.tick()
	if d.drain(); !f.find(a) {
		return true
	}
	if a.Watching && !a.silent {
		a.kube.Advance(a.Response, now)
		a.send(now + d.link.latency)
	}
	switch {
	case a.breaks != 0 && now >= a.breaks:
		f.close(a, "connection reset")
		return true
	case a.silent || now < a.due:
		return false
	case f.late && !a.begun && !a.Ended && (len(a.parts) == 0 || now < a.parts[0].due):
		return false
	case a.Code != 0 && !a.begun:
		a.begun = true
		f.give(a, a.Watching && a.Purpose == kubeserver.Watch, &wire.Fetched{Stream: a.stream, Code: a.Code, RetryAfterSeconds: a.RetryAfter})
		return true
	case len(a.parts) > 0:
		return f.hand(a, now)
	case a.Ended:
		if a.message == "" && a.Code == api.CodeOK {
			f.finish(a)
		}
		f.close(a, a.message)
		return true
	}
	return false
}

// hand passes an arbitrary piece of the available data to the engine.
func (f *fetches) hand(a *answer, now int64) bool {
	there := 0
	for _, p := range a.parts {
		if p.due > now {
			break
		}
		there += len(p.Data)
	}
	if there == 0 {
		return false
	}
	n := there
	if f.rand.Int63n(3) == 0 {
		n = 1 + int(f.rand.Int63n(int64(there)))
		if n < there {
			f.driver.world.saw(APIPiece)
		}
	}
	f.take(a, n)
	return true
}

// take passes n bytes of a response to the engine.
func (f *fetches) take(a *answer, n int) {
	var piece []byte
	for n > 0 {
		p := &a.parts[0]
		if n < len(p.Data)-1 {
			piece = append(piece, p.Data[:n]...)
			p.Data = p.Data[n:]
			break
		}
		// The engine can apply an event before the final line feed of the event arrives.
		// A piece therefore never ends just before that line feed.
		piece = append(piece, p.Data...)
		n -= len(p.Data)
		a.parts = a.parts[1:]
		f.note(a, p.Part)
	}
	f.driver.world.trace(piece)
	// At most one object starts before the piece and ends in it. The JSON of
	// every other object in the piece is longer than its record in the engine.
	processed := len(piece)
	if a.unproved {
		a.heldBytes += processed
		processed = a.heldBytes
	}
	f.driver.link.growth = max(f.driver.link.growth, 2*processed+f.driver.world.largestObject())
	f.give(a, a.follows() && a.over, &wire.StreamData{Stream: a.stream, Data: piece})
}

// give passes a piece of a response to the engine. Requests that the engine makes in this
// step may belong to that response, so they are processed immediately and separately from
// earlier output.
func (f *fetches) give(a *answer, asks bool, piece frame) {
	d := f.driver
	if asks {
		d.tick()
		d.drain()
		f.asking = a
	}
	d.step(piece)
	if asks {
		d.drain()
		f.asking = nil
	}
	d.messageProcessed()
}

// follows reports whether the response is a list that replaces an older state. Before the
// engine uses such a list, it confirms the identity of the cluster.
func (a *answer) follows() bool {
	switch a.Purpose {
	case kubeserver.Initial, kubeserver.List:
		return a.ResourceVersion != 0 || a.Query.Has("continue") && a.scope.ready
	}
	return false
}

// names reports whether the response identifies the cluster at the start of a
// subscription, instead of confirming another response.
func (a *answer) names() bool { return a.Purpose == kubeserver.Cluster && a.confirms == nil }

// note applies the effect of a part, or defers it until the identity of the
// cluster is confirmed.
func (f *fetches) note(a *answer, p kubeserver.Part) {
	switch {
	case p.Fact == kubeserver.Nothing || a.over:
	case a.unproved || a.follows():
		a.held, a.over = append(a.held, p), a.follows()
	default:
		f.apply(a, p)
	}
}

// apply applies the effect of a part.
func (f *fetches) apply(a *answer, p kubeserver.Part) {
	switch p.Fact {
	case kubeserver.Listed:
		f.listed(a, p.At)
	case kubeserver.Current:
		f.current(a, p.At)
	case kubeserver.Reached:
		f.reached(a, p.At)
	case kubeserver.Failed:
		a.over = true
	}
}

// finish applies the effect of the normal end of a response.
func (f *fetches) finish(a *answer) {
	f.note(a, a.End)
	of := a.confirms
	if of == nil || a.source != of.scope.named {
		return
	}
	f.driver.tick()
	f.driver.drain()
	if f.find(a) { // otherwise the engine has canceled the request
		of.unproved = false
		for _, p := range of.held {
			f.apply(of, p)
		}
		of.held = nil
		if e := of.scope.epoch; e.newest != 0 && e.newest <= e.rv {
			e.progressAt = f.driver.world.now // pending progress is confirmed now
		}
	}
}

func (f *fetches) close(a *answer, message string) {
	f.abandon(a.stream)
	f.give(a, a.follows() && a.over || a.names() || message == "" && f.proves(a), &wire.StreamClosed{Stream: a.stream, Message: message})
}

// proves reports whether the response proves that the reader has the newest version
// before the response to its watch begins. In that case the engine confirms the identity
// of the cluster, which counts as progress.
func (f *fetches) proves(a *answer) bool {
	return a.End.Fact == kubeserver.Current && a.End.At <= a.scope.epoch.rv &&
		slices.ContainsFunc(f.open, func(other *answer) bool {
			return other.Purpose == kubeserver.Watch && other.scope == a.scope && !other.begun
		})
}

// hangUp breaks the connections to one server, or to all servers if k is nil.
func (f *fetches) hangUp(k *kubeAPI) {
	for _, a := range slices.Clone(f.open) {
		if (k == nil || a.kube == k) && f.find(a) {
			f.close(a, "connection reset")
		}
	}
}

// cut breaks all pending responses, one of them inside a line if possible.
func (f *fetches) cut() {
	for _, a := range f.open {
		if len(a.parts) > 0 && !a.silent && a.begun && a.Code == api.CodeOK && !f.driver.busy() && len(a.parts[0].Data) > 2 {
			f.take(a, 1+int(f.rand.Int63n(int64(len(a.parts[0].Data)-2))))
			f.driver.world.saw(APICutInLine)
			break
		}
	}
	f.hangUp(nil)
}

// drop loses the rest of one response, and breaks its connection later.
func (f *fetches) drop(r *lite.Rand) {
	if len(f.open) > 0 {
		a := pick(r, f.open...)
		a.silent, a.breaks = true, f.driver.world.now+pick[int64](r, 1000, 10_000, 40_000, 120_000)
		f.driver.world.saw(MessageDropped)
	}
}

// halfOpen loses the rest of all responses without reporting an error.
func (f *fetches) halfOpen() {
	for _, a := range f.open {
		a.silent = true
		f.driver.world.saw(HalfOpen)
	}
}

func (f *fetches) nextEvent() int64 {
	d := f.driver
	next := int64(0)
	for _, a := range f.open {
		next = earlier(next, a.breaks, d.world.now)
		if a.silent {
			continue
		}
		next = earlier(next, max(a.due, d.link.stalled), d.world.now)
		if len(a.parts) > 0 {
			next = earlier(next, max(a.parts[0].due, d.link.stalled), d.world.now)
		}
		if a.Watching {
			next = earlier(next, a.Deadline-2000, d.world.now)
			next = earlier(next, a.Deadline, d.world.now)
		}
	}
	for _, k := range d.world.kubes {
		if n := k.visible(); n < len(k.source.revisions) && d.world.now >= k.cutOff {
			next = earlier(next, k.source.revisions[n].at+k.lag, d.world.now)
		}
		next = earlier(next, k.cutOff, d.world.now)
	}
	return next
}
