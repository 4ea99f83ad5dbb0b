package sim

import (
	"sort"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/body"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/deflate"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/sim/check"
	"github.com/watchglass/watchglass/core/store"
)

const heartbeatMillis = 2000

// sourceGone returns the error that a disconnected connector reports. The error names an
// object, like the error of a server that cannot decode that object.
func (w *world) sourceGone(kind int) *api.Status {
	return api.Unavailable(lostLeader + " while it sent " + w.source.sentinel(kind, keyOf(kind, 1)))
}

const lostLeader = "the source has lost its leader"

// feed is a connector's watch of one resource.
type feed struct {
	cacher *cacher.Cacher
	served *session.Collection // serves the cacher to sessions
	kind   int
	encode func(dst, json []byte) api.Body // nil for plain bodies
	source *source                         // the source of its state; nil before the first list
	next   int                             // index of the next revision
	beat   int64                           // time of the next progress report
	target api.ResourceVersion             // the source's version when beat was set
	broken bool                            // the feed must relist
}

// connector is one replica: it has a cacher for each resource, and may lag behind the
// source.
type connector struct {
	world     *world
	id        int
	feeds     [kinds]*feed
	lag       int64
	asks      bool  // it requests progress from its source, and confirms progress only after the response
	cutOff    int64 // when data from the source arrives again
	gone      int64 // when it detected that it is disconnected; zero if it has not
	downUntil int64 // when it accepts connections again
	restarts  int
	open      int // number of subscriptions that were not released
	accepted  int // number of accepted sessions
	rand      *lite.Rand
}

func (c *connector) start() {
	c.world.lineage++
	c.rand = lite.NewRand(c.world.lineage)
	for k := range kinds {
		limits := history.Limits{MinCapacity: c.world.setup.History, MaxCapacity: c.world.setup.History}
		f := &feed{cacher: cacher.New(cacher.Config{Schema: schemaOf(k), History: limits, DeltaEpoch: c.world.lineage << 32}), kind: k, encode: c.world.codecs[k].Encode}
		f.served = session.NewCollection(f.cacher)
		if f.encode != nil {
			f.cacher.Bodies().SetDictionary(c.world.codecs[k].Dictionary)
		}
		c.feeds[k] = f
	}
}

// restart drops all state and connections.
func (c *connector) restart() {
	c.world.hangUp(c, "the connector restarts")
	c.checkArenas()
	c.start()
	c.restarts++
	if c.gone != 0 {
		c.fail()
	}
}

// fail records that the connector has detected the loss of its source.
func (c *connector) fail() {
	c.gone = c.world.now
	for k, f := range c.feeds {
		f.cacher.Upstream().Fail(c.world.sourceGone(k))
	}
}

// visible counts the revisions of the source that have reached the connector.
func (c *connector) visible() int {
	revisions := c.world.source.revisions
	return sort.Search(len(revisions), func(i int) bool { return revisions[i].at+c.lag > c.world.now })
}

func (c *connector) pull() bool {
	if c.world.now < c.cutOff {
		return false
	}
	c.gone = 0
	moved := false
	for k, f := range c.feeds {
		moved = c.follow(k, f) || moved
	}
	return moved
}

func (c *connector) follow(kind int, f *feed) bool {
	w, s := c.world, c.world.source
	f.cacher.Tick(w.now)
	n := c.visible()
	lost := f.next < len(s.revisions) && s.revisions[f.next].rv <= s.compacted
	if f.source != s || f.broken || lost && f.next < n {
		switch {
		case f.source != s:
		case f.broken:
			w.saw(SourceRelisted)
		default:
			w.saw(SourceCompacted)
		}
		if c.asks {
			n = len(s.revisions) // such a connector lists the newest state, without lag
		}
		c.list(kind, f, max(n, f.position(s), s.compactedIndex()))
		return true
	}
	moved := false
	for ; f.next < n; f.next++ {
		rev := &s.revisions[f.next]
		for i := range rev.changes {
			if ch := &rev.changes[i]; ch.kind == kind {
				c.apply(f, ch, rev.rv)
				moved = true
			}
		}
	}
	if w.now >= f.beat {
		moved = c.confirmProgress(f) || moved
		f.beat, f.target = w.now+heartbeatMillis, s.rv
	}
	return moved
}

