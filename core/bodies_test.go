package core

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/deflate"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// rowsRig is an engine whose collection requested rows first. The test decides when each
// message from the connector arrives.
type rowsRig struct {
	t       *testing.T
	engine  *Engine
	pods    *cacher.Cacher
	serving *session.Collection
	session *session.Session
	config  session.Config
	now     int64
	stream  uint32
	state   wire.CollectionState
	asked   []wire.Subscribe
	wanted  []string // keys of the sent RequestBody frames
	replies map[uint32]string
	errors  map[uint32]*api.Status
	events  int
	rows    int
	bodies  []wire.SnapshotBodies // without data
}

const rowsPods = 40

func newRowsRig(t *testing.T, cfg wire.Config) *rowsRig { return newRowsRigOf(t, cfg, rowsPods) }

func newRowsRigOf(t *testing.T, cfg wire.Config, pods int) *rowsRig {
	cfg.Seed = 1
	e, err := New(cfg.Append(nil), func(dst []byte, b api.Body, _, _ []byte) ([]byte, error) {
		return append(dst, b.Data...), nil
	})
	require.NoError(t, err)
	r := &rowsRig{t: t, engine: e, now: 1_000_000, replies: map[uint32]string{}, errors: map[uint32]*api.Status{}}
	r.config.Deflate = deflate.Sections
	r.pods = cacher.New(cacher.Config{Schema: podSchema, DeltaEpoch: 7})
	r.serving = session.NewCollection(r.pods)
	r.pods.Upstream().SetClusterID("h")
	r.pods.Listing().Begin()
	for i := range pods {
		r.pods.Listing().Object(rowPod(fmt.Sprintf("ns%02d/p", i), uint64(i+1)))
	}
	r.pods.Listing().End(api.ResourceVersion(pods), r.now)
	e.Tick(r.now)
	r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods", RowsFirst: true})
	return r
}

// rowPod returns a pod whose body contains its key and version.
func rowPod(key string, rv uint64) *cacher.Update {
	p := pod(key, rv, "web", "Running")
	body := fmt.Sprintf(`{"kind":"Pod","metadata":{"name":"p"},"of":"%s@%d"}`, key, rv)
	p.Envelope = p.Envelope.AppendWithBody(nil, api.Body{Codec: api.JSON, Data: []byte(body)})
	return p
}

func (r *rowsRig) Collection(*session.Request) (*session.Collection, *api.Status) {
	return r.serving, nil
}
func (r *rowsRig) Release(api.Resource) {}
func (r *rowsRig) Wake()                {}

func (r *rowsRig) step(f interface{ Append([]byte) []byte }) {
	r.engine.Tick(r.now)
	require.NoError(r.t, r.engine.Step(f.Append(nil)))
	r.drain()
}

func (r *rowsRig) pass(millis int64) {
	r.now += millis
	r.engine.Tick(r.now)
	r.drain()
}

func (r *rowsRig) drain() {
	for out := r.engine.Ready(); len(out) > 0; out = r.engine.Ready() {
		out = append([]byte(nil), out...)
		r.engine.Advance()
		require.NoError(r.t, wire.FromEngine.Each(out, r.output))
	}
}

func (r *rowsRig) output(_ wire.Type, f wire.Frame) error {
	switch f := f.(type) {
	case *wire.OpenStream:
		r.stream = f.Stream
		r.session = session.New(r.config, r)
		return r.engine.Step((&wire.StreamOpened{Stream: f.Stream}).Append(nil))
	case *wire.SendStream:
		if r.session == nil {
			return nil
		}
		_ = wire.FromReader.Each(f.Data, func(_ wire.Type, f wire.Frame) error {
			switch f := f.(type) {
			case *wire.Subscribe:
				ask := *f
				ask.BodiesFrom = api.Key(string([]byte(f.BodiesFrom)))
				r.asked = append(r.asked, ask)
			case *wire.RequestBody:
				r.wanted = append(r.wanted, string([]byte(f.Key)))
			}
			return nil
		})
		return r.session.Receive(append([]byte(nil), f.Data...), r.now)
	case *wire.CollectionState:
		r.state = *f
	case *wire.ObjectReply:
		r.replies[f.Request] = string(f.Item.Envelope.Body().Data)
	case *wire.ListReply:
		for _, it := range f.Items {
			r.replies[f.Request] += string(it.Envelope.Body().Data)
		}
	case *wire.ErrorReply:
		r.errors[f.Request] = f.Status
	case *wire.WatchEvents:
		r.events += len(f.Events)
	case *wire.ViewPatch:
		r.rows = int(f.Total)
		return r.engine.Step((&wire.GrantView{View: f.View}).Append(nil))
	}
	return nil
}

