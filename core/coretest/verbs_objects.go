package coretest

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

func doAcquire(h *harness, v *verb) error {
	return h.command(v, &wire.AcquireObject{
		Handle: v.takeNumber("a number for the handle"), Resource: v.take("a resource such as v1/pods"),
		Key: api.Key(v.take("a key such as default/a")), Owner: v.option("owner"), OnDemand: v.flag("on-demand"),
	})
}

func doReleaseObject(h *harness, v *verb) error {
	return h.command(v, &wire.ReleaseObject{Handle: v.takeNumber("the number of the handle")})
}

func doGetObject(h *harness, v *verb) error {
	f := &wire.GetObject{Resource: v.take("a resource such as v1/pods"), Key: api.Key(v.take("a key such as default/a"))}
	f.Request = h.ask(0)
	return h.command(v, f)
}

// object prints a frame about an acquired object. It returns false for other frames.
func (p *printer) object(frame wire.Frame) bool {
	switch f := frame.(type) {
	case *wire.ObjectChanged:
		if f.Item == nil {
			p.line("object %d: absent as of rv=%d", f.Handle, f.ResourceVersion)
			return true
		}
		p.line("object %d: %s", f.Handle, p.item(0, f.Item))
	case *wire.ObjectState:
		text := f.State.String()
		if f.Status != nil {
			text += ", " + status(f.Status)
		}
		p.line("object %d: %s", f.Handle, text)
	default:
		return false
	}
	return true
}
