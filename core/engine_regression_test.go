package core

import (
	"math/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/wire"
)

// A view that is moved before its collection has a schema opens at the new position.
func TestViewMovedBeforeItsSchemaOpensWhereItWasMoved(t *testing.T) {
	r := newRig(t)
	r.load(10)
	out := (&wire.OpenCollection{Collection: 1, Resource: "v1/pods"}).Append(nil)
	out = (&wire.OpenView{View: 1, Collection: 1, Limit: 3}).Append(out)
	out = (&wire.MoveView{View: 1, Offset: 4, Limit: 2}).Append(out)
	r.engine.Tick(r.now)
	require.NoError(t, r.engine.Step(out))
	r.settle()
	var p wire.ViewPatch
	require.NoError(t, p.Parse(r.seen[wire.TypeViewPatch][0]))
	require.EqualValues(t, 4, p.Offset)
	require.Len(t, p.Edits, 1)
	require.Len(t, p.Edits[0].Insert, 2)
}

// A watch that is closed while it waits for its collection never starts, and stores
// no initial events.
func TestWatchClosedWhileItWaitsNeverStarts(t *testing.T) {
	r := newRig(t)
	receive := func(frames ...interface{ Append([]byte) []byte }) {
		var data []byte
		for _, f := range frames {
			data = f.Append(data)
		}
		require.NoError(t, r.engine.Step((&wire.StreamData{Stream: 1, Data: data}).Append(nil)))
	}
	step := func(f interface{ Append([]byte) []byte }) { require.NoError(t, r.engine.Step(f.Append(nil))) }
	step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	step(&wire.StreamOpened{Stream: 1})
	receive(&wire.Welcome{Version: wire.Version, ProgressMillis: 5000}, &wire.Schema{Subscription: 1, Schema: podSchema})
	step(&wire.OpenWatch{Watch: 1, Collection: 1})
	step(&wire.CloseWatch{Watch: 1})
	part := wire.SnapshotPart{Subscription: 1, Objects: []wire.Change{{
		Type: api.Added, ResourceVersion: 3, Key: "default/a", Envelope: pod("default/a", 3, "web", "Running").Envelope,
	}}}
	receive(&wire.LabelSet{Subscription: 1}, &wire.SnapshotBegin{Subscription: 1, ResourceVersion: 5}, &part,
		&wire.SnapshotEnd{Subscription: 1, ResourceVersion: 5})
	arena := r.engine.sharedCollections[0].cacher.Arena()
	require.Equal(t, 1, arena.Versions())
	receive(&wire.SubscriptionStatus{Subscription: 1, Status: api.Expired("too old")},
		&wire.SnapshotBegin{Subscription: 2, ResourceVersion: 9}, &wire.SnapshotEnd{Subscription: 2, ResourceVersion: 9})
	require.Zero(t, arena.Versions())
}

// A list that waits for a collection fails with 410 when the connector changes to another
// source.
func TestPendingListCompletesWhenTheSourceIsReplaced(t *testing.T) {
	r := newRig(t)
	step := func(f interface{ Append([]byte) []byte }) { require.NoError(t, r.engine.Step(f.Append(nil))) }
	receive := func(f interface{ Append([]byte) []byte }) {
		step(&wire.StreamData{Stream: 1, Data: f.Append(nil)})
	}
	step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	step(&wire.StreamOpened{Stream: 1})
	receive(&wire.Welcome{Version: wire.Version, ProgressMillis: 5000})
	receive(&wire.Schema{Subscription: 1, Schema: podSchema, ClusterID: "one"})
	step(&wire.List{Request: 7, Collection: 1})
	receive(&wire.SubscriptionStatus{Subscription: 1, Status: api.Expired("listed again")})
	receive(&wire.Schema{Subscription: 2, Schema: podSchema, ClusterID: "two"})
	answered := false
	require.NoError(t, each(r.engine.Ready(), func(kind wire.Type, payload []byte) error {
		var f wire.ErrorReply
		if kind == wire.TypeErrorReply {
			require.NoError(t, f.Parse(payload))
			answered = f.Request == 7 && f.Status.Code == 410
		}
		return nil
	}))
	require.True(t, answered)
}