// message returns the next message of the connector, and records its SnapshotBodies.
func (r *rowsRig) message(limit int) []byte {
	m := r.session.Next(limit, r.now)
	_ = wire.FromConnector.Each(m, func(_ wire.Type, f wire.Frame) error {
		if f, ok := f.(*wire.SnapshotBodies); ok {
			r.bodies = append(r.bodies, wire.SnapshotBodies{First: api.Key(string([]byte(f.First))), Objects: f.Objects, Last: f.Last})
		}
		return nil
	})
	return m
}

func (r *rowsRig) deliver(m []byte) { r.step(&wire.StreamData{Stream: r.stream, Data: m}) }

// untilRows delivers small messages until the rows are complete.
func (r *rowsRig) untilRows() {
	for r.state.Objects == 0 {
		r.deliver(r.message(1))
	}
	require.Equal(r.t, r.pods.State().Len(), int(r.state.Objects))
	require.Less(r.t, r.state.Bodies, r.state.Objects)
}

func (r *rowsRig) untilAll() {
	for i := 0; r.state.Bodies != r.state.Objects || r.state.Objects == 0; i++ {
		require.Less(r.t, i, 500, "bodies do not arrive: %+v", r.state)
		if m := r.message(1); m != nil {
			r.deliver(m)
		} else {
			r.pass(1000)
		}
	}
}

// stampedVersion matches the resource version that the engine inserts into a body.
var stampedVersion = regexp.MustCompile(`"resourceVersion":"[0-9]+",`)

// requireBodies lists all objects and compares their bodies with those of the connector.
func (r *rowsRig) requireBodies() {
	r.t.Helper()
	all := ""
	r.pods.State().Ascend("", func(ref store.Ref) bool {
		all += string(r.pods.Arena().Envelope(ref).Body().Data)
		return true
	})
	r.step(&wire.List{Request: 900, Collection: 1, Bodies: true})
	got := r.replies[900]
	delete(r.replies, 900)
	require.Equal(r.t, all, stampedVersion.ReplaceAllString(got, ""))
}

// Views are exact once the rows have arrived; watches and lists with bodies wait for all
// bodies (rule B28).
func TestRowsAreCompleteBeforeBodies(t *testing.T) {
	r := newRowsRig(t, wire.Config{})
	r.step(&wire.OpenView{View: 1, Collection: 1, Limit: 100})
	r.step(&wire.OpenWatch{Watch: 1, Collection: 1, Bodies: true})
	r.step(&wire.List{Request: 1, Collection: 1, Bodies: true})
	r.step(&wire.List{Request: 2, Collection: 1})
	r.untilRows()
	require.Equal(t, rowsPods, r.rows)
	require.Equal(t, api.StateLive, r.state.State)
	require.Zero(t, r.events)
	require.NotContains(t, r.replies, uint32(1))
	require.Contains(t, r.replies, uint32(2))
	r.step(&wire.TakeSnapshot{Request: 3, Collection: 1})
	require.Equal(t, api.CodeServiceUnavailable, r.errors[3].Code)
	r.untilAll()
	require.Equal(t, rowsPods, r.events)
	require.Contains(t, r.replies, uint32(1))
	r.requireBodies()
	require.Len(t, r.asked, 1)
}

// The connector sends a requested body before the other pending bodies (rule B30).
func TestRequestedBodyComesFirst(t *testing.T) {
	r := newRowsRig(t, wire.Config{})
	r.untilRows()
	r.step(&wire.Get{Request: 1, Collection: 1, Key: "ns37/p"})
	require.Equal(t, []string{"ns37/p"}, r.wanted)
	require.Empty(t, r.replies)
	r.bodies = nil
	r.deliver(r.message(1))
	require.Equal(t, []wire.SnapshotBodies{{First: "ns37/p", Objects: 1}}, r.bodies)
	require.Contains(t, r.replies[1], "ns37/p@38")
	require.Less(t, int(r.state.Bodies), 10)
	r.untilAll()
	r.requireBodies()
}