// confirmProgress reports progress to the cacher, and returns whether it did. A connector
// that requests progress withholds the report until it has a recent confirmation from the
// source.
func (c *connector) confirmProgress(f *feed) bool {
	if c.asks && (f.rv() < f.target || c.world.now >= f.beat+heartbeatMillis) {
		c.world.saw(ProgressWithheld)
		return false
	}
	f.cacher.Progress(f.rv(), c.world.now)
	return true
}

// position returns the index of the feed's next revision in a source. The result is zero
// if the feed does not follow that source.
func (f *feed) position(s *source) int {
	if f.source == s {
		return f.next
	}
	return 0
}

// compactedIndex returns the number of revisions in the oldest state that can be
// listed.
func (s *source) compactedIndex() int {
	n := 0
	for n < len(s.revisions) && s.revisions[n].rv <= s.compacted {
		n++
	}
	return n
}

func (f *feed) rv() api.ResourceVersion {
	if f.next == 0 {
		return f.source.first()
	}
	return f.source.revisions[f.next-1].rv
}

// first returns the version before the first revision.
func (s *source) first() api.ResourceVersion {
	return s.rv - api.ResourceVersion(len(s.revisions))
}

func (c *connector) apply(f *feed, ch *change, rv api.ResourceVersion) {
	now := c.world.now
	switch {
	case ch.fault != nil:
		f.cacher.Fault(ch.key, rv, ch.fault, now)
	case ch.put == nil:
		f.cacher.Delete(ch.key, rv, now)
	default:
		if status := f.cacher.Apply(c.encode(f, ch.put), now); status != nil {
			c.world.fail(ErrProtocol, "connector %d: %v", c.id, status)
		}
	}
}

// encoded returns an update with its body compressed. All connectors share the result.
func (c *connector) encoded(f *feed, p *cacher.Update) *cacher.Update {
	if f.encode == nil {
		return p
	}
	compressed := c.world.compressed[p]
	if compressed == nil {
		made := *p
		made.Envelope = p.Envelope.AppendWithBody(nil, f.encode(nil, p.Envelope.Body().Data))
		compressed = &made
		c.world.compressed[p] = compressed
	}
	return compressed
}

// list replaces the state of a feed with the source's state after n revisions.
func (c *connector) list(kind int, f *feed, n int) {
	s := c.world.source
	f.source, f.next, f.broken = s, n, false
	f.cacher.Upstream().SetClusterID(s.name)
	f.cacher.Listing().Begin()
	latest := map[api.Key]*change{}
	for i := range s.revisions[:n] {
		for j := range s.revisions[i].changes {
			if ch := &s.revisions[i].changes[j]; ch.kind == kind {
				latest[ch.key] = ch
			}
		}
	}
	for _, key := range s.logs[kind].Keys() {
		ch := latest[key]
		switch {
		case ch == nil:
		case ch.fault != nil:
			f.cacher.Fault(key, s.logs[kind].At(key, f.rv()).ResourceVersion, ch.fault, c.world.now)
		case ch.put == nil:
		default:
			f.cacher.Listing().Object(c.encoded(f, ch.put))
		}
	}
	f.cacher.Listing().End(f.rv(), c.world.now)
	f.beat, f.target = c.world.now+heartbeatMillis, s.rv
}

// nextEvent returns the time of the next action that the connector takes by itself.
func (c *connector) nextEvent() int64 {
	w := c.world
	next := earlier(0, c.downUntil, w.now)
	if w.now < c.cutOff {
		return earlier(next, c.cutOff, w.now)
	}
	n := c.visible()
	if n < len(w.source.revisions) {
		next = earlier(next, w.source.revisions[n].at+c.lag, w.now)
	}
	for _, f := range c.feeds {
		next = earlier(next, f.beat, w.now)
	}
	return next
}

// earlier returns the earlier of the times a and b. It ignores a if a is zero, and b unless b
// is after now.
func earlier(a, b, now int64) int64 {
	if b > now && (a == 0 || b < a) {
		return b
	}
	return a
}

