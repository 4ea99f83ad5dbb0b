package session_test

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/deflate"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/wire"
)

// row is the model's state of an object.
type row struct {
	rv        api.ResourceVersion
	app, node string
}

type rows map[api.Key]row

// change is one change to the model. If the row "from" is nil, the object is created; if the
// row "to" is nil, it is deleted.
type change struct {
	key      api.Key
	from, to *row
}

// world is a collection and its complete history.
type world struct {
	t       *testing.T
	rand    *rand.Rand
	cacher  *session.Served
	rv      api.ResourceVersion
	now     int64
	state   rows
	states  map[api.ResourceVersion]rows     // state after each revision
	changes map[api.ResourceVersion][]change // changes of each revision
	woken   bool
}

func newWorld(t *testing.T, seed int64) *world {
	w := &world{
		t: t, rand: rand.New(rand.NewSource(seed)), rv: 1, now: 1_000_000, state: rows{},
		states: map[api.ResourceVersion]rows{1: {}}, changes: map[api.ResourceVersion][]change{},
	}
	w.cacher = session.Serve(cacher.New(cacher.Config{Schema: objects.Pods(), History: history.Limits{MinCapacity: 12, MaxCapacity: 12}}))
	w.relist(0)
	return w
}

// Collection and Release implement session.Backend.
func (w *world) Collection(*session.Request) (*session.Collection, *api.Status) {
	return w.cacher.Collection, nil
}
func (w *world) Release(api.Resource) {}
func (w *world) Wake()                { w.woken = true }

// revise generates a revision and applies it to the model.
func (w *world) revise() []change {
	w.rv += api.ResourceVersion(1 + w.rand.Intn(3))
	var done []change
	for range 1 + w.rand.Intn(3) {
		key := api.Key(fmt.Sprintf("%s/%d", []string{"a", "a-b", "ab"}[w.rand.Intn(3)], w.rand.Intn(3)))
		if slices.ContainsFunc(done, func(c change) bool { return c.key == key }) {
			continue
		}
		c := change{key: key}
		if was, ok := w.state[key]; ok {
			c.from = &was
		}
		switch {
		case w.rand.Intn(3) > 0:
			c.to = &row{w.rv, []string{"web", "api", fmt.Sprint("v", w.rv)}[w.rand.Intn(3)], []string{"n1", "n2", ""}[w.rand.Intn(3)]}
			w.state[key] = *c.to
		case c.from == nil:
			continue
		default:
			delete(w.state, key)
		}
		done = append(done, c)
	}
	w.states[w.rv], w.changes[w.rv] = maps.Clone(w.state), done
	return done
}

func (w *world) put(key api.Key, r row) *cacher.Update {
	return objects.Update(fmt.Sprintf("%s rv=%d app=%s nodeName=%s body={}", key, r.rv, r.app, r.node))
}

// change generates a revision, and applies it to the cacher.
func (w *world) change() {
	for _, c := range w.revise() {
		if c.to == nil {
			w.cacher.Delete(c.key, w.rv, w.now)
		} else {
			w.cacher.Apply(w.put(c.key, *c.to), w.now)
		}
	}
	w.cacher.Progress(w.rv, w.now)
}

// relist generates revisions that the cacher misses, and then replaces the state of the cacher
// with a list.
func (w *world) relist(missed int) {
	for range missed {
		w.revise()
	}
	w.cacher.Listing().Begin()
	for key, r := range w.state {
		w.cacher.Listing().Object(w.put(key, r))
	}
	w.cacher.Listing().End(w.rv, w.now)
}

// at returns the state after the last revision up to rv.
func (w *world) at(rv api.ResourceVersion) rows {
	for ; w.states[rv] == nil; rv-- {
		require.NotZero(w.t, rv)
	}
	return w.states[rv]
}

// reader is one subscription, with the state that a simple reader derives from its
// messages.
type reader struct {
	*world
	subscribe wire.Subscribe
	shard     api.Shard
	session   *session.Session
	queue     [][]byte // messages in flight
	credit    int64

	rows    rows // known rows; nil before the first snapshot
	rv      api.ResourceVersion
	staged  rows // rows of a snapshot in progress; nil if there is none
	stage   position
	labels  map[uint32]string
	seen    map[string]wire.Envelope // every received version, by key and version
	expired bool

	resumed, continued, restarted, moved int
}