// All reads of bodies complete, even if their requests do not fit in one message to the
// connector, and even after a disconnect.
func TestManyReadsOfPendingBodies(t *testing.T) {
	const reads = 2000
	r := newRowsRigOf(t, wire.Config{}, reads)
	r.untilRows()
	var gets []byte
	for i := range reads {
		gets = (&wire.Get{Request: uint32(i + 1), Collection: 1, Key: api.Key(fmt.Sprintf("ns%02d/p", i))}).Append(gets)
	}
	require.NoError(t, r.engine.Step(gets))
	r.drain()
	r.step(&wire.StreamClosed{Stream: r.stream, Message: "cut"})
	r.session = nil
	for r.session == nil {
		r.pass(1000)
	}
	for i := 0; i < 10*reads && len(r.replies) < reads; i++ {
		r.deliver(r.message(1))
	}
	require.Len(t, r.replies, reads)
	require.Empty(t, r.errors)
	require.Len(t, r.wanted, 2*256, "requested before and after the cut")
}

// After a reconnect, all collections subscribe, even if their requests do not fit in one
// message to the connector.
func TestReconnectWithManyCollections(t *testing.T) {
	const collections = 1500
	r := newRowsRig(t, wire.Config{})
	for i := range collections {
		open := &wire.OpenCollection{Collection: uint32(i + 2), Resource: "v1/pods", Namespace: fmt.Sprintf("ns%04d", i)}
		require.NoError(t, r.engine.Step(open.Append(nil)))
	}
	r.drain()
	r.step(&wire.StreamClosed{Stream: r.stream, Message: "cut"})
	r.session, r.asked = nil, nil
	for r.session == nil {
		r.pass(1000)
	}
	r.deliver(r.message(1))
	require.Len(t, r.asked, 1+collections)
}

// If a body does not arrive within 10 s, its read fails with an error that names the
// object. Other reads are not delayed (rule B30).
func TestBodyThatNeverArrivesIsReported(t *testing.T) {
	r := newRowsRig(t, wire.Config{})
	r.untilRows()
	r.step(&wire.Get{Request: 1, Collection: 1, Key: "ns37/p"})
	r.pass(9_999)
	require.Empty(t, r.errors)
	r.pass(1)
	require.Equal(t, "BodyMissing", r.errors[1].Cause)
	require.Contains(t, r.errors[1].Message, "ns37/p")
	require.Equal(t, rowsPods, int(r.state.Objects))
	r.step(&wire.Get{Request: 2, Collection: 1, Key: "ns99/absent"})
	require.Equal(t, api.CodeNotFound, r.errors[2].Code)
	r.step(&wire.Get{Request: 3, Collection: 1, Key: "ns37/p"})
	r.untilAll()
	require.Contains(t, r.replies[3], "ns37/p@38")
}

// After a disconnect the subscription resumes, and only missing bodies follow
// (rule B31).
func TestBodiesContinueAfterADisconnect(t *testing.T) {
	r := newRowsRig(t, wire.Config{})
	r.untilRows()
	for range 10 {
		r.deliver(r.message(1))
	}
	loaded := int(r.state.Bodies)
	require.Greater(t, loaded, 5)
	r.step(&wire.Get{Request: 1, Collection: 1, Key: "ns37/p"})
	r.step(&wire.StreamClosed{Stream: r.stream, Message: "cut"})
	r.session, r.wanted, r.bodies = nil, nil, nil
	for len(r.asked) == 1 || r.session == nil {
		r.pass(1000)
		if r.session != nil {
			r.deliver(r.message(1))
		}
	}
	again := r.asked[1]
	require.Equal(t, api.ResourceVersion(rowsPods), again.ResourceVersion)
	require.True(t, again.RowsFirst)
	require.Equal(t, fmt.Sprintf("ns%02d/p", loaded), string(again.BodiesFrom))
	require.Equal(t, []string{"ns37/p"}, r.wanted)
	r.untilAll()
	require.Equal(t, api.Key("ns37/p"), r.bodies[0].First)
	require.Equal(t, again.BodiesFrom, r.bodies[1].First)
	require.Contains(t, r.replies[1], "ns37/p@38")
	require.Len(t, r.asked, 2, "no snapshot")
	r.requireBodies()
}

