package sim

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/sim/check"
	"github.com/watchglass/watchglass/core/wire"
)

// onReader returns an op that applies f to a random reader. It does nothing while the
// program of that reader is suspended.
func onReader(f func(*reader, *lite.Rand)) func(*world, *lite.Rand) {
	return func(w *world, r *lite.Rand) {
		rd := pick(r, w.readers...)
		if !rd.busy() {
			rd.drain()
			rd.noteTerminated()
			f(rd, r)
			rd.drain()
		}
	}
}

var namespaces = []string{"", "", "", "ns0", "ns1"}

func randomFilter(r *lite.Rand, kind int) check.Filter {
	f := check.Filter{Namespace: pick(r, namespaces...)}
	f.Labels = pick(r, "", "", "app=web", "app!=web", "app in (web,db)", "app notin (api)", "tier", "!tier", "app=web,tier", "tier in (t1,t2,t3,t4)")
	f.Fields = pick(r, "", "", "", "metadata.name=p3", "metadata.name!=p3", "metadata.namespace=ns1")
	if kind == pods {
		f.Fields = pick(r, f.Fields, f.Fields, "status.phase=Running", "status.phase!=Running", "spec.nodeName=n1,status.phase=Failed")
	}
	return f
}

func openCollection(rd *reader, r *lite.Rand) {
	c := &collection{id: rd.id32(), opened: rd.world.now, kind: pick(r, pods, pods, pods, secrets)}
	if r.Int63n(2) == 0 {
		c.filter = randomFilter(r, c.kind)
		c.filter.Fields = ""
	}
	if rd.right != "" {
		c.filter.Namespace = rd.right
		rd.trespass(lite.NewRand(r.Uint64()))
	}
	c.meta = r.Int63n(8) == 0 && rd.fetches == nil // direct requests are equal with and without bodies
	c.rows = r.Int63n(2) == 0
	rd.collections = append(rd.collections, c)
	rd.stepOpen(c, false)
}

// stepOpen opens a collection. Direct readers, and some readers of a connector, choose their
// columns.
func (rd *reader) stepOpen(c *collection, restore bool) {
	f := &wire.OpenCollection{
		Collection: c.id, Resource: resourceNames[c.kind], Namespace: c.filter.Namespace,
		LabelSelector: c.filter.Labels, MetadataOnly: c.meta, RowsFirst: c.rows, Restore: restore,
	}
	if rd.fetches != nil || rd.id%3 == 1 {
		f.Columns = schemaOf(c.kind).Columns
	}
	rd.step(f)
}

func (rd *reader) anyCollection(r *lite.Rand) *collection {
	if len(rd.collections) == 0 {
		openCollection(rd, r)
		rd.drain()
	}
	return pick(r, rd.collections...)
}

func closeCollection(rd *reader, r *lite.Rand) {
	if len(rd.collections) > 0 {
		rd.closeCollection(pick(r, rd.collections...))
	}
}

func (rd *reader) closeCollection(c *collection) {
	rd.collections = without(rd.collections, c)
	for _, w := range rd.watches {
		if w.collection == c {
			rd.forgetWatch(w)
		}
	}
	for _, v := range rd.views {
		if v.collection == c {
			rd.views = without(rd.views, v)
		}
	}
	rd.step(&wire.CloseCollection{Collection: c.id})
}

func openWatch(rd *reader, r *lite.Rand) {
	c := rd.anyCollection(r)
	f := wire.OpenWatch{Bookmarks: r.Int63n(3) > 0, Bodies: r.Int63n(4) == 0 && !c.meta}
	if r.Int63n(3) > 0 {
		filter := randomFilter(r, c.kind)
		f.Namespace, f.LabelSelector, f.FieldSelector = filter.Namespace, filter.Labels, filter.Fields
	}
	switch rv := c.reported.ResourceVersion; r.Int63n(6) {
	case 0:
		f.SendInitialEvents, f.Match = api.False, api.MatchNotOlderThan
	case 1:
		f.SendInitialEvents, f.Match = api.True, api.MatchNotOlderThan
		if rv > 0 {
			f.ResourceVersion = (rv + api.ResourceVersion(r.Int63n(4)) - 1).String()
		}
	case 2, 3:
		if rv > 0 {
			f.ResourceVersion = (rv - min(rv-1, api.ResourceVersion(r.Int63n(30)))).String()
		}
	}
	if r.Int63n(3) == 0 {
		f.Credit = uint32(pick(r, 1, 3, 10))
	}
	f.Policy = pick(r, api.PolicyTerminate, api.PolicyStall, api.PolicyStall, api.PolicyConflate)
	if r.Int63n(6) == 0 {
		f.TimeoutSeconds = uint32(1 + r.Int63n(60))
	}
	rd.openWatch(c, f, r.Int63n(3) > 0, nil)
}

