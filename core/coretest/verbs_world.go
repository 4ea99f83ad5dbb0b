package coretest

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/deflate"
	"github.com/watchglass/watchglass/core/history"
)

func doConfig(h *harness, v *verb) error {
	if h.recorded != nil {
		return fmt.Errorf("the engine is open already; config comes first")
	}
	c := &h.config
	if seed := v.optionNumber("seed"); seed != 0 {
		c.Seed = seed
	}
	c.Kubernetes = v.option("kubernetes")
	c.MaxBytes = v.optionNumber("max-bytes")
	c.MaxHistory = int(v.optionNumber("max-history"))
	c.Credit = v.optionNumber("credit")
	if n := int(v.optionNumber("connector-history")); n != 0 {
		h.connector.history = history.Limits{MinCapacity: n, MaxCapacity: n}
	}
	h.connector.newDeltaEpoch(v.optionNumber("epoch"))
	h.connector.reset()
	h.connector.session.ProgressMillis = v.optionDuration("progress")
	h.connector.session.MaxSubscriptions = int(v.optionNumber("subscriptions"))
	switch blocks := v.option("blocks"); blocks {
	case "yes":
		h.connector.session.Deflate = deflate.Sections
	case "":
	default:
		v.fail("blocks is yes or absent, not %q", blocks)
	}
	if n := v.optionNumber("message"); n != 0 {
		h.network.limit = int(n)
	}
	return v.done()
}

func doAccept(h *harness, v *verb) error {
	h.network.answer = accepting
	return v.done()
}

func doRefuse(h *harness, v *verb) error {
	h.network.answer, h.network.refusal = refusing, v.rest()
	return v.done()
}

func doPending(h *harness, v *verb) error {
	h.network.answer = pending
	return v.done()
}

func doCut(h *harness, v *verb) error { return h.lose(v.rest()) }

func doDrop(h *harness, v *verb) error {
	h.network.silent, h.network.queue = true, nil
	return v.done()
}

func doHold(h *harness, v *verb) error {
	h.network.held = true
	return v.done()
}

func doRelease(h *harness, v *verb) error {
	h.network.held = false
	return v.done()
}

func doDeliver(h *harness, v *verb) error {
	n := int(v.takeNumber("how many messages"))
	if err := v.done(); err != nil {
		return err
	}
	if under := len(h.network.queue); n > under {
		return fmt.Errorf("only %d messages are under way", under)
	}
	for range n {
		if err := h.deliver(); err != nil {
			return err
		}
		if err := h.drain(); err != nil {
			return err
		}
	}
	return nil
}

func doLock(h *harness, v *verb) error {
	status := api.Unauthorized(v.rest())
	h.connector.session.Authenticate = func(string) *api.Status { return status }
	return v.done()
}

func doUnlock(h *harness, v *verb) error {
	h.connector.session.Authenticate = nil
	return v.done()
}

func doRestartConnector(h *harness, v *verb) error {
	epoch := v.optionNumber("epoch")
	if err := v.done(); err != nil {
		return err
	}
	h.connector.newDeltaEpoch(epoch)
	h.connector.restart(h.now)
	return h.lose("the connector has gone away")
}

func doOldConnector(h *harness, v *verb) error {
	h.network.old = true
	return v.done()
}

func doNewConnector(h *harness, v *verb) error {
	h.network.old = false
	return v.done()
}

// doReplica replaces the connector with another one that has the given state of one
// resource. The state of other resources stays the same.
func doReplica(h *harness, v *verb) error {
	r, rv, columns, source := h.source(v), v.rv(), v.option("columns"), v.option("cluster")
	epoch := v.optionNumber("epoch")
	if v.err != nil {
		return v.err
	}
	if columns != "" {
		r.schema.Columns = only(r.schema.Columns, strings.Split(columns, ","))
	}
	puts := v.listed(r)
	if err := v.done(); err != nil {
		return err
	}
	h.connector.newDeltaEpoch(epoch)
	h.connector.restart(h.now)
	h.connector.empty(r)
	r.list(source, rv, puts, h.now)
	return h.lose("the connector has gone away")
}

// only returns the columns with the given names.
func only(columns []api.Column, names []string) []api.Column {
	return slices.DeleteFunc(slices.Clone(columns), func(c api.Column) bool { return !slices.Contains(names, c.Name) })
}

func doSendGarbage(h *harness, v *verb) error {
	data, err := v.hex()
	if err != nil {
		return err
	}
	if h.network.stream == 0 {
		return fmt.Errorf("no stream is open")
	}
	h.network.send(message{data: data})
	return nil
}

func (v *verb) hex() ([]byte, error) {
	data, err := hex.DecodeString(v.take("bytes in hexadecimal"))
	if err != nil {
		v.fail("%w", err)
	}
	return data, v.done()
}

func doTick(h *harness, v *verb) error {
	d := v.takeDuration("a time such as 1s")
	if err := v.done(); err != nil {
		return err
	}
	return h.pass(d)
}

// pass advances the clock by the given milliseconds. Each event happens at its own time,
// in order.
func (h *harness) pass(millis int64) error {
	start, end := h.now, h.now+millis
	for {
		next, engine := h.next()
		at := min(next, end)
		h.now = max(h.now, at)
		h.printer.mark(h.now - start)
		h.due()
		if err := h.stabilize(); err != nil {
			return err
		}
		if engine && at == next && h.wake-h.skew <= h.now && h.wake != 0 {
			return fmt.Errorf("the engine was ticked at its wake-up time and still waits for that time")
		}
		if h.now >= end && (next >= end) {
			h.printer.mark(0)
			return nil
		}
	}
}

// due runs everything that is due now, first in the connector and then in the engine.
func (h *harness) due() {
	for h.heartbeat != 0 && h.beat <= h.now {
		h.connector.progress(h.now)
		h.beat += h.heartbeat
	}
	h.connector.tick(h.now)
	h.tickEngine()
}

const never = int64(1) << 62

// next returns the time of the next event, and whether that event is a tick of the
// engine.
func (h *harness) next() (at int64, engine bool) {
	at = never
	sooner := func(t int64, counts bool) bool {
		if counts && t < at {
			at = t
			return true
		}
		return false
	}
	sooner(h.beat, h.heartbeat != 0)
	if h.network.session != nil {
		wake := h.network.session.Wake()
		sooner(wake, wake > h.now)
	}
	for _, r := range h.connector.resources {
		wake := r.cacher.NextTick()
		sooner(wake, wake > h.now)
	}
	engine = sooner(h.wake-h.skew, h.wake != 0)
	return at, engine
}

func doClock(h *harness, v *verb) error {
	d := v.takeDuration("a time such as -1h")
	if err := v.done(); err != nil {
		return err
	}
	h.skew += d
	h.wake += d // setting the clock does not affect a timer of the program
	h.tickEngine()
	return nil
}

func doWakes(h *harness, v *verb) error {
	if h.wake == 0 {
		h.printer.line("no wake-up")
	} else {
		h.printer.line("wake-up in %s", duration(h.wake-h.skew-h.now))
	}
	return v.done()
}
