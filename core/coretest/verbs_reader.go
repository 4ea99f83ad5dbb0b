package coretest

import (
	"fmt"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// doAttach attaches a reader, whose frames the scenario contains, to the engine. With the
// flag saved, the reader continues its saved session.
func doAttach(h *harness, v *verb) error {
	f := &wire.AttachReader{
		Reader: v.takeNumber("a number for the reader"), Room: v.optionNumber("room"),
		ProgressMillis: uint32(v.optionDuration("progress")), MaxSubscriptions: uint32(v.optionNumber("subscriptions")),
	}
	if f.Room == 0 {
		f.Room = 1 << 20
	}
	if v.flag("saved") {
		f.Saved = h.saved[f.Reader]
	}
	f.Stalled = v.flag("stalled")
	for _, scope := range strings.Split(v.option("allow"), ",") {
		resource, namespace, _ := strings.Cut(scope, "@")
		f.Allowed = append(f.Allowed, wire.ReaderScope{Resource: resource, Namespace: namespace})
	}
	return h.command(v, f)
}

func doDetach(h *harness, v *verb) error {
	return h.command(v, &wire.DetachReader{Reader: v.takeNumber("the number of the reader")})
}

func doSave(h *harness, v *verb) error {
	return h.command(v, &wire.SaveReader{Reader: v.takeNumber("the number of the reader")})
}

func doRoom(h *harness, v *verb) error {
	return h.command(v, &wire.GrantReader{
		Reader: v.takeNumber("the number of the reader"), Bytes: uint64(v.takeNumber("how many bytes")),
	})
}

// doReader sends a frame from an attached reader to the engine.
func doReader(h *harness, v *verb) error {
	f := &wire.ReaderMessage{Reader: v.takeNumber("the number of the reader")}
	switch what := v.take("a frame: hello, subscribe, unsubscribe or garbage"); what {
	case "hello":
		f.Data = (&wire.Hello{Version: wire.Version, Client: "reader"}).Append(nil)
	case "subscribe":
		id, resource := v.takeNumber("a number for the subscription"), v.take("a resource such as v1/pods")
		if columns := v.columns(); columns != nil {
			f.Data = (&wire.ChooseColumns{Subscription: id, Columns: columns}).Append(nil)
		}
		if v.flag("cells") {
			h.printer.chosen[served{receives(f.Reader), id}] = api.Schema{}
		}
		f.Data = (&wire.Subscribe{
			Subscription: id, Resource: resource,
			Namespace: v.option("ns"), LabelSelector: v.option("labels"), FieldSelector: v.option("fields"),
			ResourceVersion: api.ResourceVersion(v.optionNumber("rv")), ClusterID: v.option("cluster"),
			MetadataOnly: v.flag("metadata-only"), Credit: 1 << 20,
		}).Append(f.Data)
	case "unsubscribe":
		f.Data = (&wire.Unsubscribe{Subscription: v.takeNumber("the number of the subscription")}).Append(nil)
	case "garbage":
		data, err := v.hex()
		if err != nil {
			return err
		}
		f.Data = data
	default:
		v.fail("a reader does not send %q", what)
	}
	return h.command(v, f)
}

// reader prints a frame about an attached reader. It returns false for other frames.
func (p *printer) reader(frame wire.Frame) bool {
	switch f := frame.(type) {
	case *wire.SavedReader:
		p.line("reader %d is saved", f.Reader)
	case *wire.ReaderStalled:
		if f.Stalled {
			p.line("reader %d stalls", f.Reader)
		} else {
			p.line("reader %d resumes reading", f.Reader)
		}
	case *wire.CloseReader:
		p.line("reader %d is closed: %s", f.Reader, status(f.Status))
	default:
		return false
	}
	return true
}

// served prints a message of a session, one frame per line.
func (p *printer) served(who string, message []byte) error {
	return wire.FromConnector.Each(message, func(t wire.Type, f wire.Frame) error { return p.servedFrame(who, t, f) })
}

func (p *printer) servedFrame(who string, t wire.Type, frame wire.Frame) error {
	switch f := frame.(type) {
	case *wire.Welcome:
		p.line("%s welcome, progress every %s", who, duration(int64(f.ProgressMillis)))
	case *wire.Schema:
		p.line("%s %d: schema of %s", who, f.Subscription, f.Schema.Kind)
		if of := (served{who, f.Subscription}); p.hasChosen(of) {
			p.chosen[of] = f.Schema
		}
	case *wire.LabelSet:
	case *wire.SnapshotBegin:
		p.line("%s %d: snapshot begins", who, f.Subscription)
	case *wire.SnapshotPart:
		p.changes(who, f.Subscription, f.Objects)
	case *wire.SnapshotBlock:
		p.changes(who, f.Subscription, expand(f))
	case *wire.SnapshotEnd:
		p.line("%s %d: snapshot ends, rv=%d", who, f.Subscription, f.ResourceVersion)
	case *wire.Events:
		if len(f.Changes) == 0 {
			p.line("%s %d: no changes up to rv=%d", who, f.Subscription, f.ResourceVersion)
		}
		p.changes(who, f.Subscription, f.Changes)
	case *wire.Progress:
		p.line("%s %d: progress rv=%d", who, f.Subscription, f.ResourceVersion)
	case *wire.SourceError:
		p.line("%s %d: source error, %s", who, f.Subscription, status(f.Status))
	case *wire.SubscriptionStatus:
		p.line("%s %d: ended, %s", who, f.Subscription, status(f.Status))
	default:
		return wire.Unknown(t)
	}
	return nil
}

func (p *printer) changes(who string, subscription uint32, changes []wire.Change) {
	for i := range changes {
		c := &changes[i]
		text := ""
		if of := (served{who, subscription}); p.hasChosen(of) && c.Type != api.Deleted {
			text = " " + strings.Join(cells(p.chosen[of], c.Envelope), " ")
		}
		p.line("%s %d: %s %s rv=%d%s", who, subscription, c.Type, c.Key, c.ResourceVersion, text)
	}
}

// served is a subscription of an attached reader.
type served struct {
	who          string
	subscription uint32
}

func receives(reader uint32) string { return fmt.Sprintf("reader %d receives", reader) }

// hasChosen reports whether a subscription has chosen columns, whose cells are printed.
func (p *printer) hasChosen(of served) bool {
	_, chosen := p.chosen[of]
	return chosen
}

// expand returns the objects of a block, or none if the block is corrupt. The recipient
// of the block reports the error.
func expand(f *wire.SnapshotBlock) []wire.Change {
	var b wire.Block
	if status := f.Expand(&b, true); status != nil {
		return nil
	}
	return b.Objects
}