// position is the position of a reader in an unfinished snapshot.
type position struct {
	rv   api.ResourceVersion // the staged rows are exact as of this version
	last api.Key             // the last key in the received parts
	from api.Key             // SnapshotFrom of the subscription
}

func (w *world) newReader() *reader {
	r := &reader{world: w, seen: map[string]wire.Envelope{}, subscribe: wire.Subscribe{Subscription: 1, Resource: "v1/pods"}}
	pick := func(values ...string) string { return values[w.rand.Intn(len(values))] }
	r.subscribe.Namespace = pick("", "a", "a-b", "ab")
	r.subscribe.LabelSelector = pick("", "app=web", "app!=web")
	r.subscribe.FieldSelector = pick("", "spec.nodeName=n1", "spec.nodeName=")
	r.subscribe.MetadataOnly = w.rand.Intn(2) == 0
	if w.rand.Intn(2) == 0 {
		r.shard = api.Shard{Index: uint32(w.rand.Intn(2)), Count: 2}
	}
	r.connect()
	return r
}

// matches reports whether the subscription of the reader selects an object. It does not
// use package selector, because the test checks that package too.
func (r *reader) matches(key api.Key, x *row) bool {
	s := &r.subscribe
	return x != nil && (r.shard.Whole() || api.ShardOf(key.Namespace(), 2) == r.shard) && (s.Namespace == "" || strings.HasPrefix(string(key), s.Namespace+"/")) &&
		(s.LabelSelector == "" || (x.app == "web") == (s.LabelSelector == "app=web")) &&
		(s.FieldSelector == "" || (x.node == "n1" && s.FieldSelector == "spec.nodeName=n1") || (x.node == "" && s.FieldSelector == "spec.nodeName="))
}

func (r *reader) connect() {
	r.queue = nil
	r.replaceSession()
	r.send((&wire.Hello{Version: wire.Version}).Append(nil))
	r.open()
}

func (r *reader) replaceSession() {
	if r.session != nil {
		r.session.Close()
	}
	config := session.Config{ProgressMillis: 1000, Shard: r.shard}
	if r.rand.Intn(2) == 0 {
		config.Deflate = deflate.Sections
	}
	r.session = session.New(config, r.world)
}

// move moves the reader to another session. Messages in flight still arrive.
func (r *reader) move() {
	if r.staged != nil {
		r.moved++
	}
	saved := slices.Clone(r.session.Save())
	r.replaceSession()
	require.NoError(r.t, r.session.Resume(saved, r.now))
}

// open subscribes. It resumes, continues a snapshot, or starts a new one. The choice is
// random unless only a new snapshot is possible.
func (r *reader) open() {
	s := r.subscribe
	s.Credit = uint64(1 + r.rand.Intn(300))
	r.credit = int64(s.Credit)
	s.NotOlderThan = r.rv
	if r.rows != nil && !r.expired && r.rand.Intn(5) > 0 {
		s.ResourceVersion = r.rv
		r.resumed++
	}
	if last := r.lastStaged(); last != "" && r.rand.Intn(5) > 0 {
		s.ResourceVersion, s.SnapshotFrom = r.stage.rv, last+"\x00"
	} else {
		r.staged = nil
	}
	r.labels, r.stage.from = map[uint32]string{}, s.SnapshotFrom
	r.send(s.Append(nil))
}

func (r *reader) send(message []byte) {
	require.NoError(r.t, r.session.Receive(message, r.now))
	for i := range message {
		message[i] = 0xff
	}
}

func (r *reader) grant(bytes int) {
	r.credit += int64(bytes)
	r.send((&wire.Credit{Subscription: 1, Bytes: uint64(bytes)}).Append(nil))
}

// pull receives a message from the session, and checks that the reader had granted credit
// for it.
func (r *reader) pull() bool {
	message := r.session.Next(1+r.rand.Intn(200), r.now)
	for rest := message; len(rest) > 0; {
		frameType, payload, next, err := wire.Next(rest)
		require.NoError(r.t, err)
		if frameType == wire.TypeSnapshotPart || frameType == wire.TypeSnapshotBlock || frameType == wire.TypeEvents {
			require.Positive(r.t, r.credit, "nothing is sent without credit")
			r.credit -= int64(wire.Size(len(payload)))
		}
		rest = next
	}
	if message != nil {
		r.queue = append(r.queue, message)
	}
	return message != nil
}

