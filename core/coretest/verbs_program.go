package coretest

import (
	"strconv"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/join"
	"github.com/watchglass/watchglass/core/wire"
)

// command passes a frame to the engine if the verb has no unused words.
func (h *harness) command(v *verb, f frame) error {
	if err := v.done(); err != nil {
		return err
	}
	return h.toEngine(f)
}

func doCollection(h *harness, v *verb) error {
	f := &wire.OpenCollection{
		Collection: v.takeNumber("a number for the collection"), Resource: v.take("a resource such as v1/pods"),
		Namespace: v.option("ns"), LabelSelector: v.option("labels"), FieldSelector: v.option("fields"),
		MetadataOnly: v.flag("metadata-only"), RowsFirst: v.flag("rows-first"), Columns: v.columns(),
	}
	name := v.option("restore")
	if f.Restore = name != ""; !f.Restore {
		return h.command(v, f)
	}
	s := h.findSnapshot(v, name)
	if err := h.command(v, f); err != nil {
		return err
	}
	return h.restore(f.Collection, s)
}

// columns parses the options that choose the columns of a collection: columns=, such as
// "Node:string:.spec.nodeName,Restarts:integer:.restarts"; join=, such as
// "metrics.k8s.io/v1beta1/pods:CPU,Memory"; and children=, such as
// "apps/v1/replicasets,v1/pods:Phase".
func (v *verb) columns() []api.Column {
	var columns []api.Column
	for _, word := range words(v.option("columns")) {
		name, rest, _ := strings.Cut(word, ":")
		kind, path, _ := strings.Cut(rest, ":")
		columns = append(columns, api.Column{Name: name, Kind: api.ColumnKind(kind), Path: path})
	}
	resource, names, _ := strings.Cut(v.option("join"), ":")
	for _, name := range words(names) {
		columns = append(columns, api.Column{Name: name, Kind: api.String, Printer: join.Printer, Path: resource + " " + name})
	}
	resources, names, counted := strings.Cut(v.option("children"), ":")
	if counted {
		columns = append(columns, api.Column{Name: "Children", Kind: api.Integer, Printer: join.Children, Path: resources})
	}
	for _, name := range words(names) {
		columns = append(columns, api.Column{Name: "By" + name, Kind: api.String, Printer: join.Children, Path: resources + " " + name})
	}
	return columns
}

func doCloseCollection(h *harness, v *verb) error {
	return h.command(v, &wire.CloseCollection{Collection: v.takeNumber("the number of the collection")})
}

func (v *verb) match() api.Match {
	return api.Match(v.oneOf("match", "", "NotOlderThan", "Exact"))
}

func (v *verb) collection() uint32 {
	n := uint32(v.optionNumber("collection"))
	if n == 0 {
		v.fail("%s needs collection=, the number of one", v.name)
	}
	return n
}

func doWatch(h *harness, v *verb) error {
	f := &wire.OpenWatch{
		Watch: v.takeNumber("a number for the watch"), Collection: v.collection(),
		Namespace: v.option("ns"), LabelSelector: v.option("labels"), FieldSelector: v.option("fields"),
		ResourceVersion: v.option("rv"), Match: v.match(),
		SendInitialEvents: api.Tristate(v.oneOf("initial", "", "false", "true")),
		TimeoutSeconds:    uint32(v.optionDuration("timeout") / 1000),
		Policy:            api.Policy(max(v.oneOf("policy", "", "terminate", "conflate", "stall"), 1) - 1),
		Credit:            uint32(v.optionNumber("credit")),
		Bookmarks:         v.flag("bookmarks"), Bodies: v.flag("bodies"), Previous: v.flag("previous"),
	}
	if err := v.done(); err != nil {
		return err
	}
	h.printer.watchOf(f.Watch, f.Collection)
	return h.toEngine(f)
}

func doGrant(h *harness, v *verb) error {
	return h.command(v, &wire.GrantWatch{Watch: v.takeNumber("the number of the watch"), Events: v.takeNumber("how many events")})
}

func doCloseWatch(h *harness, v *verb) error {
	return h.command(v, &wire.CloseWatch{Watch: v.takeNumber("the number of the watch")})
}

// defaultLimit is the number of rows in a view's window if a scenario does not set it.
const defaultLimit = 10

