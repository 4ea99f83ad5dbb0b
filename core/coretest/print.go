package coretest

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// printer formats the engine's output as lines.
type printer struct {
	out      strings.Builder
	after    int64                 // time that has passed but is not printed yet
	states   map[uint32]string     // the last printed line, by collection
	schemas  map[uint32]api.Schema // by collection
	watches  map[uint32]uint32     // collection, by watch
	views    map[uint32]uint32
	requests map[uint32]uint32
	rows     map[uint32][]string // keys, by view
	chosen   map[served]api.Schema
}

func newPrinter() printer {
	return printer{
		states: map[uint32]string{}, schemas: map[uint32]api.Schema{}, watches: map[uint32]uint32{},
		views: map[uint32]uint32{}, requests: map[uint32]uint32{}, rows: map[uint32][]string{}, chosen: map[served]api.Schema{},
	}
}

func (p *printer) watchOf(watch, collection uint32)     { p.watches[watch] = collection }
func (p *printer) viewOf(view, collection uint32)       { p.views[view] = collection }
func (p *printer) requestOf(request, collection uint32) { p.requests[request] = collection }

// mark sets the time since the start of a tick verb, which is printed before the next
// line. Zero prints no time.
func (p *printer) mark(after int64) { p.after = after }

func (p *printer) line(format string, args ...any) {
	if p.after > 0 {
		fmt.Fprintf(&p.out, "after %s:\n", duration(p.after))
		p.after = 0
	}
	fmt.Fprintf(&p.out, format+"\n", args...)
}

// take returns the lines since the last call, or "(nothing)".
func (p *printer) take() string {
	text := p.out.String()
	p.out.Reset()
	if text == "" {
		return "(nothing)\n"
	}
	return text
}

// frame prints one frame of the engine.
func (p *printer) frame(t wire.Type, frame wire.Frame, now int64) error {
	switch f := frame.(type) {
	case *wire.OpenStream:
		p.line("open stream %d", f.Stream)
	case *wire.CloseStream:
		p.line("close stream %d: %s", f.Stream, f.Message)
	case *wire.Fetch:
		p.line("fetch %d %s", f.Stream, f.Path)
	case *wire.SendStream:
		return p.sent(f.Data)
	case *wire.CollectionState:
		p.state(f, now)
	case *wire.CollectionSchema:
		p.schema(f)
	case *wire.CollectionError:
		p.line("collection %d: %s rv=%d is unreadable: %s", f.Collection, f.Key, f.ResourceVersion, status(f.Status))
	case *wire.WatchEvents:
		p.events(f)
	case *wire.WatchClosed:
		p.closed(f)
	case *wire.ViewPatch:
		p.patch(f)
	case *wire.Rejected:
		p.line("%s %d rejected: %s", [...]string{"collection", "watch", "view", "object", "restore", "reader"}[f.Object], f.ID, status(f.Status))
	case *wire.SendReader:
		return p.served(receives(f.Reader), f.Data)
	default:
		if !p.object(f) && !p.reader(f) && !p.reply(f) {
			return wire.Unknown(t)
		}
	}
	return nil
}

func (p *printer) reply(frame wire.Frame) bool {
	switch f := frame.(type) {
	case *wire.ObjectReply:
		p.line("reply %d: %s", f.Request, p.item(p.requests[f.Request], &f.Item))
	case *wire.ListReply:
		p.list(f)
	case *wire.ErrorReply:
		p.line("reply %d: %s", f.Request, status(f.Status))
	case *wire.InspectReply:
		p.inspection(f)
	default:
		return false
	}
	return true
}

// state prints a collection's state if its text has changed.
func (p *printer) state(f *wire.CollectionState, now int64) {
	text := f.State.String()
	if f.ResourceVersion != 0 {
		text += fmt.Sprintf(" rv=%d, %d objects", f.ResourceVersion, f.Objects)
	}
	if f.Bodies != 0 && f.Bodies != f.Objects {
		text += fmt.Sprintf(", %d bodies", f.Bodies)
	}
	if f.Total != 0 || f.Loaded != 0 {
		text += fmt.Sprintf(", %d of about %d loaded", f.Loaded, f.Total)
	}
	if f.State != api.StateLive && f.LastProgressMillis != 0 {
		text += ", last progress " + duration(now-f.LastProgressMillis) + " ago"
	}
	if f.Status != nil {
		text += ", " + status(f.Status)
	}
	if f.NextAttemptMillis != 0 {
		text += ", next attempt in " + duration(f.NextAttemptMillis-now)
	}
	if p.states[f.Collection] != text {
		p.states[f.Collection] = text
		p.line("collection %d: %s", f.Collection, text)
	}
}

