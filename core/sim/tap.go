package sim

import (
	"fmt"
	"slices"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/sim/check"
	"github.com/watchglass/watchglass/core/wire"
)

// tap reads the traffic of a link. For each scope, it records which versions have
// arrived, and in which steps.
type tap struct {
	link   *link
	scopes []*scope
	subs   []subscription
	// sentRV contains the version sent to each subscription of the stream. credit
	// contains the credit that the session has received and not used.
	sentRV    map[uint32]api.ResourceVersion
	credit    map[uint32]int64
	disclosed disclosure
	requested map[string]bool // subscriptions and keys of requested bodies
	spoiled   []spoiled       // corrupt blocks since the last output of the engine
	blocks    int             // number of blocks so far in the message that arrives
}

// spoiled records that a subscription received a corrupt block of bodies, and the content
// of the subscription's epoch before that block. If the engine ends the subscription for
// that reason, it ignores the rest of the message.
type spoiled struct {
	id    uint32
	scope *scope
	epoch *epoch
	until epoch // the content of epoch before the corrupt block
	after epoch // the content after the message, if the subscription has ended
}

// subscription is a subscription of the current stream.
type subscription struct {
	id      uint32
	scope   *scope
	listing bool
	dead    bool
	resumed bool    // the reader requested to resume, and has had no response yet
	again   bool    // the reader requested to resume
	asked   bool    // the reader requested rows first
	bodies  bool    // bodies follow the rows
	body    api.Key // first key of the last block of bodies
	partial bool    // the reader requested to continue a snapshot
}

// scope is the state that all collections with the same scope share.
type scope struct {
	key  string
	kind int
	*epoch
	// named is the cluster whose identity the engine last requested. A different
	// cluster may have become reachable since.
	named *source
}

// epoch is a period in which a scope has one source.
type epoch struct {
	kind       int
	source     *source
	ready      bool
	first      api.ResourceVersion
	rv         api.ResourceVersion
	progressAt int64               // time of the last progress
	asked      int64               // time of the response to the current subscription
	newest     api.ResourceVersion // newest version that a Kubernetes server reported
	relists    []check.Relist
}

func (t *tap) connected() {
	t.subs, t.sentRV, t.credit, t.disclosed = nil, map[uint32]api.ResourceVersion{}, map[uint32]int64{}, newDisclosure()
	t.requested = map[string]bool{}
}

func scopeKey(resource string, f check.Filter, metadataOnly bool) string {
	key := resource + " " + f.Namespace + " " + f.Labels + " " + f.Fields
	if metadataOnly {
		key += " metadata"
	}
	return key
}

func (t *tap) scope(resource string, f check.Filter, metadataOnly bool) *scope {
	key := scopeKey(resource, f, metadataOnly)
	for _, s := range t.scopes {
		if s.key == key {
			return s
		}
	}
	s := &scope{key: key, kind: slices.Index(resourceNames[:], resource)}
	s.renew()
	t.scopes = append(t.scopes, s)
	return s
}

func (s *scope) renew() { s.epoch = &epoch{kind: s.kind} }

// asked processes the data that the engine sends to its server.
func (t *tap) asked(data []byte) {
	frames(wire.FromReader, data, func(frame wire.Frame) {
		switch f := frame.(type) {
		case *wire.Subscribe:
			// MetadataOnly with RowsFirst means that a reader of complete objects
			// omits bodies because of its memory limit.
			s := t.scope(f.Resource, check.Filter{Namespace: f.Namespace, Labels: f.LabelSelector, Fields: f.FieldSelector}, f.MetadataOnly && !f.RowsFirst)
			// The engine may have released the state of a single object, and with
			// it the cluster ID.
			if f.ResourceVersion == 0 && (f.ClusterID == "" || !s.ready || f.FieldSelector != "") {
				s.renew()
			}
			t.subs = append(t.subs, subscription{id: f.Subscription, scope: s, resumed: f.ResourceVersion != 0, again: f.ResourceVersion != 0, asked: f.RowsFirst && !f.MetadataOnly, body: f.BodiesFrom, partial: f.SnapshotFrom != ""})
		case *wire.Unsubscribe:
			if sub := t.find(f.Subscription); sub != nil {
				sub.dead = true
			}
			t.restore(f.Subscription)
		}
	})
}

// restore resets the epoch of an ended subscription to its content before a corrupt block.
func (t *tap) restore(id uint32) {
	for i, s := range t.spoiled {
		if s.id == id && s.scope.epoch == s.epoch {
			t.spoiled[i].after = *s.epoch
			*s.epoch = s.until
			return // the engine stopped at the first block
		}
	}
}

// keep undoes restore, because the engine processed the rest of the message: it ended the
// subscription for the memory limit, or it read the corrupt body only later.
func (t *tap) keep(ended *scope) {
	for _, s := range t.spoiled {
		if s.scope == ended && s.epoch == ended.epoch && s.after.source != nil {
			*s.epoch = s.after
			return
		}
	}
}

