package session

import (
	"math"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/dispatch"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/watcher"
	"github.com/watchglass/watchglass/core/wire"
)

// freshnessMillis is how long a subscription waits for a version that this
// connector has not reached (rule C34).
const freshnessMillis = 3000

// bodies records which bodies are still to be sent to a reader that requested rows first.
type bodies struct {
	next      api.Key // the bodies of all earlier keys were sent
	done      bool
	requested []api.Key // keys whose bodies are sent first
}

type phase uint8

const (
	opening   phase = iota // waiting for the collection
	listing                // sending parts of a snapshot
	replaying              // sending the changes since the last part
	live
)

// subscription is the state of one subscription of a reader to a collection.
type subscription struct {
	// Fields that every message needs come first, because the subscriptions of a
	// thousand readers do not fit into the processor cache.
	session         *Session
	id              uint32
	phase           phase
	metadataOnly    bool
	stores          bool   // belongs to a SnapshotReader
	rowsFirst       bool   // bodies are sent after the snapshot
	restored        bool   // continues a subscription of another session that has sent the schema and a state
	dictionary      uint32 // the cacher's number of the dictionary in the last schema
	cacher          *cacher.Cacher
	filter          *watcher.Filter
	computed        *computed          // columns that the reader chose; nil for those of the collection
	follower        *dispatch.Follower // positioned at the next event to send
	collection      *Collection
	frame           *frameBuffer // shared by the subscriptions of the collection
	credit          int64
	rv              api.ResourceVersion
	generation      int    // window generation in which the follower's position is valid
	clusterID       string // cluster ID of the versions: the reader's before begin, and the cacher's afterwards
	deltaEpoch      uint64 // delta epoch of the versions above deltaEpochSince: the reader's before begin, and the cacher's afterwards
	deltaEpochSince api.ResourceVersion
	progressed      int64        // the source's confirmation time in the last progress report
	reported        int64        // time of the last report; zero causes an immediate report
	awaited         confirmation // progress to report when the reader reaches its version
	moves           int64        // earliest time to send the next Events frame without events
	sourceErrorSent int64        // when the last SourceError was sent; zero if there is no problem
	faultMark       int          // the cacher's fault counter when faults were last reported
	labelSets       knownLabelSets
	ownLabelSets    ownLabelSets
	sourceError     *api.Status

	resource     api.Resource
	namespace    string
	labels       string              // label selector, as the reader wrote it
	fields       string              // field selector, as the reader wrote it
	cost         int                 // cost of the selectors
	from         api.ResourceVersion // version to resume from; zero for a new snapshot
	notOlderThan api.ResourceVersion
	deadline     int64   // time by which notOlderThan must be reached; zero before the wait begins
	next         api.Key // next key of the snapshot; empty if the reader resumes from a complete state
	bodies       *bodies // bodies to send while live; nil unless the reader requested rows first
}

func newSubscription(session *Session, r *Request, collection *Collection, wake func()) (*subscription, *api.Status) {
	c, f, namespace := collection.cacher, r.Frame, lite.Clone(r.Frame.Namespace)
	filter, status := watcher.NewFilter(c.Arena(), c.Schema(), namespace, r.Selection)
	if status != nil {
		return nil, status
	}
	computed, status := session.cfg.newComputed(r.Columns, c.Schema())
	if status != nil {
		return nil, status
	}
	if shard := session.cfg.Shard; !shard.Whole() {
		if !c.Schema().Namespaced {
			return nil, api.BadRequest(r.Resource.String() + " is not namespaced, but this server serves a shard of the namespaces")
		}
		filter.Within(shard)
	}
	if meter := session.cfg.Meter; meter != nil {
		filter.Meter(meter)
	}
	if computed != nil {
		filter.MeterAll()
	}
	sub := &subscription{
		session: session, id: f.Subscription, resource: r.Resource, cacher: c, filter: filter, computed: computed, namespace: namespace,
		collection: collection, frame: &collection.frame,
		labels: f.LabelSelector, fields: f.FieldSelector, cost: r.Selection.Cost(), metadataOnly: f.MetadataOnly, from: f.ResourceVersion,
		notOlderThan: max(f.NotOlderThan, f.ResourceVersion), clusterID: lite.Clone(f.ClusterID),
		deltaEpoch: f.DeltaEpoch, deltaEpochSince: f.DeltaEpochSince, next: api.Key(lite.Clone(string(f.SnapshotFrom))),
	}
	sub.askBodies(f)
	sub.follower = c.Follow(filter, wake)
	collection.subscriptions++
	sub.grant(f.Credit)
	return sub, nil
}