// A change or deletion that arrives between a row and its body replaces the pending body
// (rule B29).
func TestChangesBetweenRowAndBody(t *testing.T) {
	r := newRowsRig(t, wire.Config{})
	r.untilRows()
	r.step(&wire.Get{Request: 1, Collection: 1, Key: "ns35/p"})
	r.step(&wire.Get{Request: 2, Collection: 1, Key: "ns36/p"})
	late := r.message(1) // the body of ns35/p
	r.pods.Apply(rowPod("ns35/p", 50), r.now)
	r.pods.Delete("ns36/p", 51, r.now)
	r.pods.Apply(rowPod("ns38/new", 52), r.now)
	loaded := r.state.Bodies
	r.deliver(r.message(1 << 16)) // out of order: the events arrive before the late body
	require.Greater(t, r.state.Bodies, loaded)
	require.Contains(t, r.replies[1], "ns35/p@50")
	require.Equal(t, api.CodeNotFound, r.errors[2].Code)
	r.deliver(late)
	r.untilAll()
	r.requireBodies()
}

// A reader that receives bodies whose versions differ from those of its rows starts
// over, and does not store the bodies (rule B29).
func TestBodiesOfOtherVersionsAreNotApplied(t *testing.T) {
	r := newRowsRig(t, wire.Config{})
	r.untilRows()
	block := &wire.Block{Objects: []wire.Change{{Envelope: rowPod("ns39/p", 40).Envelope}}}
	members := block.AppendMembers(nil)
	f := wire.SnapshotBodies{
		Subscription: 1, First: "ns39/p", Objects: 1, Digest: wire.RowDigest(0, "ns39/p", 39), Members: uint32(len(members)), Data: append(members, block.AppendBodies(nil)...),
	}
	loaded := r.state.Bodies
	r.deliver(f.Append(nil))
	require.Equal(t, loaded, r.state.Bodies)
	require.Contains(t, r.state.Status.Message, "has other versions")
	r.untilAll()
	require.False(t, r.asked[1].RowsFirst, "the snapshot is complete")
	require.Zero(t, r.asked[1].ResourceVersion)
	r.requireBodies()
}

// A corrupt block of bodies is counted and reported in the state of the collection. The
// bodies of the block are requested again (rule B31).
func TestCorruptBodiesAreRequestedAgain(t *testing.T) {
	r := newRowsRig(t, wire.Config{})
	r.untilRows()
	reflector := r.engine.sharedCollections[0].reflector
	f := wire.SnapshotBodies{
		Subscription: 1, First: "ns39/p", Objects: 1, Digest: wire.RowDigest(0, "ns39/p", 40), Bodies: 60, Data: []byte{0xff},
	}
	r.deliver(f.Append(nil))
	require.Equal(t, 1, int(reflector.CorruptBodies))
	require.Contains(t, r.state.Status.Message, "a block of bodies is corrupt")
	require.Equal(t, rowsPods, int(r.state.Objects))
	r.untilAll()
	require.Len(t, r.asked, 2)
	require.Equal(t, api.ResourceVersion(rowsPods), r.asked[1].ResourceVersion)
	require.Equal(t, 1, int(reflector.Relists))
	r.requireBodies()
}

// A body of more than 1 MiB, which no block can contain, arrives by itself (rule B31).
func TestLargeBodyArrivesAfterItsRow(t *testing.T) {
	r := newRowsRig(t, wire.Config{})
	large := rowPod("ns20/p", rowsPods+1)
	large.Envelope = large.Envelope.AppendWithBody(nil, api.Body{Codec: api.JSON, Data: fmt.Appendf(nil, `{"metadata":{},"data":"%s"}`, strings.Repeat("x", 3<<19))})
	require.Nil(t, r.pods.Apply(large, r.now))
	r.untilRows()
	r.untilAll()
	require.Zero(t, r.engine.sharedCollections[0].reflector.CorruptBodies)
	r.step(&wire.Get{Request: 1, Collection: 1, Key: "ns20/p"})
	require.Greater(t, len(r.replies[1]), 3<<19)
}