// up processes the data that arrives at the connector.
func (t *tap) up(data []byte) {
	w := t.link.driver.world
	frames(wire.FromReader, data, func(frame wire.Frame) {
		if f, ok := frame.(*wire.Credit); ok {
			t.credit[f.Subscription] += int64(f.Bytes)
		}
		if f, ok := frame.(*wire.RequestBody); ok {
			t.requested[fmt.Sprint(f.Subscription, f.Key)] = true
		}
		f, ok := frame.(*wire.Subscribe)
		if !ok {
			return
		}
		t.credit[f.Subscription] = int64(f.Credit)
		if f.BodiesFrom != "" {
			w.saw(BodiesResumed)
		}
		t.granted(f)
		for k, name := range resourceNames {
			source, rv := t.link.server.at(k)
			if name == f.Resource && source != nil && source.name == f.ClusterID && rv < f.NotOlderThan {
				w.saw(OlderReplica)
			}
		}
	})
}

func (t *tap) find(id uint32) *subscription {
	for i := range t.subs {
		if t.subs[i].id == id && !t.subs[i].dead {
			return &t.subs[i]
		}
	}
	return nil
}

func (t *tap) isSchema(data []byte) bool {
	found := false
	frames(wire.FromConnector, data, func(f wire.Frame) {
		_, is := f.(*wire.Schema)
		found = found || is
	})
	return found
}

// down processes the data that arrives at the reader.
func (t *tap) down(data []byte) {
	t.blocks = 0
	frames(wire.FromConnector, data, func(frame wire.Frame) {
		switch f := frame.(type) {
		case *wire.Schema:
			t.schema(f)
		case *wire.SnapshotBegin:
			if sub := t.find(f.Subscription); sub != nil {
				sub.listing, sub.resumed = true, false
				t.began(sub, f)
			}
		case *wire.SnapshotEnd:
			t.snapshot(f)
		case *wire.Events:
			t.events(f)
		case *wire.Progress:
			t.progress(f)
		case *wire.SnapshotBlock:
			t.block(f.Subscription)
		case *wire.SnapshotBodies:
			t.block(f.Subscription)
		case *wire.SubscriptionStatus:
			if f.Status != nil && f.Status.Code == api.CodeGone {
				t.link.driver.world.saw(Expired)
			}
			if sub := t.find(f.Subscription); sub != nil {
				sub.dead = true
			}
		}
	})
}

// block records a block of the message that arrives, whose bodies may be corrupt.
func (t *tap) block(subscription uint32) {
	t.blocks++
	if sub := t.find(subscription); sub != nil && t.blocks == t.link.bodies.spoiled {
		t.spoiled = append(t.spoiled, spoiled{id: subscription, scope: sub.scope, epoch: sub.scope.epoch, until: *sub.scope.epoch})
	}
}

// began records how a snapshot begins.
func (t *tap) began(sub *subscription, f *wire.SnapshotBegin) {
	switch {
	case f.Continues:
		t.link.driver.world.saw(SnapshotContinued)
	case sub.partial:
		t.link.driver.world.saw(SnapshotRestarted)
	}
}

func (t *tap) schema(f *wire.Schema) {
	sub := t.find(f.Subscription)
	if sub == nil {
		return
	}
	if e := sub.scope.epoch; e.source != nil && e.source.name != f.ClusterID {
		sub.scope.renew()
		sub.dead = true // the engine starts over with another subscription
		t.link.driver.world.saw(SourceReplaced)
		return
	}
	sub.scope.asked = t.link.driver.world.now
	for _, s := range t.link.driver.world.sources {
		if s.name == f.ClusterID {
			sub.scope.source = s
		}
	}
}

func (t *tap) snapshot(f *wire.SnapshotEnd) {
	sub := t.find(f.Subscription)
	if sub == nil || !sub.listing || f.ResourceVersion < sub.scope.rv {
		return
	}
	sub.listing = false
	e := sub.scope.epoch
	e.asked = t.link.driver.world.now
	if e.ready {
		e.relists = append(e.relists, check.Relist{From: e.rv, To: f.ResourceVersion})
		t.link.driver.world.saw(Relisted)
	} else {
		e.ready, e.first = true, f.ResourceVersion
	}
	t.progressed(sub, f.ResourceVersion)
}

func (t *tap) events(f *wire.Events) {
	if sub := t.find(f.Subscription); sub != nil && !sub.listing {
		t.reached(sub, f.ResourceVersion)
	}
}

func (t *tap) progress(f *wire.Progress) {
	if sub := t.find(f.Subscription); sub != nil && !sub.listing {
		t.progressed(sub, f.ResourceVersion)
	}
}

// progressed records that a subscription has progress up to the version rv. Changes alone
// are not progress, because they may be old.
func (t *tap) progressed(sub *subscription, rv api.ResourceVersion) {
	if t.reached(sub, rv); sub.scope.ready {
		sub.scope.progressAt = t.link.driver.world.now
	}
}