func (s *subscription) close() {
	s.follower.Close()
	s.collection.subscriptions--
}

func (s *subscription) grant(bytes uint64) {
	if bytes > math.MaxInt64/2 {
		bytes = math.MaxInt64 / 2
	}
	s.credit = min(s.credit+int64(bytes), math.MaxInt64/2)
}

// fill appends pending output to a message, up to about limit bytes, or returns the
// reason why the subscription ends.
func (s *subscription) fill(message []byte, limit int) ([]byte, *api.Status) {
	message, status := s.fillData(s.appendSourceError(message), limit)
	if status != nil {
		return message, status
	}
	message = s.appendProgress(message)
	s.await()
	return message, nil
}

// fillData appends the schema, faults, objects and events. If the collection turns out
// to be corrupt, or a column cannot be computed, it appends nothing and returns the
// reason.
func (s *subscription) fillData(message []byte, limit int) ([]byte, *api.Status) {
	before, defined := len(message), len(s.session.dictionaries)
	message, status := s.appendData(message, limit)
	failure := s.cacher.Restored().Corrupt()
	if failure == nil {
		failure = s.broken()
	}
	if failure != nil {
		s.session.dictionaries = s.session.dictionaries[:defined]
		return message[:before], failure
	}
	return message, status
}

func (s *subscription) appendData(message []byte, limit int) ([]byte, *api.Status) {
	if s.filter.Exhausted() && s.phase == opening {
		return message, nil
	}
	if s.phase == opening {
		ready, status := s.begin(s.session.now)
		if !ready || status != nil {
			return message, status
		}
		message = s.appendStart(message)
	}
	if status := s.checkPosition(); status != nil {
		return message, status
	}
	message = s.appendFaults(message)
	for !s.session.full(message, limit) && s.credit > 0 && !s.filter.Exhausted() {
		before := len(message)
		message = s.advance(message, limit)
		if len(message) == before {
			break
		}
	}
	return message, nil
}

// caughtUp reports whether the reader is live and has been sent all events.
func (s *subscription) caughtUp() bool {
	return s.phase == live && s.follower.Position() == s.cacher.Window().End()
}

// starved reports whether data is pending but credit is exhausted.
func (s *subscription) starved() bool {
	return s.credit <= 0 && s.phase != opening && !(s.caughtUp() && !s.owesBodies())
}

// usesOtherDictionary reports whether the body of a version uses a different
// dictionary than the current frame.
func (s *subscription) usesOtherDictionary(ref store.Ref) bool {
	return !s.omitsBodies() && s.cacher.Arena().Dictionary(ref) != s.dictionary
}

// checkPosition returns a status that ends the subscription if the source has changed, or
// if the window no longer contains the next event (rule H8). A reader without credit
// learns about eviction only when it grants more. Eviction wakes no reader.
func (s *subscription) checkPosition() *api.Status {
	window := s.cacher.Window()
	if s.clusterID != s.cacher.Upstream().ClusterID() {
		return otherSource()
	}
	if s.generation != s.cacher.Window().Generation() {
		s.collection.relisted()
		if s.phase != live {
			return api.Expired("the collection was relisted while the snapshot was being sent")
		}
		s.rv = max(s.rv, s.follower.Rested())
		position, status := window.After(s.rv)
		s.follower.MoveTo(position)
		s.generation = s.cacher.Window().Generation()
		s.deltaEpochSince = s.rv
		return status
	}
	if s.credit > 0 && s.follower.Position() < window.Start() {
		_, status := window.After(s.rv)
		if status == nil {
			status = api.Expired("too old resource version: " + s.rv.String())
		}
		return status
	}
	return nil
}

