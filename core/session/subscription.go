package session

import (
	"math"
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/watcher"
	"github.com/watchglass/watchglass/core/wire"
)

// freshnessMillis is how long a subscription waits for a version that this
// connector has not seen (rule C34).
const freshnessMillis = 3000

type phase uint8

const (
	opening   phase = iota // not yet answered
	listing                // parts of a snapshot
	replaying              // the changes since the snapshot began
	live
)

// subscription is how far one reader has been sent one collection.
type subscription struct {
	// What every message needs comes first: the subscriptions of a thousand readers
	// are not in the processor's cache.
	session      *Session
	id           uint32
	phase        phase
	metadataOnly bool
	introduced   bool   // before this session: the reader has the schema and a state
	dictionary   uint32 // the cacher's number of the one last described
	cacher       *cacher.Cacher
	filter       *watcher.Filter
	follower     *cacher.Follower // at the next event to send
	frame        *cacher.Frame    // the cacher's
	credit       int64
	rv           api.ResourceVersion
	generation   int    // of the cacher that the follower's position belongs to
	source       string // of the versions: the reader's, then the cacher's
	bases        uint64 // that the reader has above basesSince, then the cacher's
	basesSince   api.ResourceVersion
	progressed   int64 // the cacher's Progressed that was last reported
	reported     int64 // when that was; zero makes a reader that resumed or asked hear at once
	awaited      vouch // the next to be reported
	moves        int64 // when the reader may be told next of a version without changes
	excused      int64 // when the reader was last told why there is no news; zero while there is
	faultMark    int   // faults reported
	labelSets    knownLabelSets
	ownLabelSets ownLabelSets
	excuse       *api.Status

	resource     api.Resource
	namespace    string
	labels       string // its selectors, as the reader wrote them
	fields       string
	cost         int                 // of the selectors
	from         api.ResourceVersion // resume from here; zero for a snapshot
	notOlderThan api.ResourceVersion
	deadline     int64   // of waiting for notOlderThan; zero until waiting
	next         api.Key // of the snapshot
}

func newSubscription(session *Session, r *Request, c *cacher.Cacher, wake func()) (*subscription, *api.Status) {
	f, namespace := r.Frame, strings.Clone(r.Frame.Namespace)
	filter, status := c.NewFilter(namespace, r.Selection)
	if status != nil {
		return nil, status
	}
	if shard := session.cfg.Shard; !shard.Whole() {
		if !c.Schema().Namespaced {
			return nil, api.BadRequest(r.Resource.String() + " has no namespaces, and what is served here is divided by namespace")
		}
		filter.Within(shard)
	}
	sub := &subscription{
		session: session, id: f.Subscription, resource: r.Resource, cacher: c, filter: filter, frame: c.Frame(), namespace: namespace,
		labels: f.LabelSelector, fields: f.FieldSelector, cost: r.Selection.Cost(), metadataOnly: f.MetadataOnly, from: f.ResourceVersion,
		notOlderThan: max(f.NotOlderThan, f.ResourceVersion), source: strings.Clone(f.Source),
		bases: f.Bases, basesSince: f.BasesSince,
	}
	sub.follower = c.Follow(filter, wake)
	sub.grant(f.Credit)
	return sub, nil
}

func (s *subscription) close() { s.follower.Close() }

func (s *subscription) grant(bytes uint64) {
	if bytes > math.MaxInt64/2 {
		bytes = math.MaxInt64 / 2
	}
	s.credit = min(s.credit+int64(bytes), math.MaxInt64/2)
}

// fill appends what the subscription has to say now to a message, up to about
// limit bytes, or says why it ends.
func (s *subscription) fill(message []byte, limit int) ([]byte, *api.Status) {
	message, status := s.fillData(s.appendExcuse(message), limit)
	if status != nil {
		return message, status
	}
	message = s.appendProgress(message)
	s.await()
	return message, nil
}

