// Package objects parses objects in a short notation, and formats versions and deliveries
// of watches, for tests:
//
//	default/a rv=5 app=web phase=Running restarts=2
//
// This example is the pod "a" of namespace "default" at resource version 5. The first
// word is the key. The words rv, uid, owner, body and immutable set the members of these
// names. A word that names a column or the last part of a schema field sets the column
// and the field: phase= sets the column Phase and the field status.phase. Every other
// word is a label.
package objects

import (
	"sort"
	"strconv"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/selector"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/watcher"
	"github.com/watchglass/watchglass/core/wire"
)

// Pods returns the schema of the short notation.
func Pods() api.Schema {
	return api.Schema{
		Resource: api.Resource{Version: "v1", Name: "pods"}, Kind: "Pod", Namespaced: true,
		Fields: []string{"metadata.name", "metadata.namespace", "spec.nodeName", "status.phase"},
		Columns: []api.Column{
			{Name: "Name", Kind: api.String, Path: ".metadata.name"},
			{Name: "Phase", Kind: api.String, Path: ".status.phase"},
			{Name: "Restarts", Kind: api.Integer, Path: ".status.restarts"},
			{Name: "Created", Kind: api.Date, Path: ".metadata.creationTimestamp"},
		},
	}
}

// Object parses an object of [Pods]. It panics on invalid text, because only tests
// call it.
func Object(text string) api.Object { return ObjectOf(Pods(), text) }

// ObjectOf parses an object with the given schema.
func ObjectOf(schema api.Schema, text string) api.Object {
	words := strings.Fields(text)
	if len(words) == 0 {
		panic("objects: no key in " + strconv.Quote(text))
	}
	o := api.Object{
		Key:     api.Key(words[0]),
		UID:     "uid-" + words[0],
		Fields:  make([]string, len(schema.Fields)),
		Columns: make([]api.Value, len(schema.Columns)),
	}
	set(&o, &schema, "name", o.Key.Name())
	set(&o, &schema, "namespace", o.Key.Namespace())
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "rv":
			o.ResourceVersion = api.ResourceVersion(number(value))
		case "uid":
			o.UID = value
		case "owner":
			o.Labels = append(o.Labels, api.Label{Value: value})
		case "body":
			o.Body = api.Body{Codec: api.JSON, Data: []byte(value)}
		case "immutable":
			o.Flags |= api.Immutable
		default:
			if !set(&o, &schema, name, value) {
				o.Labels = append(o.Labels, api.Label{Key: name, Value: value})
			}
		}
	}
	sort.Slice(o.Labels, func(i, j int) bool { return o.Labels[i].Key < o.Labels[j].Key })
	return o
}

// set sets the field and the column with a name, and reports whether the schema has such
// a field or column.
func set(o *api.Object, schema *api.Schema, name, value string) (known bool) {
	for i, field := range schema.Fields {
		if last := field[strings.LastIndexByte(field, '.')+1:]; last == name {
			o.Fields[i], known = value, true
		}
	}
	if i := schema.Column(name); i >= 0 {
		o.Columns[i], known = cell(schema.Columns[i].Kind, value), true
	}
	return known
}

func cell(kind api.ValueKind, text string) api.Value {
	v := api.Value{Kind: kind}
	switch kind {
	case api.String:
		v.Text = text
	case api.Number:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			panic("objects: " + err.Error())
		}
		v.Float = f
	default:
		v.Int = number(text)
	}
	return v
}

func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic("objects: " + err.Error())
	}
	return n
}

// Update returns an object in the form that a cacher stores.
func Update(text string) *cacher.Update { return UpdateOf(Object(text)) }

// UpdateOf converts an object to the form that a cacher stores.
func UpdateOf(o api.Object) *cacher.Update {
	return &cacher.Update{
		ResourceVersion: o.ResourceVersion, Flags: o.Flags, Labels: o.Labels,
		Envelope: wire.AppendEnvelope(nil, &o),
	}
}

// Version stores an object in an arena and returns it with one reference.
func Version(arena *store.Arena, text string) store.Ref {
	o := Object(text)
	return arena.Put(store.Version{
		ResourceVersion: o.ResourceVersion, Flags: o.Flags, LabelSet: arena.Labels.Intern(o.Labels),
		Envelope: wire.AppendEnvelope(nil, &o),
	})
}

// Ref formats a version as "default/a@5".
func Ref(arena *store.Arena, ref store.Ref) string {
	if ref == 0 {
		return "-"
	}
	return string(arena.Key(ref)) + "@" + arena.ResourceVersion(ref).String()
}

// Refs formats several versions.
func Refs(arena *store.Arena, refs []store.Ref) []string {
	names := []string{}
	for _, ref := range refs {
		names = append(names, Ref(arena, ref))
	}
	return names
}

// Delivery formats a delivery of a watch, such as "MODIFIED default/a@5", "DELETED
// default/a@7", "BOOKMARK @7" or "BOOKMARK @7 end".
func Delivery(arena *store.Arena, d watcher.Delivery) string {
	text := d.Type.String() + " "
	if d.Content != 0 {
		text += strings.Clone(string(arena.Key(d.Content)))
	}
	text += "@" + d.ResourceVersion.String()
	if d.Flags&api.EndOfInitialEvents != 0 {
		text += " end"
	}
	if d.Flags&api.FinalStateUnknown != 0 {
		text += " unknown"
	}
	return text
}

// Take removes all deliveries from a watch without a sink, releases their references, and
// returns the formatted deliveries.
func Take(arena *store.Arena, w *watcher.Watcher) []string {
	names := []string{}
	w.Run()
	for d, ok := w.Take(); ok; d, ok = w.Take() {
		names = append(names, Delivery(arena, d))
		arena.Release(d.Content)
		w.Run()
	}
	return names
}

// Unchanged returns the cells that a patch from previous to current marks as
// unchanged. It returns none if there is no previous version.
func Unchanged(previous, current wire.Envelope) api.Cells {
	patch, ok := wire.AppendPatch(nil, previous, current, api.Body{})
	if !ok {
		return 0
	}
	_, unchanged, status := wire.Patch(patch).Apply(nil, previous)
	if status != nil {
		panic("objects: " + status.Message)
	}
	return unchanged
}

// Select returns parsed selectors. It panics on a syntax error.
func Select(labels, fields string) selector.Selection {
	s, status := selector.Limits{}.Parse(labels, fields)
	if status != nil {
		panic(status)
	}
	return s
}