func (p *printer) schema(f *wire.CollectionSchema) {
	s := f.Schema
	s.Fields = cloneAll(s.Fields)
	for i := range s.Columns {
		s.Columns[i].Name = strings.Clone(s.Columns[i].Name)
	}
	p.schemas[f.Collection] = s
	p.line("collection %d: schema of %s", f.Collection, s.Kind)
}

func cloneAll(texts []string) []string {
	clones := make([]string, len(texts))
	for i, s := range texts {
		clones[i] = strings.Clone(s)
	}
	return clones
}

func (p *printer) events(f *wire.WatchEvents) {
	for i := range f.Events {
		e := &f.Events[i]
		text := e.Type.String() + " "
		switch e.Type {
		case api.Bookmark:
			text += "rv=" + e.Item.ResourceVersion.String()
			if e.Item.Flags&api.EndOfInitialEvents != 0 {
				text += " initial-events-end"
			}
		default:
			text += p.item(p.watches[f.Watch], &e.Item)
		}
		if e.Previous != nil {
			text += ", was " + p.item(p.watches[f.Watch], e.Previous)
		}
		p.line("watch %d: %s", f.Watch, text)
	}
}

// closed prints the end of a watch. It omits a cause that repeats the reason of the
// end.
func (p *printer) closed(f *wire.WatchClosed) {
	text := fmt.Sprintf("watch %d: closed, %s", f.Watch, f.End)
	if f.Status != nil {
		s := *f.Status
		if s.Cause == f.End.String() {
			s.Cause = ""
		}
		text += ": " + status(&s)
	}
	p.line("%s", text)
}

// patch prints the window of a view from top to bottom. "+" precedes an inserted row, "-"
// a removed row, and "=" any other row.
func (p *printer) patch(f *wire.ViewPatch) {
	text := fmt.Sprintf("view %d: rv=%d, %d rows", f.View, f.ResourceVersion, f.Total)
	if f.Offset != 0 {
		text += fmt.Sprintf(", from %d", f.Offset)
	}
	for _, facet := range f.Facets {
		text += facetText(facet)
	}
	if f.Reset {
		text += ", reset"
		p.rows[f.View] = nil
	}
	p.line("%s", text)
	old, rows := p.rows[f.View], []string(nil)
	keep := func(keys []string) {
		for _, key := range keys {
			p.line("  = %s", key)
		}
		rows = append(rows, keys...)
	}
	for i := range f.Edits {
		e := &f.Edits[i]
		if int(e.Keep)+int(e.Remove) > len(old) {
			p.line("  BROKEN: %d rows are edited, and there are %d", e.Keep+e.Remove, len(old))
			return
		}
		keep(old[:e.Keep])
		for _, key := range old[e.Keep:][:e.Remove] {
			p.line("  - %s", key)
		}
		old = old[e.Keep+e.Remove:]
		for j := range e.Insert {
			row := p.item(p.views[f.View], &e.Insert[j])
			key, _, _ := strings.Cut(row, " ")
			p.line("  + %s", row)
			rows = append(rows, key)
		}
	}
	keep(old)
	p.rows[f.View] = rows
}

func (p *printer) list(f *wire.ListReply) {
	text := fmt.Sprintf("reply %d: list rv=%d, %d items", f.Request, f.ResourceVersion, len(f.Items))
	if f.Continue != "" {
		text += ", continue " + token(f.Continue)
	}
	if f.Remaining != 0 {
		text += fmt.Sprintf(", %d remaining", f.Remaining)
	}
	p.line("%s", text)
	for i := range f.Items {
		p.line("  %s", p.item(p.requests[f.Request], &f.Items[i]))
	}
}

// token returns the decoded text of a continue token.
func token(text string) string {
	json, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return fmt.Sprintf("BROKEN: %q: %v", text, err)
	}
	return string(json)
}

// inspection prints the numbers of a reply, except sizes in bytes, which depend more on
// the implementation than on the scenario.
func (p *printer) inspection(f *wire.InspectReply) {
	p.line("reply %d:", f.Request)
	for _, e := range f.Entries {
		if !strings.HasSuffix(e.Name, "Bytes") {
			p.line("  %s %d", e.Name, e.Value)
		}
	}
}

func duration(millis int64) string { return (time.Duration(millis) * time.Millisecond).String() }

func facetText(f wire.FacetCounts) (text string) {
	for i, c := range f.Values {
		text += [...]string{"; ", ", "}[min(i, 1)] + c.Value
		if c.Then != "" {
			text += "+" + c.Then
		}
		text += fmt.Sprintf(" %d", c.Rows)
		for _, a := range c.Aggregates {
			text += fmt.Sprintf(" (%d: %v, %v to %v)", a.Values, a.Sum, a.Min, a.Max)
		}
	}
	if f.OtherValues > 0 {
		text += fmt.Sprintf(", %d other values %d", f.OtherValues, f.OtherRows)
	}
	return text
}