// openSlowWatch opens a watch whose program accepts almost no events.
func openSlowWatch(rd *reader, r *lite.Rand) {
	rd.openWatch(rd.anyCollection(r), wire.OpenWatch{
		Bookmarks: true, Credit: uint32(pick(r, 1, 2, 30)), Policy: pick(r, api.PolicyTerminate, api.PolicyStall, api.PolicyStall, api.PolicyConflate),
	}, true, nil)
}

func closeWatch(rd *reader, r *lite.Rand) {
	if len(rd.watches) > 0 {
		w := pick(r, rd.watches...)
		rd.forgetWatch(w)
		rd.step(&wire.CloseWatch{Watch: w.id})
	}
}

func grant(rd *reader, r *lite.Rand) {
	for _, w := range rd.watches {
		if w.Limited && r.Int63n(2) == 0 {
			rd.grant(w, uint32(1+r.Int63n(12)))
		}
	}
}

func (rd *reader) grant(w *watch, events uint32) {
	stalled, last := w.granted == 0 && w.open.Policy == api.PolicyStall, w.last
	w.granted += events
	rd.step(&wire.GrantWatch{Watch: w.id, Events: events})
	rd.drain()
	if stalled && w.last > last && last > 0 {
		rd.world.saw(WatchStalled)
	}
}

func openView(rd *reader, r *lite.Rand) {
	c := rd.anyCollection(r)
	v := &view{id: rd.id32(), collection: c}
	f := randomFilter(r, c.kind)
	v.open = wire.OpenView{
		View: v.id, Collection: c.id, Namespaces: namespacesOf(f.Namespace, r), LabelSelector: f.Labels, FieldSelector: f.Fields,
		Sort:   pick(r, "", "name", "-name", "namespace"),
		Offset: uint32(pick(r, 0, 0, 2, 7)), Limit: uint32(pick(r, 3, 10, 100)),
	}
	if r.Int63n(3) == 0 {
		v.open.OwnedBy, v.open.Recursive = rd.world.source.ownerUID(r), r.Int63n(4) > 0
	}
	if c.kind == pods {
		v.open.Sort = pick(r, v.open.Sort, "Restarts", "-Restarts", "status.phase", "-status.phase",
			"status.phase,-Restarts", "spec.nodeName,-name")
		v.open.Where = pick(r, "", "", "Restarts>0 and spec.nodeName exists", "not (status.phase~run or restarts=0)")
		if by := pick(r, "", "status.phase", "spec.nodeName", "owner"); by != "" {
			facet := wire.Facet{By: by, Limit: wire.MaxFacetValues}
			if pick(r, false, true) {
				facet.Then, facet.RowsOnly, facet.Aggregates = "namespace", true, []string{"Restarts"}
			}
			v.open.Facets = []wire.Facet{facet}
		}
	}
	v.chooseAnchor(r)
	rd.views = append(rd.views, v)
	rd.step(&v.open)
}

// namespacesOf returns the namespaces of a view, sometimes with one that does not exist.
func namespacesOf(namespace string, r *lite.Rand) []string {
	switch {
	case namespace == "":
		return nil
	case r.Int63n(2) == 0:
		return []string{namespace, "absent"}
	}
	return []string{namespace}
}

func moveView(rd *reader, r *lite.Rand) {
	if len(rd.views) > 0 {
		v := pick(r, rd.views...)
		if r.Int63n(4) == 0 {
			v.paused = !v.paused
			return
		}
		v.open.Offset, v.open.Limit = uint32(r.Int63n(20)), uint32(1+r.Int63n(12))
		v.chooseAnchor(r)
		rd.step(&wire.MoveView{View: v.id, Offset: v.open.Offset, Limit: v.open.Limit, Anchor: v.open.Anchor, Before: v.open.Before})
	}
}

func closeView(rd *reader, r *lite.Rand) {
	if len(rd.views) > 0 {
		v := pick(r, rd.views...)
		rd.views = without(rd.views, v)
		rd.step(&wire.CloseView{View: v.id})
	}
}

func acquire(rd *reader, r *lite.Rand) { rd.acquire(r, r.Int63n(2) == 0) }

func (rd *reader) acquire(r *lite.Rand, onDemand bool) *handle {
	h := &handle{id: rd.id32(), onDemand: onDemand, kind: pick(r, pods, secrets, secrets)}
	h.key = rd.readable(h.kind, int(r.Int63n(6)))
	rd.handles = append(rd.handles, h)
	rd.step(&wire.AcquireObject{Handle: h.id, Resource: resourceNames[h.kind], Key: h.key, Owner: pick(r, "a", "b"), OnDemand: h.onDemand})
	return h
}