func otherSource() *api.Status {
	return api.Expired("the resource versions of the collection now belong to a different source; list again")
}

// advance appends the next data frame, if there is one.
func (s *subscription) advance(message []byte, limit int) []byte {
	switch s.phase {
	case listing:
		// Changes precede parts, so that the reader can continue from any part.
		if s.follower.Position() < s.cacher.Window().End() {
			return s.appendEvents(message, limit)
		}
		if message, ok := s.tryBlock(message); ok {
			return message
		}
		return s.appendPart(message, limit)
	case replaying:
		if s.follower.Position() < s.cacher.Window().End() {
			before := len(message)
			if message = s.appendEvents(message, limit); len(message) > before {
				return message
			}
			if s.follower.Position() < s.cacher.Window().End() {
				return message // the meter is exhausted
			}
			// None of the remaining events matched. The snapshot ends now, because the
			// next matching event may arrive much later.
		}
		if s.rowsFirst {
			s.dictionary = noSchemaSent // bodies follow, so the reader needs their dictionary
		}
		s.phase, s.rv, s.next = live, s.cacher.ResourceVersion(), ""
		s.ownLabelSets = nil // later changes use few label sets of the snapshot
		s.progressed = s.cacher.Upstream().Progressed()
		return (&wire.SnapshotEnd{Subscription: s.id, ResourceVersion: s.rv}).Append(message)
	}
	before := len(message)
	message = s.appendEvents(message, limit)
	if len(message) == before && s.caughtUp() && s.owesBodies() {
		message = s.appendBodies(message)
	}
	return message
}

// appendPart appends a SnapshotPart with the next objects in key order.
func (s *subscription) appendPart(message []byte, limit int) []byte {
	room := limit - len(message)
	s.reset()
	last, done := api.Key(""), true
	s.cacher.State().Ascend(s.next, func(ref store.Ref) bool {
		key := s.cacher.Arena().Key(ref)
		if !key.InNamespace(s.namespace) {
			return false
		}
		if room <= 0 || s.filter.Exhausted() {
			done = false
			return false
		}
		matches := s.filter.Matches(ref)
		if len(s.frame.Changes) > 0 && (matches && s.usesOtherDictionary(ref) || s.startsStored(ref)) {
			done = false
			return false
		}
		last = key
		if matches {
			message = s.addObject(message, api.Added, ref, 0, 0)
			room -= s.lastSize()
		}
		return true
	})
	next := s.next
	if last != "" {
		next = api.Key(string(last) + "\x00")
	}
	s.advanceTo(next, done)
	if len(s.frame.Changes) == 0 {
		// No object in this range matched. An empty part reports progress to the
		// reader and keeps the caller's loop going.
		return s.charge(message, (&wire.SnapshotPart{Subscription: s.id}).Append(message))
	}
	return s.charge(message, (&wire.SnapshotPart{Subscription: s.id, Objects: s.frame.Changes}).Append(message))
}

// charge subtracts the size of an appended data frame from the credit, and returns the
// message with the frame. The reader subtracts the same sizes, so both sides agree on
// the credit.
func (s *subscription) charge(before, after []byte) []byte {
	s.credit -= int64(len(after) - len(before))
	return after
}