func (v *verb) limit() uint32 {
	if n := v.optionNumber("limit"); n != 0 {
		return uint32(n)
	}
	return defaultLimit
}

func doView(h *harness, v *verb) error {
	f := &wire.OpenView{
		View: v.takeNumber("a number for the view"), Collection: v.collection(),
		Namespaces: words(v.option("ns")), LabelSelector: v.option("labels"), FieldSelector: v.option("fields"),
		Search: v.option("search"), Where: v.option("where"), OwnedBy: v.option("owned-by"), Recursive: v.flag("recursive"), Sort: v.option("sort"), Offset: uint32(v.optionNumber("offset")), Limit: v.limit(), Anchor: v.option("anchor"), Before: uint32(v.optionNumber("before")), Facets: facets(v.option("facets")),
	}
	groups, aggregates := facets(v.option("groups")), words(v.option("aggregates"))
	for i := range groups {
		groups[i].RowsOnly, groups[i].Aggregates = true, aggregates
	}
	f.Facets = append(f.Facets, groups...)
	if err := v.done(); err != nil {
		return err
	}
	h.printer.viewOf(f.View, f.Collection)
	return h.toEngine(f)
}

// words splits a list such as "a,b".
func words(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// facets parses a list such as "phase,labels[app]+phase:3,restarts%10". The + joins the
// names of a pair, 3 is the number of values, and 10 the width of intervals.
func facets(list string) []wire.Facet {
	var facets []wire.Facet
	for _, word := range words(list) {
		word, limit, _ := strings.Cut(word, ":")
		word, width, _ := strings.Cut(word, "%")
		by, then, _ := strings.Cut(word, "+")
		n, _ := strconv.Atoi(limit)
		w, _ := strconv.Atoi(width)
		facets = append(facets, wire.Facet{By: by, Then: then, Limit: uint32(n), Width: uint64(w)})
	}
	return facets
}

func doHoldView(h *harness, v *verb) error {
	h.held[v.takeNumber("the number of the view")] = true
	return v.done()
}

func doGrantView(h *harness, v *verb) error {
	f := &wire.GrantView{View: v.takeNumber("the number of the view")}
	h.held[f.View] = false
	return h.command(v, f)
}

func doMove(h *harness, v *verb) error {
	return h.command(v, &wire.MoveView{
		View: v.takeNumber("the number of the view"), Offset: uint32(v.optionNumber("offset")), Limit: v.limit(),
		Anchor: v.option("anchor"), Before: uint32(v.optionNumber("before")),
	})
}

func doCloseView(h *harness, v *verb) error {
	return h.command(v, &wire.CloseView{View: v.takeNumber("the number of the view")})
}

// ask returns the ID of a new request for the collection.
func (h *harness) ask(collection uint32) uint32 {
	h.request++
	h.printer.requestOf(h.request, collection)
	return h.request
}

func doGet(h *harness, v *verb) error {
	f := &wire.Get{Collection: v.takeNumber("the number of the collection"), Key: api.Key(v.take("a key such as default/a"))}
	f.Request = h.ask(f.Collection)
	return h.command(v, f)
}

func doList(h *harness, v *verb) error {
	f := &wire.List{
		Collection: v.takeNumber("the number of the collection"),
		Namespace:  v.option("ns"), LabelSelector: v.option("labels"), FieldSelector: v.option("fields"),
		ResourceVersion: v.option("rv"), Match: v.match(), Limit: uint32(v.optionNumber("limit")),
		Continue: strings.ReplaceAll(v.option("continue"), "$token", h.token), Bodies: v.flag("bodies"),
	}
	f.Request = h.ask(f.Collection)
	return h.command(v, f)
}

func doInspect(h *harness, v *verb) error {
	return h.command(v, &wire.Inspect{Request: h.ask(0)})
}

func doReconnect(h *harness, v *verb) error { return h.command(v, &wire.Reconnect{}) }

func doStepGarbage(h *harness, v *verb) error {
	data, err := v.hex()
	if err != nil {
		return err
	}
	h.tickEngine()
	if err := h.step(data); err != nil {
		h.printer.line("step refused: %s", status(api.AsStatus(err)))
	}
	return nil
}