func (r *reader) deliver() bool {
	if len(r.queue) == 0 {
		return false
	}
	message := r.queue[0]
	r.queue = r.queue[1:]
	for len(message) > 0 {
		frameType, payload, rest, err := wire.Next(message)
		require.NoError(r.t, err)
		r.take(frameType, payload)
		message = rest
	}
	return true
}

func (r *reader) take(frameType wire.Type, payload []byte) {
	t := r.t
	switch frameType {
	case wire.TypeLabelSet:
		var f wire.LabelSet
		require.NoError(t, f.Parse(payload))
		r.labels[f.ID] = strings.Clone(f.Labels[0].Value)
	case wire.TypeSnapshotBegin:
		var f wire.SnapshotBegin
		require.NoError(t, f.Parse(payload))
		r.begin(&f)
	case wire.TypeSnapshotPart:
		var f wire.SnapshotPart
		require.NoError(t, f.Parse(payload))
		r.part(f.Objects)
	case wire.TypeSnapshotBlock:
		b := expanded(t, payload)
		labels := r.labels
		r.labels = map[uint32]string{}
		for i, set := range b.LabelSets {
			r.labels[uint32(i)] = set[0].Value
		}
		r.part(b.Objects)
		r.labels = labels
	case wire.TypeSnapshotEnd:
		var f wire.SnapshotEnd
		require.NoError(t, f.Parse(payload))
		r.rows, r.staged, r.expired = r.staged, nil, false
		r.reached(f.ResourceVersion)
	case wire.TypeEvents:
		var f wire.Events
		require.NoError(t, f.Parse(payload))
		if r.staged != nil {
			r.apply(f.Changes)
			r.stage.rv = f.ResourceVersion
			r.checkStaged()
			return
		}
		r.follow(&f)
		r.reached(f.ResourceVersion)
	case wire.TypeProgress:
		var f wire.Progress
		require.NoError(t, f.Parse(payload))
		r.reached(f.ResourceVersion)
	case wire.TypeSubscriptionStatus:
		var f wire.SubscriptionStatus
		require.NoError(t, f.Parse(payload))
		require.Equal(t, 410, f.Status.Code, f.Status)
		r.expired, r.staged = true, nil
		r.open()
	}
}

func (r *reader) row(c *wire.Change) row {
	if c.Patch != nil {
		previous, ok := r.seen[fmt.Sprint(c.Key, c.Previous)]
		require.True(r.t, ok && r.rows[c.Key].rv == c.Previous && r.staged == nil, "a patch is based on the reader's version")
		var status *api.Status
		c.Envelope, _, status = c.Patch.Apply(nil, previous)
		require.Nil(r.t, status)
	}
	r.seen[fmt.Sprint(c.Key, c.ResourceVersion)] = slices.Clone(c.Envelope)
	require.Equal(r.t, r.subscribe.MetadataOnly, c.Envelope.Body().Codec == api.NoBody)
	app, ok := r.labels[c.LabelSet]
	require.True(r.t, ok, "a label set is defined before it is used")
	return row{c.ResourceVersion, app, strings.Clone(c.Envelope.Field(2))}
}

// begin starts a snapshot, or continues the one that the subscription requested.
func (r *reader) begin(f *wire.SnapshotBegin) {
	if !f.Continues {
		if r.stage.from != "" {
			r.restarted++
		}
		r.staged, r.stage = rows{}, position{rv: f.ResourceVersion}
		return
	}
	r.continued++
	require.NotEmpty(r.t, r.stage.from)
	require.Equal(r.t, r.stage.rv, f.ResourceVersion)
	r.stage.last = r.lastStaged()
}

// part adds the next objects of a snapshot. It checks that the keys follow those of
// earlier parts.
func (r *reader) part(list []wire.Change) {
	for i := range list {
		require.Greater(r.t, list[i].Key, r.stage.last)
		r.stage.last = api.Key(strings.Clone(string(list[i].Key)))
	}
	r.apply(list)
	r.checkStaged()
}

func (r *reader) lastStaged() (last api.Key) {
	for key := range r.staged {
		last = max(last, key)
	}
	return last
}

