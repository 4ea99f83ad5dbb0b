package coretest

import (
	"fmt"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
)

// source returns the resource that a verb names.
func (h *harness) source(v *verb) *resource {
	name := v.take("a resource such as v1/pods")
	if v.err != nil {
		return nil
	}
	r, err := h.connector.find(name)
	if err != nil {
		v.fail("%w", err)
	}
	return r
}

func (v *verb) rv() api.ResourceVersion {
	rv := api.ResourceVersion(v.optionNumber("rv"))
	if rv == 0 {
		v.fail("%s needs rv=, a resource version", v.name)
	}
	return rv
}

// listed parses the objects in the indented lines below a verb.
func (v *verb) listed(r *resource) []*cacher.Update {
	var puts []*cacher.Update
	for _, line := range v.block {
		put, err := r.object(line.text)
		if err != nil {
			v.fail("in line %d: %w", line.line+1, err)
			break
		}
		puts = append(puts, put)
	}
	return puts
}

func doLoad(h *harness, v *verb) error   { return h.list(v, false) }
func doRelist(h *harness, v *verb) error { return h.list(v, true) }

func (h *harness) list(v *verb, again bool) error {
	r, rv, source := h.source(v), v.rv(), v.option("cluster")
	if v.err == nil && r.cacher.Ready() != again {
		v.fail("load is for the first list of a resource, relist for those after it")
	}
	if v.err != nil {
		return v.err
	}
	puts := v.listed(r)
	if err := v.done(); err != nil {
		return err
	}
	r.list(source, rv, puts, h.now)
	return nil
}

// change is a parsed put or delete.
type change struct {
	resource *resource
	put      *cacher.Update // nil for a deletion
	delta    bool           // whether to store the body as a delta
	key      api.Key
	rv       api.ResourceVersion
}

func (c *change) do(now int64) error {
	if c.put != nil {
		return c.resource.apply(c.put, c.delta, now)
	}
	c.resource.cacher.Delete(c.key, c.rv, now)
	return nil
}

func (h *harness) readPut(v *verb, suffix string) *change {
	c := &change{delta: v.flag("delta"), resource: h.source(v)}
	if v.err == nil {
		c.put, v.err = c.resource.object(v.rest() + suffix)
	}
	return c
}

func (h *harness) readDelete(v *verb) *change {
	return &change{resource: h.source(v), key: api.Key(v.take("a key such as default/a"))}
}

func (h *harness) change(c *change, v *verb) error {
	if err := v.done(); err != nil {
		return err
	}
	if !c.resource.cacher.Ready() {
		return fmt.Errorf("the connector has not listed this resource yet; load it first")
	}
	return c.do(h.now)
}

func doPut(h *harness, v *verb) error { return h.change(h.readPut(v, ""), v) }

func doChurn(h *harness, v *verb) error {
	c := &change{resource: h.source(v)}
	key, from, to := v.take("a key such as default/a"), v.optionNumber("from"), v.optionNumber("to")
	for rv := from; rv <= to && v.err == nil; rv++ {
		c.put, v.err = c.resource.object(fmt.Sprintf("%s rv=%d restarts=%d", key, rv, rv))
		if err := h.change(c, v); err != nil {
			return err
		}
	}
	return v.done()
}

func doDelete(h *harness, v *verb) error {
	rv := v.rv()
	c := h.readDelete(v)
	c.rv = rv
	return h.change(c, v)
}

// doTxn applies several changes with one revision, as an etcd transaction does.
func doTxn(h *harness, v *verb) error {
	rv := v.rv()
	var changes []*change
	for _, line := range v.block {
		inner, err := newVerb(line.line, line.text)
		if err != nil {
			return err
		}
		var c *change
		switch inner.name {
		case "put":
			c = h.readPut(inner, " rv="+rv.String())
		case "delete":
			c = h.readDelete(inner)
			c.rv = rv
		default:
			return fmt.Errorf("a transaction has puts and deletes, not %q", inner.name)
		}
		if err := inner.done(); err != nil {
			return fmt.Errorf("in line %d: %w", line.line+1, err)
		}
		changes = append(changes, c)
	}
	if err := v.done(); err != nil {
		return err
	}
	for _, c := range changes {
		if err := c.do(h.now); err != nil {
			return err
		}
	}
	return nil
}

func doProgress(h *harness, v *verb) error {
	r, rv := h.source(v), v.rv()
	if err := v.done(); err != nil {
		return err
	}
	r.cacher.Progress(rv, h.now)
	return nil
}

func doFault(h *harness, v *verb) error {
	r, rv := h.source(v), v.rv()
	key, message := api.Key(v.take("a key")), v.rest()
	if err := v.done(); err != nil {
		return err
	}
	r.cacher.Fault(key, rv, api.Internal(message), h.now)
	return nil
}

func doSteady(h *harness, v *verb) error {
	period := v.takeDuration("a time such as 5s")
	if err := v.done(); err != nil {
		return err
	}
	h.heartbeat, h.beat = period, h.now+period
	return nil
}

func doQuiet(h *harness, v *verb) error {
	h.heartbeat = 0
	return v.done()
}

func doForbid(h *harness, v *verb) error {
	r, message := h.source(v), v.rest()
	if err := v.done(); err != nil {
		return err
	}
	r.refuse = api.Forbidden(message)
	return nil
}

func doDeny(h *harness, v *verb) error {
	r, status := h.source(v), &api.Status{Code: int(v.optionNumber("code")), RetryAfterSeconds: int(v.optionNumber("retry"))}
	reason, ok := map[int]api.Reason{
		api.CodeBadRequest: api.ReasonBadRequest, api.CodeUnauthorized: api.ReasonUnauthorized, api.CodeForbidden: api.ReasonForbidden,
		api.CodeNotFound: api.ReasonNotFound, api.CodeGone: api.ReasonExpired, api.CodeInvalid: api.ReasonInvalid,
		api.CodeTooManyRequests: api.ReasonTooManyRequests, api.CodeInternalError: api.ReasonInternalError, api.CodeServiceUnavailable: api.ReasonUnavailable,
	}[status.Code]
	if status.Reason = reason; !ok {
		v.fail("deny needs code=, the number of an error that a connector gives, not %d", status.Code)
	}
	status.Message = v.rest()
	if err := v.done(); err != nil {
		return err
	}
	r.refuse = status
	return nil
}

func doAllow(h *harness, v *verb) error {
	r := h.source(v)
	if err := v.done(); err != nil {
		return err
	}
	r.refuse = nil
	return nil
}
