package coretest

import (
	"fmt"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// status formats all members of a status.
func status(s *api.Status) string {
	if s == nil {
		return "BROKEN: no status"
	}
	text := s.Error()
	if s.Cause != "" {
		text += " (" + s.Cause + ")"
	}
	if s.RetryAfterSeconds != 0 {
		text += fmt.Sprintf(" (retry after %ds)", s.RetryAfterSeconds)
	}
	if s.Continue != "" {
		text += " continue=" + s.Continue
	}
	return text
}

// item formats an object in the notation of package objects: labels, then the fields
// and columns that have values, then the body.
func (p *printer) item(collection uint32, it *wire.Item) string {
	words := []string{string(it.Envelope.Key()), "rv=" + it.ResourceVersion.String()}
	if owner := it.Labels.OwnerText(); owner != "" {
		words = append(words, "owner="+owner)
	}
	for _, l := range it.Labels.WithoutOwner() {
		words = append(words, l.Key+"="+l.Value)
	}
	words = append(words, cells(p.schemas[collection], it.Envelope)...)
	if it.Flags&api.Immutable != 0 {
		words = append(words, "immutable")
	}
	if it.Flags&api.FinalStateUnknown != 0 {
		words = append(words, "final-state-unknown")
	}
	if body := it.Envelope.Body(); body.Codec != api.NoBody {
		words = append(words, string(body.Data))
	}
	return strings.Join(words, " ")
}

func cells(schema api.Schema, e wire.Envelope) []string {
	var words []string
	seen := map[string]bool{"name": true, "namespace": true} // these are part of the key
	for i, field := range schema.Fields {
		name := field[strings.LastIndexByte(field, '.')+1:]
		if value := e.Field(i); value != "" && !seen[name] {
			seen[name] = true
			words = append(words, name+"="+value)
		}
	}
	for i, column := range schema.Columns {
		name := strings.ToLower(column.Name)
		if value := e.Column(i); value.Kind != api.Null && !seen[name] {
			words = append(words, name+"="+value.String())
		}
	}
	return words
}

// sent prints a message from the engine to the connector.
func (p *printer) sent(message []byte) error {
	return wire.FromReader.Each(message, func(t wire.Type, frame wire.Frame) error {
		switch f := frame.(type) {
		case *wire.Hello:
			p.line("send hello from %q", f.Client)
		case *wire.Subscribe:
			p.line("send subscribe %s", subscribe(f))
		case *wire.Unsubscribe:
			p.line("send unsubscribe %d", f.Subscription)
		case *wire.Credit:
			p.line("send credit %d: %d bytes more", f.Subscription, f.Bytes)
		case *wire.RequestProgress:
			p.line("send request for progress of %d", f.Subscription)
		case *wire.RequestBody:
			p.line("send request for the body of %s of %d", f.Key, f.Subscription)
		case *wire.ChooseColumns:
			p.line("send columns of %d:%s", f.Subscription, columnNames(f.Columns))
		case *wire.Pong:
			p.line("send pong %d", f.Mark)
		default:
			return wire.Unknown(t)
		}
		return nil
	})
}

func columnNames(columns []api.Column) (text string) {
	for _, c := range columns {
		text += " " + c.Name
	}
	return text
}

func subscribe(f *wire.Subscribe) string {
	text := fmt.Sprintf("%d to %s", f.Subscription, f.Resource)
	for _, part := range [...]struct{ name, value string }{
		{"ns", f.Namespace}, {"labels", f.LabelSelector}, {"fields", f.FieldSelector},
	} {
		if part.value != "" {
			text += fmt.Sprintf(" %s=%q", part.name, part.value)
		}
	}
	if f.MetadataOnly {
		text += " metadata-only"
	}
	if f.RowsFirst && !f.MetadataOnly {
		text += " rows-first"
	}
	if f.BodiesFrom != "" {
		text += " bodies from " + string(f.BodiesFrom)
	}
	switch {
	case f.SnapshotFrom != "":
		text += fmt.Sprintf(", continuing a snapshot after %s at rv=%d", strings.TrimSuffix(string(f.SnapshotFrom), "\x00"), f.ResourceVersion)
	case f.ResourceVersion != 0:
		text += fmt.Sprintf(", resuming after rv=%d", f.ResourceVersion)
	case f.NotOlderThan != 0:
		text += fmt.Sprintf(", from a snapshot not older than rv=%d", f.NotOlderThan)
	default:
		text += ", from a snapshot"
	}
	return text
}