func release(rd *reader, r *lite.Rand) {
	if len(rd.handles) > 0 {
		rd.release(pick(r, rd.handles...))
	}
}

func (rd *reader) release(h *handle) {
	rd.handles = without(rd.handles, h)
	rd.step(&wire.ReleaseObject{Handle: h.id})
}

func getObject(rd *reader, r *lite.Rand) {
	if len(rd.handles) > 0 {
		rd.getObject(pick(r, rd.handles...))
	}
}

func (rd *reader) getObject(h *handle) {
	was, watches := h.watched, rd.inspected["objects.watches"]+rd.inspected["objects.covered"]
	q := &request{id: rd.id32(), object: h}
	rd.requests = append(rd.requests, q)
	rd.step(&wire.GetObject{Request: q.id, Resource: resourceNames[h.kind], Key: h.key})
	rd.drain()
	rd.inspect()
	if was && rd.inspected["objects.watches"]+rd.inspected["objects.covered"] > watches {
		rd.world.saw(IdleRestart)
	}
}

func list(rd *reader, r *lite.Rand) {
	c := rd.anyCollection(r)
	q := &request{id: rd.id32(), collection: c}
	f := randomFilter(r, c.kind)
	q.list = wire.List{
		Request: q.id, Collection: c.id, Namespace: f.Namespace, LabelSelector: f.Labels, FieldSelector: f.Fields,
		Limit: uint32(pick(r, 0, 0, 3, 10)), Bodies: r.Int63n(4) == 0 && !c.meta,
	}
	if rv := c.reported.ResourceVersion; rv > 0 && r.Int63n(2) == 0 {
		q.list.ResourceVersion = (rv - min(rv-1, api.ResourceVersion(r.Int63n(20)))).String()
		q.list.Match = pick(r, api.MatchUnset, api.MatchNotOlderThan, api.MatchExact)
	}
	rd.requests = append(rd.requests, q)
	rd.step(&q.list)
}

// opOpenRows opens a collection with rows first and reads objects before their bodies have
// arrived. Before it reads, it may break the connection, or corrupt or lose bodies.
func (w *world) opOpenRows(r *lite.Rand) {
	rd := pick(r, w.readers...)
	if rd.busy() || rd.fetches != nil {
		return
	}
	for _, c := range rd.collections {
		rd.closeCollection(c)
	}
	rd.drain()
	w.pass(10_000)
	if rd.busy() {
		return
	}
	rd.link.latency, rd.link.room = pick[int64](r, 5, 100), 1
	c := &collection{id: rd.id32(), opened: w.now, kind: pods, rows: true}
	c.filter.Namespace = pick(r, rd.right, rd.right, "ns1")
	if rd.right != "" {
		c.filter.Namespace = rd.right
	}
	rd.collections = append(rd.collections, c)
	faults := lite.NewRand(r.Uint64())
	faulty := faults.Int63n(3) == 0
	if faulty {
		rd.link.faultyBodies(faults)
	}
	rd.stepOpen(c, false)
	rd.drain()
	for i := 0; i < 200 && (!c.ready() || c.complete()) && !rd.busy(); i++ {
		w.pass(5)
	}
	if rd.busy() {
		return
	}
	for range r.Int63n(4) {
		rd.get(c, r)
		rd.drain()
	}
	for range r.Int63n(4) {
		w.opWrite(lite.NewRand(r.Uint64()))
	}
	w.pass(r.Int63n(2 * max(rd.link.latency, 5)))
	if r.Int63n(2) == 0 && !rd.busy() && !faulty {
		rd.drain()
		rd.link.cut(r)
		rd.drain()
	}
}

// listBodies reads all objects of a collection, with their bodies.
func (rd *reader) listBodies(c *collection) {
	q := &request{id: rd.id32(), collection: c}
	q.list = wire.List{Request: q.id, Collection: c.id, Bodies: true}
	rd.requests = append(rd.requests, q)
	rd.step(&q.list)
	rd.drain()
}

func get(rd *reader, r *lite.Rand) { rd.get(rd.anyCollection(r), r) }

func (rd *reader) get(c *collection, r *lite.Rand) {
	q := &request{id: rd.id32(), collection: c, get: keyOf(c.kind, int(r.Int63n(24))), asked: rd.world.now}
	rd.requests = append(rd.requests, q)
	rd.step(&wire.Get{Request: q.id, Collection: c.id, Key: q.get})
}