// appendEvents appends a frame with the next events: as many whole revisions as fit, and at
// least one. During a snapshot, it omits objects that later parts contain. The frame then
// reports the version even if it has no changes.
func (s *subscription) appendEvents(message []byte, limit int) []byte {
	window := s.cacher.Window()
	room := limit - len(message)
	if message, ok := s.appendEncoded(message, room); ok {
		return message
	}
	s.reset()
	position := s.follower.Position()
	from, oldest := position, noneHeld
	for ; position < window.End(); position++ {
		e := window.At(position)
		if e.ResourceVersion != s.rv && (room <= 0 || s.filter.Exhausted() || s.needsNewFrame(position)) {
			break
		}
		s.rv = e.ResourceVersion
		t, content, ok := s.filter.Convert(e)
		if !ok || s.phase == listing && s.cacher.Arena().Key(content) >= s.next {
			continue
		}
		if t == api.Deleted {
			s.frame.Changes = append(s.frame.Changes, wire.Change{
				Type: t, ResourceVersion: e.ResourceVersion, Key: s.cacher.Arena().Key(content),
			})
			room -= 64
			continue
		}
		held := s.held(t, e)
		if t == api.Modified {
			oldest = min(oldest, s.cacher.Arena().ResourceVersion(e.Previous))
		}
		message = s.addObject(message, t, content, held, position)
		room -= s.lastSize()
	}
	s.follower.MoveTo(position)
	if len(s.frame.Changes) == 0 && (s.phase != listing || position == from) {
		return message
	}
	return s.encode(message, from, position, oldest)
}

func (s *subscription) reset() {
	s.ownLabelSets.limit(s.session.cfg.LabelSets)
	s.frame.Changes, s.frame.Bytes = s.frame.Changes[:0], s.frame.Bytes[:0]
}

// needsNewFrame reports whether the revision at a position needs a new frame, because
// all bodies of a frame use one dictionary. The bodies of one revision always use the same
// dictionary, because they arrived in one frame.
func (s *subscription) needsNewFrame(position int) bool {
	window := s.cacher.Window()
	for rv := window.At(position).ResourceVersion; len(s.frame.Changes) > 0 && position < window.End(); position++ {
		switch e := window.At(position); {
		case e.ResourceVersion != rv:
			return false
		case e.Current != 0 && s.usesOtherDictionary(e.Current):
			return true
		}
	}
	return false
}

// addObject adds a version to the current frame. If held is not zero, it adds the
// difference from held, which must be the previous version of the event at position. It
// first defines the label set if the set is new to the reader.
func (s *subscription) addObject(message []byte, t api.EventType, ref, held store.Ref, position int) []byte {
	arena := s.cacher.Arena()
	if s.usesOtherDictionary(ref) { // the frame has only deletions, see needsNewFrame
		message = s.appendSchema(message, arena.Dictionary(ref), s.cacher.Bodies().Dictionary(ref))
	}
	c := wire.Change{
		Type: t, ResourceVersion: arena.ResourceVersion(ref), Flags: arena.Flags(ref),
	}
	message, c.LabelSet = s.defineLabelSet(message, arena.LabelSet(ref))
	if !s.omitsBodies() {
		c.Base = s.base(ref, held)
	}
	s.setEnvelope(&c, ref, held, position)
	s.frame.Changes = append(s.frame.Changes, c)
	return message
}

// appendFaults appends an ObjectError for each fault that was not reported before.
func (s *subscription) appendFaults(message []byte) []byte {
	list, mark := s.cacher.Faults()
	fresh, first := min(mark-s.faultMark, len(list)), s.faultMark == 0
	s.faultMark = mark
	for _, f := range list[len(list)-fresh:] {
		// Not every retraction is sent. The first call skips all of them before a snapshot,
		// which has no deleted objects, and skips those up to the version that the reader
		// resumes from. Every call skips the retraction of an object that exists again and
		// matches, because the object arrives anyway.
		known := f.Retracted() && (first && (s.from == 0 || f.ResourceVersion <= s.from) ||
			s.filter.Matches(s.cacher.State().Get(f.Key)))
		if s.filter.Covers(f.Key) && !known {
			message = (&wire.ObjectError{
				Subscription: s.id, Key: f.Key, ResourceVersion: f.ResourceVersion, Status: f.Status,
			}).Append(message)
		}
	}
	return message
}