// A relist while bodies are pending replaces rows and bodies together (rule B31).
func TestRelistWhileBodiesArePending(t *testing.T) {
	r := newRowsRig(t, wire.Config{})
	r.untilRows()
	r.pods.Listing().Begin()
	for i := range rowsPods {
		r.pods.Listing().Object(rowPod(fmt.Sprintf("ns%02d/p", i), uint64(i+100)))
	}
	r.pods.Listing().End(200, r.now)
	r.untilAll()
	require.Zero(t, r.asked[1].ResourceVersion)
	require.Equal(t, 200, int(r.state.ResourceVersion))
	r.requireBodies()
}

// When the bodies need more memory than allowed, the rows stay current without them
// (rule B31).
func TestBodiesAreOmittedForMemory(t *testing.T) {
	r := newRowsRig(t, wire.Config{MaxBytes: 4_800})
	r.step(&wire.OpenWatch{Watch: 1, Collection: 1, Bodies: true})
	r.step(&wire.OpenWatch{Watch: 2, Collection: 1})
	for i := 0; i < 100 && r.state.Status == nil; i++ {
		r.deliver(r.message(1))
	}
	require.Equal(t, api.CodeTooLarge, r.state.Status.Code)
	require.NotEqual(t, api.StateClosed, r.state.State)
	require.Contains(t, r.state.Status.Message, "bodies omitted: ")
	require.Zero(t, r.state.Bodies)
	require.Equal(t, rowsPods, r.events, "of the watch without bodies")
	require.Nil(t, r.engine.findWatch(1), "the watch with bodies is rejected")
	r.step(&wire.Get{Request: 1, Collection: 1, Key: "ns01/p"})
	require.Equal(t, api.CodeTooLarge, r.errors[1].Code)
	r.pods.Apply(rowPod("ns01/p", 60), r.now)
	r.pods.Progress(60, r.now)
	for i := 0; i < 20 && r.state.State != api.StateLive; i++ {
		r.pass(1000)
		r.deliver(r.message(1))
	}
	require.Equal(t, 60, int(r.state.ResourceVersion))
	require.Equal(t, rowsPods, int(r.state.Objects))
	require.Equal(t, rowsPods+1, r.events)
	require.True(t, r.asked[len(r.asked)-1].MetadataOnly)
}

// A connector that does not send blocks sends a complete snapshot, even if the
// subscription began on a connector that sends blocks.
func TestConnectorWithoutBlocksSendsEverything(t *testing.T) {
	r := newRowsRig(t, wire.Config{})
	r.untilRows()
	r.config.Deflate = nil
	r.step(&wire.StreamClosed{Stream: r.stream, Message: "cut"})
	r.session = nil
	for r.session == nil {
		r.pass(1000)
	}
	r.untilAll()
	require.Len(t, r.asked, 2)
	r.requireBodies()
}

// A program may abandon reads, for example because they time out. The engine keeps a bounded
// number of them at each stage, refuses further ones, and answers all others in the end.
func TestWaitingReadsAreLimited(t *testing.T) {
	const last = "ns39/p"
	r := newRowsRig(t, wire.Config{})
	request := uint32(0)
	get := func() []byte { return (&wire.Get{Request: request, Collection: 1, Key: last}).Append(nil) }
	list := func() []byte {
		return (&wire.List{Request: request, Collection: 1, Bodies: true, Limit: 1}).Append(nil)
	}
	read := func(n int, frame func() []byte) {
		var frames []byte
		for range n {
			request++
			frames = append(frames, frame()...)
		}
		r.engine.Tick(r.now)
		require.NoError(t, r.engine.Step(frames))
		r.drain()
	}
	refused := 0
	refuse := func(frame func() []byte) {
		read(1, frame)
		refused++
		require.Len(t, r.errors, refused)
		require.Equal(t, cacher.LimitWaits, r.errors[request].Cause)
		require.Equal(t, api.CodeServiceUnavailable, r.errors[request].Code)
	}
	read(cacher.MaxWaits, get)
	require.Empty(t, r.errors)
	refuse(get)
	for r.state.Objects == 0 {
		r.deliver(r.message(1))
		refuse(get)
	}
	require.Empty(t, r.replies, "the bodies have not arrived")

	read(cacher.MaxWaits, list)
	refuse(list)
	r.untilAll()
	require.Len(t, r.errors, refused)
	require.Len(t, r.replies, 2*cacher.MaxWaits)
	read(1, get)
	require.Contains(t, r.replies[request], last)
}
