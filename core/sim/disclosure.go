package sim

import (
	"encoding/binary"
	"strconv"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/body"
	"github.com/watchglass/watchglass/core/coretest/sentinel"
	"github.com/watchglass/watchglass/core/selector"
	"github.com/watchglass/watchglass/core/sim/check"
	"github.com/watchglass/watchglass/core/wire"
)

// owner is the object that contains a sentinel. Names are the same in all
// sources, so the sentinel of a name has no source.
type owner struct {
	source *source
	kind   int
	key    api.Key
}

// planted contains the sentinels of a run and their owners.
type planted struct {
	set    sentinel.Set
	owners map[string]owner
}

func newPlanted() *planted {
	p := &planted{owners: map[string]owner{}}
	for kind := range kinds {
		for n := range objectsOf {
			p.plant(nameOf(kind, n), owner{kind: kind, key: keyOf(kind, n)})
		}
	}
	return p
}

func (p *planted) plant(name string, o owner) string {
	p.owners[name] = o
	return p.set.Plant(name)
}

// nameOf identifies the sentinel in the name of the n-th object.
func nameOf(kind, n int) string { return "name of " + resourceNames[kind] + " " + strconv.Itoa(n) }

// sentinel returns the text that identifies an object in bytes sent to readers. Every
// version of the object contains this text in its UID, annotations and spec. Some
// versions also contain it in their labels and fields.
func (s *source) sentinel(kind int, key api.Key) string {
	text, known := s.own[kind][key]
	if !known {
		text = s.planted.plant(s.name+" "+resourceNames[kind]+" "+string(key), owner{s, kind, key})
		s.own[kind][key] = text
	}
	return text
}

// entitlement describes the data that a session may send to one subscription. The data must
// belong to objects that are in the scope, that the reader may read, and that the selectors
// have matched.
type entitlement struct {
	kind       int
	scope      api.Scope
	allowed    bool // the reader is authorized for the scope
	selects    bool
	filter     check.Filter
	source     string // source in the last schema
	dictionary uint32
	labelSets  uint32 // definitions sent
	matched    map[owner]bool
}

// allows reports whether the subscription may disclose an object. Selectors do
// not apply to faults, because labels and fields of a faulty object are unknown.
func (g *entitlement) allows(o owner, fault bool) bool {
	switch {
	case !g.allowed || o.kind != g.kind || !g.scope.Has(o.key):
		return false
	case !g.selects || fault || o.source == nil || g.matched[o]:
		return true
	}
	ever := o.source.logs[o.kind].EverMatched(o.key, g.filter.Match)
	g.matched[o] = ever
	return ever
}

// narrow reports whether there are objects that the subscription must not
// disclose.
func (g *entitlement) narrow() bool { return !g.allowed || g.selects || !g.scope.Whole() }

// disclosure checks every byte of a stream to a reader against the reader's
// entitlements.
type disclosure struct {
	entitled     map[uint32]*entitlement
	dictionaries map[uint32][]byte
	plain        []byte
}

func newDisclosure() disclosure {
	return disclosure{entitled: map[uint32]*entitlement{}, dictionaries: map[uint32][]byte{}}
}

// granted records the entitlement of a new subscription.
func (t *tap) granted(f *wire.Subscribe) {
	fields, err := selector.ParseFields(f.FieldSelector)
	must(err)
	g := &entitlement{
		scope: selector.ScopeOf(f.Namespace, fields), selects: f.LabelSelector != "" || f.FieldSelector != "",
		filter:  check.Filter{Namespace: f.Namespace, Labels: f.LabelSelector, Fields: f.FieldSelector},
		matched: map[owner]bool{},
	}
	for k, name := range resourceNames {
		if name == f.Resource {
			g.kind = k
		}
	}
	g.allowed = t.link.driver.mayRead(g.scope)
	t.disclosed.entitled[f.Subscription] = g
}

// disclose checks that a frame of a session contains only data that its reader may
// receive.
func (t *tap) disclose(frame wire.Frame, payload []byte) {
	d := &t.disclosed
	if f, ok := frame.(*wire.Dictionary); ok {
		d.dictionaries[f.ID] = append([]byte(nil), f.Data...)
	}
	id, _ := binary.Uvarint(payload)
	g := d.entitled[uint32(id)]
	if !ofSubscription(frame) || g == nil {
		t.hold(&entitlement{}, frame, payload)
		return
	}
	t.describe(g, frame)
	if !g.narrow() {
		return
	}
	t.link.driver.world.saw(Narrow)
	t.hold(g, frame, payload)
	switch f := frame.(type) {
	case *wire.SnapshotPart:
		t.unpack(g, f.Objects)
	case *wire.Events:
		t.unpack(g, f.Changes)
	}
}