// sent checks the output of a session before any fault applies to it: a revision is never
// split across frames, and progress never overtakes changes. It returns the counts of the
// changes.
func (t *tap) sent(data []byte) (counts changeCounts) {
	w := t.link.driver.world
	for len(data) > 0 {
		kind, payload, rest, err := wire.Next(data)
		must(err)
		frame, err := wire.FromConnector.Parse(kind, payload)
		must(err)
		t.disclose(frame, payload)
		switch f := frame.(type) {
		case *wire.SnapshotPart:
			t.charge(f.Subscription, wire.Size(len(payload)))
			counts.add(f.Objects)
			for i := range f.Objects {
				if f.Objects[i].Base.ResourceVersion != 0 {
					w.saw(BaseInSnapshot)
				}
			}
		case *wire.SnapshotBlock:
			if sub := t.find(f.Subscription); sub != nil && sub.asked {
				sub.bodies = f.Bodies == 0
			}
			t.charge(f.Subscription, wire.Size(len(payload)))
			var b wire.Block
			if status := f.Expand(&b, true); status != nil {
				must(status)
			}
			t.discloseBlock(f.Subscription, &b)
			counts.add(b.Objects)
			counts.expanded += int(f.Envelopes + f.Members + f.Bodies)
		case *wire.SnapshotBodies:
			t.charge(f.Subscription, wire.Size(len(payload)))
			counts.versions += 2 * int(f.Objects)
			counts.expanded += int(f.Members + f.Bodies)
			t.bodies(f)
		case *wire.Events:
			t.charge(f.Subscription, wire.Size(len(payload)))
			counts.add(f.Changes)
			for i := range f.Changes {
				if sub := t.find(f.Subscription); sub != nil && sub.bodies && f.Changes[i].Key > sub.body && f.Changes[i].Type != api.Added {
					w.saw(ChangedRow)
				}
				t.difference(f.Subscription, &f.Changes[i])
				if rv := f.Changes[i].ResourceVersion; rv <= t.sentRV[f.Subscription] || rv > f.ResourceVersion {
					w.fail(ErrWire, "a frame up to %d has a change of %d, after all changes up to %d were sent",
						f.ResourceVersion, rv, t.sentRV[f.Subscription])
				}
			}
			t.sentRV[f.Subscription] = f.ResourceVersion
		case *wire.Progress:
			if f.ResourceVersion < t.sentRV[f.Subscription] {
				w.fail(ErrWire, "progress %d after all changes up to %d were sent", f.ResourceVersion, t.sentRV[f.Subscription])
			}
			t.sentRV[f.Subscription] = f.ResourceVersion
		}
		data = rest
	}
	return counts
}

// charge checks that a session sends data only while it has credit, so at most one frame
// exceeds the credit.
func (t *tap) charge(subscription uint32, size int) {
	if t.credit[subscription] <= 0 {
		t.link.driver.world.fail(ErrCredit, "data of subscription %d, which has no credit left", subscription)
	}
	t.credit[subscription] -= int64(size)
}

// difference records situations in which a body is sent as a delta.
func (t *tap) difference(subscription uint32, c *wire.Change) {
	w := t.link.driver.world
	switch sub := t.find(subscription); {
	case c.Base.ResourceVersion == 0:
	case c.Base.Body.Codec == api.NoBody:
		w.saw(DeltaSent)
	case c.Type == api.Modified && sub != nil && sub.again:
		w.saw(BaseForResumed)
	}
}

func (t *tap) reached(sub *subscription, rv api.ResourceVersion) {
	e := sub.scope.epoch
	if !e.ready {
		return
	}
	if e.rv < rv {
		e.rv = rv
	}
	if sub.resumed {
		sub.resumed, e.asked = false, t.link.driver.world.now
		t.link.driver.world.saw(Resumed)
	}
}

// multiKey reports whether an Events frame has several changes of one revision.
func multiKey(payload []byte) bool {
	f := parse(payload, &wire.Events{})
	for i := 1; i < len(f.Changes); i++ {
		if f.Changes[i].ResourceVersion == f.Changes[i-1].ResourceVersion {
			return true
		}
	}
	return false
}

// frames passes each frame in data to handle. The set defines the valid frames of the
// direction.
func frames(set wire.Set, data []byte, handle func(wire.Frame)) {
	must(set.Each(data, func(_ wire.Type, f wire.Frame) error {
		handle(f)
		return nil
	}))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// bodies checks that a block of bodies expands and discloses only allowed objects.
func (t *tap) bodies(f *wire.SnapshotBodies) {
	w := t.link.driver.world
	if sub := t.find(f.Subscription); sub != nil {
		sub.bodies = sub.bodies && !f.Last
		if f.Objects > 0 {
			sub.body = api.Key(string([]byte(f.First)))
		}
	}
	if f.Objects == 1 && t.requested[fmt.Sprint(f.Subscription, f.First)] && !f.Last {
		w.saw(BodyFirst)
	}
	var b wire.Block
	versions := make([]api.ResourceVersion, f.Objects)
	for i := range versions {
		versions[i] = 1 << 62 // greater than every base
	}
	list, status := f.Expand(&b, versions)
	if status != nil {
		must(status)
	}
	t.discloseBodies(f.Subscription, f, list)
}