// fillData does so for all but progress. Nothing is told of a collection that turns
// out not to be whole while it is read.
func (s *subscription) fillData(message []byte, limit int) ([]byte, *api.Status) {
	before, told := len(message), len(s.session.dictionaries)
	message, status := s.appendData(message, limit)
	if damage := s.cacher.Damaged(); damage != nil {
		s.session.dictionaries = s.session.dictionaries[:told]
		return message[:before], damage
	}
	return message, status
}

func (s *subscription) appendData(message []byte, limit int) ([]byte, *api.Status) {
	if s.phase == opening {
		ready, status := s.begin(s.session.now)
		if !ready || status != nil {
			return message, status
		}
		message = s.introduce(message)
	}
	if status := s.checkPosition(); status != nil {
		return message, status
	}
	message = s.appendFaults(message)
	for len(message) < limit && s.credit > 0 {
		before := len(message)
		message = s.advance(message, limit)
		if len(message) == before {
			break
		}
	}
	return message, nil
}

// caughtUp: there is nothing more to send for now.
func (s *subscription) caughtUp() bool {
	return s.phase == live && s.follower.Position() == s.cacher.Window().End()
}

// starved: there is something to send, and no credit for it.
func (s *subscription) starved() bool {
	return s.credit <= 0 && s.phase != opening && !s.caughtUp()
}

// begin decides between resuming and a snapshot, once the collection is ready
// and as new as the reader asked for.
func (s *subscription) begin(now int64) (ready bool, status *api.Status) {
	c := s.cacher
	if !c.Ready() {
		return false, nil
	}
	if s.source != c.Source() {
		if s.introduced {
			return false, otherSource()
		}
		// Versions of another history say nothing about this one.
		s.source, s.from, s.notOlderThan = c.Source(), 0, 0
	}
	if c.ResourceVersion() < s.notOlderThan {
		if s.deadline == 0 {
			s.deadline = now + freshnessMillis
		}
		if now < s.deadline {
			return false, nil
		}
		return false, api.TooLargeResourceVersion(s.notOlderThan, c.ResourceVersion())
	}
	s.generation = c.Generation()
	if s.bases != c.Bases() || s.bases == 0 {
		s.bases, s.basesSince = c.Bases(), s.from
	}
	if s.from == 0 {
		s.basesSince = 0
		s.phase, s.rv = listing, c.ResourceVersion()
		s.follower.MoveTo(c.Window().End())
		if s.namespace != "" {
			s.next = api.Key(s.namespace + "/")
		}
		return true, nil
	}
	position, status := c.Window().After(s.from)
	s.follower.MoveTo(position)
	s.phase, s.rv = live, s.from
	return true, status
}

// introduce sends what the reader needs to understand what follows.
func (s *subscription) introduce(message []byte) []byte {
	if s.introduced && s.phase == live {
		s.dictionary = undescribed
		return message
	}
	number, dictionary := s.cacher.CurrentDictionary()
	message = s.describe(message, number, dictionary)
	if s.phase == listing {
		begin := wire.SnapshotBegin{Subscription: s.id, ResourceVersion: s.rv, Total: uint64(s.cacher.Count(s.filter))}
		message = begin.Append(message)
	}
	return message
}

// describe sends the schema, with what the bodies that follow are compressed with.
func (s *subscription) describe(message []byte, number uint32, dictionary []byte) []byte {
	s.dictionary = number
	schema := wire.Schema{Subscription: s.id, Schema: *s.cacher.Schema(), Source: s.source, Bases: s.bases}
	if len(dictionary) > 0 && !s.metadataOnly {
		schema.Dictionary = dictionaryID(dictionary)
		message = s.session.appendDictionary(message, schema.Dictionary, dictionary)
	}
	return schema.Append(message)
}

// describeAnew has whatever comes next described as if nothing had been before, but
// for dictionaries.
func (s *subscription) describeAnew() {
	s.dictionary = undescribed
	clear(s.labelSets)
}