// ofSubscription reports whether a frame starts with the number of a subscription.
func ofSubscription(frame wire.Frame) bool {
	switch frame.(type) {
	case *wire.Welcome, *wire.Dictionary, *wire.Ping:
		return false
	}
	return true
}

// describe checks frames that could disclose objects through counts or IDs.
func (t *tap) describe(g *entitlement, frame wire.Frame) {
	w := t.link.driver.world
	switch f := frame.(type) {
	case *wire.Schema:
		g.source, g.dictionary = f.ClusterID, f.Dictionary
	case *wire.LabelSet:
		if g.narrow() && !g.scope.Whole() && f.ID > g.labelSets {
			w.fail(ErrDisclosed, "%s has %d label sets of %+v, and the next has the number %d", t.link.driver.name, g.labelSets, g.scope, f.ID)
		}
		g.labelSets++
	case *wire.SnapshotBegin:
		s := w.sourceNamed(g.source)
		covers := func(key api.Key, o *check.Object) bool { return o != nil && g.scope.Has(key) }
		if f.Continues {
			return // the total belongs to a version that the frame does not name
		}
		if log := s.logs[g.kind]; log.Exact(f.ResourceVersion) && !w.undetermined(log) && !g.scope.Whole() {
			if n := len(log.List(f.ResourceVersion, covers)); n != int(f.Total) {
				w.fail(ErrDisclosed, "%s received a total of %d objects, and %+v has %d", t.link.driver.name, f.Total, g.scope, n)
			}
		}
	}
}

// discloseBlock checks the objects of a block, and checks that the number of label sets
// in the block does not disclose other objects.
func (t *tap) discloseBlock(subscription uint32, b *wire.Block) {
	g := t.disclosed.entitled[subscription]
	if g == nil {
		g = &entitlement{}
	}
	if !g.narrow() {
		return
	}
	w := t.link.driver.world
	if len(b.LabelSets) > len(b.Objects) {
		w.fail(ErrDisclosed, "%s received %d label sets with %d objects", t.link.driver.name, len(b.LabelSets), len(b.Objects))
	}
	envelopes, bodies := b.Encode(&wire.SnapshotBlock{}, nil, nil)
	t.hold(g, b, envelopes)
	t.hold(g, b, bodies)
	t.unpack(g, b.Objects)
	w.saw(NarrowBlock)
}

// discloseBodies checks a block of bodies in the same way as discloseBlock.
func (t *tap) discloseBodies(subscription uint32, f *wire.SnapshotBodies, list []wire.RowBody) {
	g := t.disclosed.entitled[subscription]
	if g == nil {
		g = &entitlement{}
	}
	if !g.narrow() {
		return
	}
	t.hold(g, f, []byte(f.First))
	for _, b := range list {
		t.hold(g, f, b.Body.Data)
		t.hold(g, f, b.Base.Body.Data)
		t.unpackBody(g, b.Body)
		t.unpackBody(g, b.Base.Body)
	}
}

// unpack checks the decompressed bodies of changes that are not deltas. A delta contains
// new text verbatim, so the check of the whole frame finds sentinels there. checkBody
// checks the complete body after the delta was applied.
func (t *tap) unpack(g *entitlement, changes []wire.Change) {
	for i := range changes {
		c := &changes[i]
		t.unpackBody(g, c.Base.Body)
		if c.Patch == nil && c.Type != api.Deleted {
			t.unpackBody(g, c.Envelope.Body())
		}
	}
}

func (t *tap) unpackBody(g *entitlement, packed api.Body) {
	if packed.Codec != api.Packed {
		return
	}
	d := &t.disclosed
	plain, err := body.Decode(d.plain[:0], packed, d.dictionaries[g.dictionary], nil)
	must(err)
	d.plain = plain
	t.link.driver.world.saw(Unpacked)
	t.hold(g, packed, plain)
}

// hold fails the run if the bytes of a frame, or of a part of one, contain a sentinel
// that the entitlement does not allow.
func (t *tap) hold(g *entitlement, part any, data []byte) {
	w := t.link.driver.world
	_, objectError := part.(*wire.ObjectError)
	_, sourceError := part.(*wire.SourceError)
	for _, name := range w.planted.set.Find(data) {
		if !g.allows(w.planted.owners[name], objectError || sourceError) {
			w.fail(ErrDisclosed, "%s received %q of %s in a %T for %+v %+v", t.link.driver.name, data, name, part, g.scope, g.filter)
		}
	}
}