// checkStaged compares the rows of a snapshot in progress with the model (rule B38).
func (r *reader) checkStaged() {
	want, last := rows{}, r.lastStaged()
	for key, x := range r.at(r.stage.rv) {
		if key <= last && r.matches(key, &x) {
			want[key] = x
		}
	}
	require.Equal(r.t, want, r.staged, "up to %s at %d", last, r.stage.rv)
}

// apply applies objects and changes of a snapshot. The newest version of a key wins.
func (r *reader) apply(list []wire.Change) {
	for i := range list {
		c := &list[i]
		if c.Type == api.Deleted {
			if r.staged[c.Key].rv < c.ResourceVersion {
				delete(r.staged, api.Key(strings.Clone(string(c.Key))))
			}
			continue
		}
		if key := api.Key(strings.Clone(string(c.Key))); r.staged[key].rv < c.ResourceVersion {
			r.staged[key] = r.row(c)
		}
	}
}

// follow applies a frame of events. The frame must contain exactly the matching
// events between the known version and the frame's version (G1 to G4).
func (r *reader) follow(f *wire.Events) {
	var want, got []string
	for rv := r.rv + 1; rv <= f.ResourceVersion; rv++ {
		for _, c := range r.changes[rv] {
			switch was, is := r.matches(c.key, c.from), r.matches(c.key, c.to); {
			case is && was:
				want = append(want, fmt.Sprint("MODIFIED ", c.key, *c.to))
			case is:
				want = append(want, fmt.Sprint("ADDED ", c.key, *c.to))
			case was:
				want = append(want, fmt.Sprint("DELETED ", c.key, rv))
			}
		}
	}
	for i := range f.Changes {
		c := &f.Changes[i]
		if c.Type == api.Deleted {
			got = append(got, fmt.Sprint("DELETED ", c.Key, c.ResourceVersion))
			delete(r.rows, c.Key)
			continue
		}
		key := api.Key(strings.Clone(string(c.Key)))
		r.rows[key] = r.row(c)
		got = append(got, fmt.Sprint(c.Type, " ", key, r.rows[key]))
	}
	require.Equal(r.t, want, got, "from %d to %d", r.rv, f.ResourceVersion)
}

// reached records that the reader has the version rv, and compares its rows with the
// model at rv (G6, G9, G17).
func (r *reader) reached(rv api.ResourceVersion) {
	require.GreaterOrEqual(r.t, rv, r.rv, "versions never decrease")
	r.rv = rv
	want := rows{}
	for key, x := range r.at(rv) {
		if r.matches(key, &x) {
			want[key] = x
		}
	}
	require.Equal(r.t, want, r.rows, "at %d", rv)
}

// Random readers of a random history are slow, lose their connection at any message, move
// to other sessions, and resume. Each receives complete revisions of exactly the matching
// events, and finally has the current state. An interrupted snapshot continues, and its
// rows are exact at any time (rule B38).
func TestG3_RandomReadersOfARandomHistory(t *testing.T) {
	var resumed, expired, continued, restarted, moved int
	for seed := range int64(60) {
		w := newWorld(t, seed)
		var readers []*reader
		for range 5 {
			readers = append(readers, w.newReader())
		}
		for range 1500 {
			r := readers[w.rand.Intn(len(readers))]
			switch n := w.rand.Intn(100); {
			case n < 20:
				w.change()
			case n < 21:
				w.relist(w.rand.Intn(3))
			case n < 50:
				r.pull()
			case n < 80:
				if r.deliver(); r.expired {
					expired++
				}
			case n < 92:
				r.grant(1 + w.rand.Intn(200))
			case n < 95:
				r.connect()
			case n < 97:
				r.move()
			default:
				w.now += int64(w.rand.Intn(1500))
				w.cacher.Progress(w.rv, w.now)
			}
		}
		for _, r := range readers {
			for moved := true; moved; {
				r.grant(1000)
				moved = r.pull()
				moved = r.deliver() || moved
			}
			w.now += 1000
			w.cacher.Progress(w.rv, w.now)
			r.pull()
			for r.deliver() {
			}
			require.Equal(t, w.rv, r.rv, "it has caught up")
			resumed += r.resumed
			continued += r.continued
			restarted += r.restarted
			moved += r.moved
		}
	}
	require.NotZero(t, resumed)
	require.NotZero(t, expired)
	require.NotZero(t, continued)
	require.NotZero(t, restarted, "the window may have moved on")
	require.NotZero(t, moved)
}