// checkArenas checks that the arenas hold only the versions of the state and the history.
func (c *connector) checkArenas() {
	for k, f := range c.feeds {
		if f == nil || f.source == nil {
			continue
		}
		if n := f.cacher.Window().End() - f.cacher.Window().Start(); n > c.world.setup.History {
			c.world.fail(ErrMemory, "connector %d keeps %d events of %s, more than %d", c.id, n, resourceNames[k], c.world.setup.History)
		}
		held, blocks := map[store.Ref]bool{}, map[uint32]bool{}
		hold := func(ref store.Ref) bool {
			arena := f.cacher.Arena()
			for ; ref != 0; ref = arena.Base(ref) {
				held[ref] = true
				if block := arena.Block(ref); block != 0 {
					blocks[block] = true
				}
			}
			return true
		}
		f.cacher.State().Ascend("", hold)
		for i := f.cacher.Window().Start(); i < f.cacher.Window().End(); i++ {
			hold(f.cacher.Window().At(i).Previous)
		}
		if got := f.cacher.Arena().Versions(); got != len(held) {
			c.world.fail(ErrLeak, "connector %d holds %d versions of %s, and %d are in its state and history", c.id, got, resourceNames[k], len(held))
		}
		if got := f.cacher.Arena().Blocks(); got != len(blocks) {
			c.world.fail(ErrLeak, "connector %d holds %d blocks of %s, and %d have bodies", c.id, got, resourceNames[k], len(blocks))
		}
		if len(blocks) > 0 {
			c.world.saw(BlockShared)
		}
	}
}

func (c *connector) at(kind int) (*source, api.ResourceVersion) {
	f := c.feeds[kind]
	if f.source == nil {
		return nil, 0
	}
	return f.source, f.rv()
}

func (c *connector) blind() int64 {
	if c.world.now < c.cutOff {
		return 0 // the connector must detect this outage itself
	}
	return c.cutOff + staleMillis
}

func (c *connector) failing() int64 { return c.gone }

func (c *connector) levels() int64 { return 1 }

// Collection implements session.Backend.
func (c *connector) Collection(r *session.Request) (*session.Collection, *api.Status) {
	for k, f := range c.feeds {
		if resourceNames[k] == r.Resource.String() {
			c.open++
			return f.served, nil
		}
	}
	return nil, api.NotFound("no such resource")
}

// Release implements session.Backend.
func (c *connector) Release(api.Resource) { c.open-- }

// accept starts a session, or returns nil while the connector is down. The link polls the
// session only after a wake-up.
func (c *connector) accept(l *link) peer {
	if c.world.now < c.downUntil {
		return nil
	}
	l.woken = true
	config := session.Config{Server: "sim", ProgressMillis: progressMillis, LabelSets: 2, Decode: new(body.Decoder).Decode, Meter: l.allowance.limit()}
	if c.accepted++; c.accepted%4 != 0 { // the other sessions send parts
		config.Deflate = deflate.Sections
	}
	return session.New(config, backend{c, l})
}

// backend implements session.Backend for one session of a connector.
type backend struct {
	*connector
	link *link
}

// Wake implements session.Backend.
func (b backend) Wake() { b.link.woken = true }

// Collection implements session.Backend. It rejects a reader that is not authorized for
// the requested scope.
func (b backend) Collection(r *session.Request) (*session.Collection, *api.Status) {
	if !b.link.driver.mayRead(api.Scope{Namespace: r.Frame.Namespace}) {
		return nil, api.Forbidden("this reader may read one namespace")
	}
	return b.connector.Collection(r)
}

// versionOf converts an object for the validators. It reads the declared fields from an
// envelope whose schema may have more fields.
func versionOf(declared, schema api.Schema, rv api.ResourceVersion, labels api.Labels, e envelope) *check.Object {
	o := &check.Object{UID: string([]byte(e.UID())), ResourceVersion: rv, Labels: map[string]string{}, Fields: map[string]string{}}
	o.Owner = string([]byte(labels.Owner()))
	for _, l := range labels.WithoutOwner() {
		o.Labels[string([]byte(l.Key))] = string([]byte(l.Value))
	}
	for _, name := range declared.Fields {
		o.Fields[name] = string([]byte(e.Field(schema.Field(name))))
	}
	for _, c := range declared.Columns {
		if c.Kind == api.Integer {
			o.Fields[c.Name] = e.Column(schema.Column(c.Name)).String()
		}
	}
	return o
}