// otherDictionary: the body of a version is compressed with something else than
// those of the frame that is being built.
func (s *subscription) otherDictionary(ref store.Ref) bool {
	return !s.metadataOnly && s.cacher.Heap().Dictionary(ref) != s.dictionary
}

// checkPosition ends a subscription whose next event is no longer in the
// window, be it evicted or replaced by a relist (rule H8). A reader without
// credit hears of the former when it takes something again: nobody is woken for
// what falls out of the window.
func (s *subscription) checkPosition() *api.Status {
	window := s.cacher.Window()
	if s.source != s.cacher.Source() {
		return otherSource()
	}
	if s.generation != s.cacher.Generation() {
		if s.phase != live {
			return api.Expired("the collection was listed anew while the snapshot was being sent")
		}
		s.rv = max(s.rv, s.follower.Rested())
		position, status := window.After(s.rv)
		s.follower.MoveTo(position)
		s.generation = s.cacher.Generation()
		s.basesSince = s.rv
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
	return api.Expired("the resource versions of the collection belong to another source now")
}

// advance appends the next data frame, if there is one.
func (s *subscription) advance(message []byte, limit int) []byte {
	switch s.phase {
	case listing:
		return s.appendPart(message, limit)
	case replaying:
		if s.follower.Position() < s.cacher.Window().End() {
			before := len(message)
			if message = s.appendEvents(message, limit); len(message) > before {
				return message
			}
			// None of them concerns the reader, and nothing else would bring it here again.
		}
		s.phase, s.rv = live, s.cacher.ResourceVersion()
		s.ownLabelSets = nil // changes need few of those of a snapshot
		s.progressed = s.cacher.Progressed()
		return (&wire.SnapshotEnd{Subscription: s.id, ResourceVersion: s.rv}).Append(message)
	}
	return s.appendEvents(message, limit)
}

// appendPart sends the objects that come next in key order.
func (s *subscription) appendPart(message []byte, limit int) []byte {
	room := limit - len(message)
	s.reset()
	last, done := api.Key(""), true
	s.cacher.Ascend(s.next, func(ref store.Ref) bool {
		key := s.cacher.Heap().Key(ref)
		if !key.InNamespace(s.namespace) {
			return false
		}
		if room <= 0 {
			done = false
			return false
		}
		matches := s.filter.Matches(ref)
		if matches && s.mustSplit(ref) {
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
	if done {
		s.phase = replaying
	} else {
		s.next = api.Key(string(last) + "\x00")
	}
	if len(s.frame.Changes) == 0 {
		// Nothing in this stretch matched; an empty part keeps the reader's
		// progress honest and the caller going.
		return s.charge(message, &wire.SnapshotPart{Subscription: s.id})
	}
	return s.charge(message, &wire.SnapshotPart{Subscription: s.id, Objects: s.frame.Changes})
}

// charge appends a data frame and takes it off the credit. The reader counts
// the same frames, and all of their bytes.
func (s *subscription) charge(message []byte, f interface{ Append([]byte) []byte }) []byte {
	before := len(message)
	message = f.Append(message)
	s.credit -= int64(len(message) - before)
	return message
}

// appendEvents sends the events that come next, as many whole revisions as fit
// and at least one.
func (s *subscription) appendEvents(message []byte, limit int) []byte {
	window := s.cacher.Window()
	room := limit - len(message)
	if message, ok := s.appendEncoded(message, room); ok {
		return message
	}
	s.reset()
	position := s.follower.Position()
	from, oldest := position, heldByNobody
	for ; position < window.End(); position++ {
		e := window.At(position)
		if e.ResourceVersion != s.rv && (room <= 0 || s.mustSplit(e.Current)) {
			break
		}
		s.rv = e.ResourceVersion
		t, content, ok := s.filter.Convert(e)
		if !ok {
			continue
		}
		if t == api.Deleted {
			s.frame.Changes = append(s.frame.Changes, wire.Change{
				Type: t, ResourceVersion: e.ResourceVersion, Key: s.cacher.Heap().Key(content),
			})
			room -= 64
			continue
		}
		held := s.held(t, e)
		if t == api.Modified {
			oldest = min(oldest, s.cacher.Heap().ResourceVersion(e.Previous))
		}
		message = s.addObject(message, t, content, held, position)
		room -= s.lastSize()
	}
	s.follower.MoveTo(position)
	if len(s.frame.Changes) == 0 {
		return message
	}
	return s.encode(message, from, position, oldest)
}

func (s *subscription) reset() {
	s.ownLabelSets.limit(s.session.cfg.LabelSets)
	s.frame.Changes, s.frame.Bytes = s.frame.Changes[:0], s.frame.Bytes[:0]
}

// mustSplit: the bodies of one frame have one dictionary. Those of one revision
// do, because they came in one frame.
func (s *subscription) mustSplit(ref store.Ref) bool {
	return len(s.frame.Changes) > 0 && ref != 0 && s.otherDictionary(ref)
}

// addObject adds a version to the frame being built, as the difference from the
// version that the reader holds of it, if any, and defines its label set to the
// reader first if that is new. The version held is the previous one of the event
// at position.
func (s *subscription) addObject(message []byte, t api.EventType, ref, held store.Ref, position int) []byte {
	heap := s.cacher.Heap()
	if len(s.frame.Changes) == 0 && s.otherDictionary(ref) {
		message = s.describe(message, heap.Dictionary(ref), s.cacher.Dictionary(ref))
	}
	c := wire.Change{
		Type: t, ResourceVersion: heap.ResourceVersion(ref), Flags: heap.Flags(ref),
	}
	message, c.LabelSet = s.defineLabelSet(message, heap.LabelSet(ref))
	var body api.Body
	if !s.metadataOnly {
		body = heap.Envelope(ref).Body()
		c.Base = s.base(ref, held)
	}
	s.setEnvelope(&c, ref, held, position, body)
	s.frame.Changes = append(s.frame.Changes, c)
	return message
}

// setEnvelope writes the envelope, or a patch of the version that the reader
// holds.
func (s *subscription) setEnvelope(c *wire.Change, ref, held store.Ref, position int, body api.Body) {
	heap := s.cacher.Heap()
	if held != 0 {
		if patch := s.cacher.Patch(position, !s.metadataOnly); patch != nil {
			at := len(s.frame.Bytes)
			s.frame.Bytes = append(s.frame.Bytes, patch...)
			c.Patch, c.Previous = s.frame.Bytes[at:], heap.ResourceVersion(held)
			return
		}
	}
	c.Envelope = heap.Envelope(ref)
	if s.metadataOnly {
		at := len(s.frame.Bytes)
		s.frame.Bytes = c.Envelope.AppendWithBody(s.frame.Bytes, body)
		c.Envelope = s.frame.Bytes[at:]
	}
}

// appendFaults names the objects of the collection that cannot be served and
// were not named before.
func (s *subscription) appendFaults(message []byte) []byte {
	list, mark := s.cacher.Faults()
	fresh, first := min(mark-s.faultMark, len(list)), s.faultMark == 0
	s.faultMark = mark
	for _, f := range list[len(list)-fresh:] {
		// A snapshot says by itself that an object is gone, a reader that
		// resumes knows what happened before, and an event brings what matches.
		known := f.TakenBack() && (first && (s.from == 0 || f.ResourceVersion <= s.from) ||
			s.filter.Matches(s.cacher.Get(f.Key)))
		if s.filter.Covers(f.Key) && !known {
			message = (&wire.ObjectError{
				Subscription: s.id, Key: f.Key, ResourceVersion: f.ResourceVersion, Status: f.Status,
			}).Append(message)
		}
	}
	return message
}
