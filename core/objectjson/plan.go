package objectjson

import (
	"slices"
	"strconv"

	"github.com/watchglass/watchglass/core/api"
)

// A slot is the number of a path whose values a scan selects. The well-known slots come
// first, followed by the schema's fields and columns.
const (
	slotName = iota
	slotNamespace
	slotUID
	slotResourceVersion
	slotImmutable
	slotLabels
	slotOwners
	firstFieldSlot
)

// part is a part of an object that the body may omit.
type part uint8

const (
	partResourceVersion part = 1 << iota
	partManagedFields
	partLastApplied
	partSecretData
)

// maxNodes limits the size of the tree, which can grow exponentially with paths that mix
// [0] and [*].
const maxNodes = 4096

// node represents a value of the document that is selected or contains a selected value.
type node struct {
	guesses  []guess  // the members that scans have read in this object, selected or not
	names    []string // names of the selected members, parallel to members
	members  []*node
	elements []element
	each     *node // node of the elements that are not in elements

	slots  []int // slots that select the value of this node
	under  []int // slots that select the value of this node or a value inside it
	counts []int // slots that select the value of this node even if it is withheld, to count its members
	labels bool  // every member is a label
	part   part  // the part of the body that this value is, if the body may omit it
}

// element is the node of one position of an array.
type element struct {
	index int
	node  *node
}

// member returns the index of the member with the given name, or -1. The name is JSON
// without its quotes.
func (n *node) member(quoted []byte) int {
	for k, name := range n.names {
		if len(quoted) == len(name) && string(quoted) == name && isPlain(quoted) {
			return k
		}
	}
	if isPlain(quoted) {
		return -1
	}
	return slices.IndexFunc(n.names, func(name string) bool { return sameEscaped(quoted, name) })
}

// element returns the node of an array's element, or nil.
func (n *node) element(index int) *node {
	for _, e := range n.elements {
		if e.index == index {
			return e.node
		}
	}
	return n.each
}

// wantsElements reports whether a route selects elements of an array at this node.
func (n *node) wantsElements() bool { return n.each != nil || len(n.elements) > 0 }

// route is a path with its destination, which is a slot, a part or both. If the slot is
// negative, the destination is only the part.
type route struct {
	steps  []step
	slot   int
	part   part
	counts bool // the slot selects the value even if it is withheld, to count its members
}

//go:noinline
func path(names ...string) []step {
	steps := make([]step, len(names))
	for i, name := range names {
		steps[i].name = name
	}
	return steps
}

// wellKnown returns the routes of every schema.
func wellKnown() []route {
	return []route{
		{steps: path("metadata", "name"), slot: slotName},
		{steps: path("metadata", "namespace"), slot: slotNamespace},
		{steps: path("metadata", "uid"), slot: slotUID},
		{steps: path("metadata", "resourceVersion"), slot: slotResourceVersion, part: partResourceVersion},
		{steps: path("metadata", "labels"), slot: slotLabels},
		{steps: append(path("metadata", "ownerReferences"), step{kind: toEach}), slot: slotOwners},
		{steps: path("immutable"), slot: slotImmutable},
		{steps: path("metadata", "managedFields"), slot: -1, part: partManagedFields},
		{steps: path("metadata", "annotations", lastApplied), slot: -1, part: partLastApplied},
	}
}

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// compile builds the tree of all values that a schema selects. It also returns the
// compiled columns, the printers that they use, and the number of slots.
func compile(schema *api.Schema, find Printers) (root *node, columns []column, prints []*print, slots int, err error) {
	routes := wellKnown()
	if isSecret(schema) {
		routes = append(routes, route{steps: path("data"), slot: -1, part: partSecretData},
			route{steps: path("stringData"), slot: -1, part: partSecretData})
	}
	slots = firstFieldSlot
	for _, field := range schema.Fields {
		steps, err := parseField(field)
		if err != nil {
			return nil, nil, nil, 0, err
		}
		routes, slots = append(routes, route{steps: steps, slot: slots}), slots+1
	}
	c := columnCompiler{find: find, routes: routes, slots: slots}
	for i := range schema.Columns {
		if err := c.add(&schema.Columns[i]); err != nil {
			return nil, nil, nil, 0, err
		}
	}
	root, err = buildTree(schema, c.routes)
	return root, c.columns, c.prints, c.slots, err
}

func buildTree(schema *api.Schema, routes []route) (*node, error) {
	b := builder{}
	root := b.build(routes, 0)
	if b.nodes > maxNodes {
		return nil, api.BadRequest("columns of " + schema.Resource.String() + ": their paths need more than " +
			strconv.Itoa(maxNodes) + " nodes; use fewer paths that mix [*] with positions")
	}
	return root, nil
}

// isSecret reports whether the objects of a schema may contain secrets. It returns true
// for a kind Secret of any group, because its objects are likely to contain secrets, too.
func isSecret(schema *api.Schema) bool {
	return schema.Kind == "Secret" || schema.Resource.Group == "" && schema.Resource.Name == "secrets"
}

// builder builds the tree from the top. An element that both [0] and [*] select has one
// node with the routes of both. The walk therefore never follows two nodes at a time.
type builder struct{ nodes int }

func (b *builder) build(routes []route, depth int) *node {
	n := &node{}
	if b.nodes++; b.nodes > maxNodes {
		return n
	}
	for _, r := range routes {
		n.arrive(r, depth)
	}
	var done []step
	for _, r := range routes {
		if len(r.steps) == depth || slices.Contains(done, r.steps[depth]) {
			continue
		}
		s := r.steps[depth]
		done = append(done, s)
		n.attach(s, b.build(following(routes, s, depth), depth+1))
	}
	return n
}

// arrive records a route that ends at or passes through the node.
func (n *node) arrive(r route, depth int) {
	if r.slot >= 0 {
		n.under = append(n.under, r.slot)
	}
	if len(r.steps) > depth {
		return
	}
	n.part |= r.part
	switch r.slot {
	case -1:
	case slotLabels:
		n.labels = true
	default:
		n.slots = append(n.slots, r.slot)
		if r.counts {
			n.counts = append(n.counts, r.slot)
		}
	}
}

func (n *node) attach(s step, child *node) {
	switch s.kind {
	case toMember:
		n.names, n.members = append(n.names, s.name), append(n.members, child)
	case toElement:
		n.elements = append(n.elements, element{s.index, child})
	case toEach:
		n.each = child
	}
}

// following returns the routes whose step at the given depth covers step s.
func following(routes []route, s step, depth int) []route {
	var out []route
	for _, r := range routes {
		if len(r.steps) > depth && r.steps[depth].covers(s) {
			out = append(out, r)
		}
	}
	return out
}