// A collection that an engine opens for a reader stays open during the back-off of
// that reader.
func TestCollectionStaysOpenForAReaderInBackOff(t *testing.T) {
	r := newRig(t)
	r.load(10)
	l := r.leaf(7, 1<<20)
	l.do(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	require.Equal(t, api.StateConnecting, l.state().State)
	for range 60 {
		r.backend.pods.Progress(r.backend.pods.ResourceVersion(), r.now+1000)
		r.later(1000)
	}
	l.later(60_000)
	require.Equal(t, api.StateLive, l.state().State)
	require.EqualValues(t, 1, r.inspect("subscriptions"))
	r.step(&wire.DetachReader{Reader: 7})
	r.later(lingerMillis + 1)
	require.Zero(t, r.inspect("subscriptions"))
}

// The readers of an engine receive the reason why its connector reports no progress.
func TestReadersOfAnEngineReceiveTheLossOfTheSource(t *testing.T) {
	r := newRig(t)
	r.load(10)
	l := r.live()
	r.backend.pods.Upstream().Fail(api.Unavailable("the source has no leader"))
	for range 40 {
		l.silence(1000)
	}
	require.Equal(t, api.StateStale, l.state().State)
	require.Equal(t, "the source has no leader", l.state().Status.Message)
}

// An engine that has never been connected, such as a restored engine, reports the
// missing connection to its readers.
func TestReadersOfAnEngineWithoutConnectorReceiveTheReason(t *testing.T) {
	was := newRig(t)
	was.load(10)
	was.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	chunks, _ := was.snapshot(wire.TakeSnapshot{Request: 1, Collection: 1}, func() {})
	r := was.restart()
	r.engine.Tick(r.now)
	require.NoError(t, r.engine.Step((&wire.OpenCollection{Collection: 1, Resource: "v1/pods", Restore: true}).Append(nil)))
	for _, chunk := range chunks {
		require.NoError(t, r.engine.Step((&wire.RestoreChunk{Collection: 1, Data: chunk}).Append(nil)))
	}
	require.NoError(t, r.engine.Step((&wire.RestoreChunk{Collection: 1, End: true}).Append(nil)))
	received := (&wire.Hello{Version: wire.Version}).Append(nil)
	received = (&wire.Subscribe{Subscription: 1, Resource: "v1/pods", Credit: 1 << 20}).Append(received)
	out := (&wire.AttachReader{Reader: 7, Allowed: everything, Room: 1 << 20}).Append(nil)
	require.NoError(t, r.engine.Step((&wire.ReaderMessage{Reader: 7, Data: received}).Append(out)))
	reported := map[string]int{}
	for range 10 { // the test does not respond to OpenStream
		require.NoError(t, each(r.engine.Ready(), func(kind wire.Type, payload []byte) error {
			if kind != wire.TypeSendReader {
				return nil
			}
			var f wire.SendReader
			require.NoError(t, f.Parse(payload))
			return each(f.Data, func(kind wire.Type, payload []byte) error {
				if kind != wire.TypeSourceError {
					return nil
				}
				var f wire.SourceError
				require.NoError(t, f.Parse(payload))
				reported[f.Status.Message]++
				return nil
			})
		}))
		r.engine.Advance()
		r.now += 1000
		r.engine.Tick(r.now)
	}
	require.Equal(t, map[string]int{"the server has no connection to its connector": 1}, reported)
}

// The readers of an engine receive the reason why its connector refuses a
// subscription, for example because the connector is behind.
func TestReadersOfAnEngineReceiveTheRefusalOfItsConnector(t *testing.T) {
	r := newRig(t)
	r.load(10)
	l := r.live()
	r.backend.serve(cacher.New(cacher.Config{Schema: podSchema}))
	r.backend.pods.Listing().Begin()
	r.backend.pods.Listing().End(50, r.now)
	r.session = nil
	r.step(&wire.StreamClosed{Stream: r.stream})
	for range 60 {
		l.wait(1000)
	}
	require.Equal(t, api.StateStale, l.state().State)
	require.Equal(t, 504, l.state().Status.Code)
	require.Zero(t, l.inspect("reconnects"), "it does not count as dead")
	r.backend.pods.Progress(100, r.now)
	for range 60 {
		l.wait(1000)
	}
	require.Equal(t, api.StateLive, l.state().State)
	require.Nil(t, l.state().Status)
}

// If a collection is refused permanently, the subscriptions of its readers end with the
// reason. Later subscriptions are refused with the same reason.
func TestReadersOfARefusedCollectionGetTheReason(t *testing.T) {
	r := newRig(t)
	r.load(10)
	l := r.bothLive()
	refusal := wire.SubscriptionStatus{Subscription: 1, Status: api.TooLarge("the message does not fit")}
	r.step(&wire.StreamData{Stream: r.stream, Data: refusal.Append(nil)})
	l.settle()
	require.Equal(t, api.StateClosed, r.state().State)
	require.Equal(t, api.StateClosed, l.state().State)
	require.Equal(t, "the message does not fit", l.state().Status.Message)

	late := r.leaf(8, 1<<20)
	late.do(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	require.Equal(t, api.StateClosed, late.state().State)
	require.Equal(t, "the message does not fit", late.state().Status.Message)
}

// An engine may close a reader's collection because of its memory limit before that
// reader subscribes again. The engine then refuses the subscription and does not open
// the collection again.
func TestCollectionTooLargeForItsReaderIsNotOpenedAgain(t *testing.T) {
	r := newRig(t)
	r.engine.cfg.MaxBytes = 1
	r.load(10)
	l := r.leaf(7, 1<<20)
	l.do(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	require.EqualValues(t, 1, r.inspect("subscriptions"))
	for range 10 {
		l.wait(1500)
	}
	require.Equal(t, api.StateClosed, l.state().State)
	require.Equal(t, 413, l.state().Status.Code)
	require.Zero(t, r.inspect("subscriptions"))
}

// Label sets count toward the memory limit, even if no object uses them.
func TestLabelSetsCountAsMemory(t *testing.T) {
	r := newRig(t)
	r.engine.cfg.MaxBytes = 10 << 20
	r.load(10)
	r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	large := strings.Repeat("x", 1<<20)
	for id := uint32(100); id < 130; id++ {
		f := wire.LabelSet{Subscription: 1, ID: id, Labels: api.Labels{{Key: "a", Value: large}}}
		r.step(&wire.StreamData{Stream: r.stream, Data: f.Append(nil)})
	}
	require.Equal(t, api.StateClosed, r.state().State)
	require.Equal(t, 413, r.state().Status.Code)
	require.EqualValues(t, 10, r.state().Objects, "existing objects remain")
	require.Less(t, r.engine.usedBytes(), uint64(1<<20), "unused objects are dropped")
}

// The total size of the dictionaries of one connection is bounded.
func TestDictionariesOfAConnectionAreBounded(t *testing.T) {
	r := newRig(t)
	r.load(10)
	r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	send := func(id uint32) {
		f := wire.Dictionary{ID: id, Data: make([]byte, 8<<20)}
		r.step(&wire.StreamData{Stream: r.stream, Data: f.Append(nil)})
	}
	for id := range uint32(8) {
		send(id + 1)
	}
	require.Equal(t, api.StateLive, r.state().State)
	send(9)
	require.Equal(t, api.StateReconnecting, r.state().State)
	require.Contains(t, r.state().Status.Message, "exceed 64 MiB")
}

// The number of dictionaries of one connection is bounded, even if they are empty.
func TestNumberOfDictionariesOfAConnectionIsBounded(t *testing.T) {
	r := newRig(t)
	r.load(10)
	r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	var frames []byte
	for id := range uint32(1024) {
		frames = (&wire.Dictionary{ID: id + 1}).Append(frames)
	}
	r.step(&wire.StreamData{Stream: r.stream, Data: frames})
	require.Equal(t, api.StateLive, r.state().State)
	r.step(&wire.StreamData{Stream: r.stream, Data: (&wire.Dictionary{ID: 1025}).Append(nil)})
	require.Equal(t, api.StateReconnecting, r.state().State)
	require.Contains(t, r.state().Status.Message, "more than 1024 dictionaries")
}

// A collection whose source lags is stale, even if it receives changes, because late
// changes are not progress.
func TestLateChangesAreNotProgress(t *testing.T) {
	r := newRig(t)
	r.load(10)
	l := r.bothLive()
	random, rv := rand.New(rand.NewSource(1)), uint64(100)
	for range 3*defaultProgressMillis/1000 + 1 {
		r.churn(random, &rv)
		l.silence(1000)
	}
	for _, state := range []wire.CollectionState{r.state(), l.state()} {
		require.Equal(t, api.StateStale, state.State)
		require.EqualValues(t, rv, state.ResourceVersion, "new data is accepted")
		require.Contains(t, state.Status.Message, "is lagging")
	}
	require.Zero(t, r.inspect("reconnects"), "it does not count as dead")

	r.churn(random, &rv)
	r.backend.pods.Progress(api.ResourceVersion(rv), r.now)
	for range 12 {
		l.silence(1000)
	}
	require.Equal(t, api.StateLive, r.state().State)
	require.Equal(t, api.StateLive, l.state().State)
}

// Dictionaries count toward the memory limit. A collection may store one dictionary
// for each connector that sent one of its objects.
func TestDictionariesCountAsMemory(t *testing.T) {
	r := newRig(t)
	r.engine.cfg.MaxBytes = 10 << 20
	r.load(10)
	r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	r.step(&wire.StreamData{Stream: r.stream, Data: (&wire.Dictionary{ID: 1, Data: make([]byte, 11<<20)}).Append(nil)})
	require.Equal(t, api.StateLive, r.state().State)
	schema := wire.Schema{Subscription: 1, Schema: podSchema, Dictionary: 1}
	r.step(&wire.StreamData{Stream: r.stream, Data: schema.Append(nil)})
	require.Equal(t, api.StateClosed, r.state().State)
	require.Equal(t, 413, r.state().Status.Code)
	require.EqualValues(t, 10, r.state().Objects, "existing objects remain")
}

// A connector that ends the connection with a retry time is not contacted before
// that time.
func TestR9_RetryAfterOfTheConnectorIsObserved(t *testing.T) {
	r := newRig(t)
	r.load(10)
	r.step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
	full := api.TooManyRequests("there are too many readers", 20)
	r.step(&wire.StreamData{Stream: r.stream, Data: (&wire.SubscriptionStatus{Status: full}).Append(nil)})
	require.Equal(t, api.StateReconnecting, r.state().State)
	require.Equal(t, r.now+20_000, r.state().NextAttemptMillis)
}
