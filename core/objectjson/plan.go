package objectjson

import (
	"slices"
	"strconv"

	"github.com/watchglass/watchglass/core/api"
)

// A slot is the number of one selected value of an object. The well-known slots come
// first, followed by the schema's fields and columns.
const (
	slotName = iota
	slotNamespace
	slotUID
	slotResourceVersion
	slotImmutable
	slotLabels
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

// maxNodes limits the tree, because paths that mix [0] and [*] can multiply.
const maxNodes = 4096

// node is a value in the document that is selected or contains a selected value.
type node struct {
	guesses  []guess  // the members seen here, selected or not
	names    []string // names of the members below, parallel to members
	members  []*node
	elements []element
	each     *node // node of the elements not listed above

	slots  []int // slots that select the value here
	under  []int // slots that select a value here or below
	labels bool  // every member is a label
	part   part  // the omissible part of the body that this value is, if any
}

// element is the node of one position of an array.
type element struct {
	index int
	node  *node
}

// member returns the index of the member with a name, which is JSON without quotes,
// or -1.
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

// wantsElements reports whether a route selects elements of an array here.
func (n *node) wantsElements() bool { return n.each != nil || len(n.elements) > 0 }

// route is a path with its destination: a slot, a part, or (slot < 0) only a part.
type route struct {
	steps []step
	slot  int
	part  part
}

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
		{path("metadata", "name"), slotName, 0},
		{path("metadata", "namespace"), slotNamespace, 0},
		{path("metadata", "uid"), slotUID, 0},
		{path("metadata", "resourceVersion"), slotResourceVersion, partResourceVersion},
		{path("metadata", "labels"), slotLabels, 0},
		{path("immutable"), slotImmutable, 0},
		{path("metadata", "managedFields"), -1, partManagedFields},
		{path("metadata", "annotations", lastApplied), -1, partLastApplied},
	}
}

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// compile builds the tree of all values that a schema selects.
func compile(schema *api.Schema) (*node, error) {
	routes := wellKnown()
	if isSecret(schema) {
		routes = append(routes, route{path("data"), -1, partSecretData}, route{path("stringData"), -1, partSecretData})
	}
	slot := firstFieldSlot
	for _, field := range schema.Fields {
		steps, err := parseField(field)
		if err != nil {
			return nil, err
		}
		routes, slot = append(routes, route{steps, slot, 0}), slot+1
	}
	for i := range schema.Columns {
		steps, err := parseColumn(&schema.Columns[i])
		if err != nil {
			return nil, err
		}
		routes, slot = append(routes, route{steps, slot, 0}), slot+1
	}
	b := builder{}
	root := b.build(routes, 0)
	if b.nodes > maxNodes {
		return nil, api.BadRequest("columns of " + schema.Resource.String() + ": their paths need more than " +
			strconv.Itoa(maxNodes) + " nodes; use fewer paths that mix [*] with positions")
	}
	return root, nil
}

// isSecret reports whether objects may contain secrets. It includes kinds named
// Secret of other groups, because they are as likely to contain secrets.
func isSecret(schema *api.Schema) bool {
	return schema.Kind == "Secret" || schema.Resource.Group == "" && schema.Resource.Name == "secrets"
}

// builder builds the tree from the top. An element that both [0] and [*] select gets
// one node with the routes of both, so the walk never follows two nodes.
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

// following returns the routes that continue with step s.
func following(routes []route, s step, depth int) []route {
	var out []route
	for _, r := range routes {
		if len(r.steps) > depth && r.steps[depth].covers(s) {
			out = append(out, r)
		}
	}
	return out
}
