package reflector_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/reflector"
	"github.com/watchglass/watchglass/core/wire"
)

// rig is a reflector with the cacher it feeds.
type rig struct {
	*reflector.Reflector
	t      *testing.T
	cacher *cacher.Cacher
	now    int64
}

func newRig(t *testing.T) *rig { return newRigOf(t, reflector.Scope{Resource: "v1/pods"}) }

func newRigOf(t *testing.T, scope reflector.Scope) *rig {
	var subscriptions uint32
	c := cacher.New(cacher.Config{})
	r := &rig{t: t, cacher: c, Reflector: reflector.New(reflector.Config{
		Scope: scope, Credit: 1 << 20, Rand: lite.NewRand(1),
		NextSubscription: func() uint32 { subscriptions++; return subscriptions },
	}, c)}
	r.at(1_000_000)
	return r
}

func (r *rig) at(now int64) {
	r.now = now
	r.cacher.Tick(now)
	r.Tick(now)
}

// asked returns the Subscribe frame in the output, or nil, and clears the output. The
// test fails if the output contains several Subscribe frames.
func (r *rig) asked() *wire.Subscribe {
	r.t.Helper()
	var found *wire.Subscribe
	for out := r.Outgoing(); len(out) > 0; {
		frameType, payload, rest, err := wire.Next(out)
		require.NoError(r.t, err)
		if frameType == wire.TypeSubscribe {
			require.Nil(r.t, found, "one at a time")
			found = &wire.Subscribe{}
			require.NoError(r.t, found.Parse(payload))
		}
		out = rest
	}
	return found
}

// described sends the schema, and the definition of the only label set.
func (r *rig) described() {
	require.True(r.t, r.Schema(&wire.Schema{Schema: objects.Pods()}, nil))
	r.Receive(&wire.LabelSet{ID: 1, Labels: api.Labels{{Key: "app", Value: "web"}}}, 0)
}

// listed sends a snapshot to the reflector.
func (r *rig) listed(rv api.ResourceVersion, list ...string) {
	r.t.Helper()
	r.described()
	require.NoError(r.t, r.Receive(&wire.SnapshotBegin{ResourceVersion: rv}, 0))
	require.NoError(r.t, r.Receive(&wire.SnapshotPart{Objects: changes(api.Added, list...)}, 1))
	require.NoError(r.t, r.Receive(&wire.SnapshotEnd{ResourceVersion: rv}, 0))
}

func changes(kind api.EventType, list ...string) []wire.Change {
	var all []wire.Change
	for _, text := range list {
		p := objects.Update(text)
		c := wire.Change{Type: kind, ResourceVersion: p.ResourceVersion, LabelSet: 1, Key: api.Key(string(p.Envelope.Key())), Envelope: p.Envelope}
		if kind == api.Deleted {
			c = wire.Change{Type: kind, ResourceVersion: p.ResourceVersion, Key: api.Key(string(p.Envelope.Key()))}
		}
		all = append(all, c)
	}
	return all
}

func (r *rig) state() api.State { return r.State().State }

// following returns a reflector that is live at version 5.
func following(t *testing.T) *rig {
	r := newRig(t)
	r.Connected(5000)
	r.asked()
	r.listed(5, "default/a rv=3", "default/b rv=5")
	require.Equal(t, api.StateLive, r.state())
	return r
}

func TestR1_SubscribeRequest(t *testing.T) {
	r := newRig(t)
	require.Nil(t, r.asked(), "no request without a connection")
	r.Connected(5000)
	first := r.asked()
	require.Zero(t, first.ResourceVersion, "the first request accepts any state")
	require.Zero(t, first.NotOlderThan)

	r.listed(5, "default/a rv=3")
	r.Disconnected(api.Unavailable("cut"))
	r.Connected(5000)
	require.EqualValues(t, 5, r.asked().ResourceVersion, "it resumes from the stored version")

	r.Receive(&wire.SubscriptionStatus{Status: api.Expired("too old")}, 0)
	again := r.asked()
	require.Zero(t, again.ResourceVersion, "after a 410 it starts over")
	require.EqualValues(t, 5, again.NotOlderThan, "but does not accept an older state")

	r.Disconnected(api.Unavailable("cut"))
	r.Connected(5000)
	require.Zero(t, r.asked().ResourceVersion, "the 410 applies until a new state is complete")
	r.listed(9, "default/a rv=9")
	r.Disconnected(api.Unavailable("cut"))
	r.Connected(5000)
	require.EqualValues(t, 9, r.asked().ResourceVersion)
}

// A snapshot arrives as a stream that continues with the changes (R4). It is stored
// separately, and replaces the state only at its end mark (R11).
func TestR4_SnapshotReplacesTheStateAtItsEnd(t *testing.T) {
	r := following(t)
	r.Receive(&wire.SubscriptionStatus{Status: api.Expired("too old")}, 0)
	r.asked()
	r.described()
	require.NoError(t, r.Receive(&wire.SnapshotBegin{ResourceVersion: 8}, 0))
	require.NoError(t, r.Receive(&wire.SnapshotPart{Objects: changes(api.Added, "default/c rv=8")}, 1))
	require.NoError(t, r.Receive(&wire.Events{ResourceVersion: 9, Changes: changes(api.Added, "default/d rv=9")}, 1))
	require.NoError(t, r.Receive(&wire.Events{ResourceVersion: 10, Changes: changes(api.Deleted, "default/c rv=10")}, 1))
	require.EqualValues(t, 5, r.cacher.ResourceVersion())
	require.Equal(t, 2, r.cacher.State().Len())
	require.NoError(t, r.Receive(&wire.SnapshotEnd{ResourceVersion: 10}, 0))
	require.EqualValues(t, 10, r.cacher.ResourceVersion())
	require.Equal(t, 1, r.cacher.State().Len())
	require.NotZero(t, r.cacher.State().Get("default/d"))
	require.Equal(t, api.StateLive, r.state(), "the same stream continues")
	require.NoError(t, r.Receive(&wire.Events{ResourceVersion: 11, Changes: changes(api.Modified, "default/d rv=11")}, 1))
	require.Nil(t, r.asked())
}

func TestR6_EventsChangeTheState(t *testing.T) {
	for name, c := range map[string]struct {
		kind    api.EventType
		object  string
		rv      api.ResourceVersion // version of the object afterwards; zero if the object is deleted
		current api.ResourceVersion
	}{
		"added":                {api.Added, "default/c rv=7", 7, 7},
		"added that is known":  {api.Added, "default/a rv=7", 7, 7},
		"modified":             {api.Modified, "default/a rv=7", 7, 7},
		"modified, unknown":    {api.Modified, "default/c rv=7", 7, 7},
		"deleted":              {api.Deleted, "default/a rv=7", 0, 7},
		"deleted, unknown":     {api.Deleted, "default/c rv=7", 0, 7},
		"repeated change":      {api.Modified, "default/b rv=5", 5, 5},
		"change from the past": {api.Deleted, "default/a rv=4", 3, 5},
	} {
		t.Run(name, func(t *testing.T) {
			r := following(t)
			all := changes(c.kind, c.object)
			require.NoError(t, r.Receive(&wire.Events{ResourceVersion: all[0].ResourceVersion, Changes: all}, 1))
			ref := r.cacher.State().Get(objects.Update(c.object).Envelope.Key())
			require.Equal(t, c.rv != 0, ref != 0)
			if ref != 0 {
				require.Equal(t, c.rv, r.cacher.Arena().ResourceVersion(ref))
			}
			require.Equal(t, c.current, r.cacher.ResourceVersion())
		})
	}
}

// The version to resume from advances with Events and Progress, and never goes back (R7).
// A frame of events contains whole revisions, and Progress advances the version without a
// change.
func TestR7_ResumeVersion(t *testing.T) {
	r := following(t)
	require.NoError(t, r.Receive(&wire.Events{ResourceVersion: 7, Changes: changes(api.Modified, "default/a rv=7", "default/b rv=7")}, 1))
	require.NoError(t, r.Receive(&wire.Progress{ResourceVersion: 12}, 0))
	require.NoError(t, r.Receive(&wire.Progress{ResourceVersion: 11}, 0))
	r.Disconnected(api.Unavailable("cut"))
	r.Connected(5000)
	require.EqualValues(t, 12, r.asked().ResourceVersion)
}

// The status that ends a subscription determines the state of the collection and the
// time of the next attempt (R9).
func TestR9_EndOfASubscription(t *testing.T) {
	const never = -1
	for name, c := range map[string]struct {
		status *api.Status
		state  api.State
		least  int64 // minimum delay of the next attempt
		most   int64
		resume api.ResourceVersion
	}{
		"410":       {api.Expired("gone"), api.StateSyncing, 0, 0, 0},
		"429":       {api.TooManyRequests("slow down", 7), api.StateReconnecting, 7000, 7000, 5},
		"500":       {api.Internal("no leader"), api.StateReconnecting, 800, 1600, 5},
		"503":       {api.Unavailable("starting"), api.StateReconnecting, 800, 1600, 5},
		"504":       {api.TooLargeResourceVersion(5, 4), api.StateReconnecting, 1000, 1600, 5},
		"401":       {api.Unauthorized("who"), api.StateForbidden, 30_000, 30_000, 5},
		"403":       {api.Forbidden("no"), api.StateForbidden, 30_000, 30_000, 5},
		"400":       {api.BadRequest("what"), api.StateClosed, never, never, 0},
		"404":       {api.NotFound("where"), api.StateReconnecting, 800, 1600, 5},
		"413":       {api.TooLarge("how much"), api.StateClosed, never, never, 0},
		"422":       {api.Invalid("why"), api.StateClosed, never, never, 0},
		"no reason": {nil, api.StateReconnecting, 800, 1600, 5},
	} {
		t.Run(name, func(t *testing.T) {
			r := following(t)
			r.Receive(&wire.SubscriptionStatus{Status: c.status}, 0)
			require.Equal(t, c.state, r.state())
			require.Equal(t, 2, r.cacher.State().Len(), "the state remains")
			start, waited := r.now, int64(never)
			var next *wire.Subscribe
			for ; r.now <= start+60_000; r.at(r.now + 100) {
				if next = r.asked(); next != nil {
					waited = r.now - start
					break
				}
			}
			if c.least == never {
				require.Nil(t, next)
				require.Zero(t, r.NextTick())
				return
			}
			require.NotNil(t, next)
			require.GreaterOrEqual(t, waited, c.least)
			require.LessOrEqual(t, waited, c.most+100)
			require.Equal(t, c.resume, next.ResourceVersion)
		})
	}
}

func TestR10_Backoff(t *testing.T) {
	b := reflector.NewBackoff(lite.NewRand(7))
	now, delay := int64(0), int64(800)
	for range 12 {
		next := b.Next(now)
		require.GreaterOrEqual(t, next-now, delay)
		require.Less(t, next-now, 2*delay)
		now, delay = next, min(2*delay, 30_000)
	}
	now += 120_001
	require.Less(t, b.Next(now)-now, int64(1600), "after two quiet minutes the back-off restarts")
}

func TestFramesOutOfTurn(t *testing.T) {
	begin := func(r *rig) error { return r.Receive(&wire.SnapshotBegin{ResourceVersion: 9}, 0) }
	part := func(r *rig) error { return r.Receive(&wire.SnapshotPart{}, 1) }
	end := func(r *rig) error { return r.Receive(&wire.SnapshotEnd{ResourceVersion: 9}, 0) }
	events := func(r *rig) error { return r.Receive(&wire.Events{ResourceVersion: 9}, 1) }
	progress := func(r *rig) error { return r.Receive(&wire.Progress{ResourceVersion: 9}, 0) }
	listing := func(t *testing.T) *rig {
		r := newRig(t)
		r.Connected(5000)
		r.described()
		require.NoError(t, begin(r))
		return r
	}
	for name, c := range map[string]struct {
		in      func(*testing.T) *rig
		frame   func(*rig) error
		message string
	}{
		"a snapshot in a snapshot":          {listing, begin, "without a request for a snapshot"},
		"a snapshot that was not requested": {following, begin, "without a request for a snapshot"},
		"a part of nothing":                 {following, part, "outside of a snapshot"},
		"an end of nothing":                 {following, end, "outside of a snapshot"},
		"progress in a snapshot":            {listing, progress, "before the response to the subscription"},
		"events before anything":            {newRig, events, "before the response to the subscription"},
		"progress before anything":          {newRig, progress, "before the response to the subscription"},
		"an undefined label set": {following, func(r *rig) error {
			all := changes(api.Added, "default/c rv=9")
			all[0].LabelSet = 99
			return r.Receive(&wire.Events{ResourceVersion: 9, Changes: all}, 1)
		}, "default/c refers to an undefined label set"},
		"a snapshot of the past": {following, func(r *rig) error {
			r.Receive(&wire.SubscriptionStatus{Status: api.Expired("too old")}, 0)
			r.described()
			require.NoError(r.t, r.Receive(&wire.SnapshotBegin{ResourceVersion: 4}, 0))
			return r.Receive(&wire.SnapshotEnd{ResourceVersion: 4}, 0)
		}, "older than the current state: version 4 after 5"},
	} {
		t.Run(name, func(t *testing.T) {
			r := c.in(t)
			rv := r.cacher.ResourceVersion()
			err := c.frame(r)
			require.ErrorIs(t, err, api.Protocol(""))
			require.ErrorContains(t, err, c.message)
			require.Equal(t, rv, r.cacher.ResourceVersion(), "no object was applied")
		})
	}
}

// A silent subscription is replaced, although its connection may be alive. Meanwhile
// the state becomes stale.
func TestSilentSubscriptionIsReplaced(t *testing.T) {
	r := following(t)
	progressAt := r.now
	r.at(progressAt + 14_999)
	require.Nil(t, r.asked())
	require.Equal(t, api.StateLive, r.state())
	r.at(progressAt + 15_000)
	require.EqualValues(t, 5, r.asked().ResourceVersion)
	require.Equal(t, api.StateStale, r.state())
	require.NoError(t, r.Receive(&wire.Progress{ResourceVersion: 5}, 0))
	require.Equal(t, api.StateLive, r.state())
}

// If a connector loses its source, the collection's status is the error of the source,
// and the subscription continues.
func TestErrorOfTheSourceIsTheReason(t *testing.T) {
	gone := api.Unavailable("the source is down")
	r := newRig(t)
	r.Connected(5000)
	r.asked()
	for range 10 {
		r.at(r.now + 5000)
		r.Receive(&wire.SourceError{Status: gone}, 0)
		require.Nil(t, r.asked(), "the subscription stays")
		require.Equal(t, api.StateConnecting, r.state())
		require.Equal(t, gone, r.State().Status)
	}
	r.listed(5)
	require.Equal(t, api.StateLive, r.state())
	require.Nil(t, r.State().Status)

	progressAt := r.now
	r.at(progressAt + 10_000)
	r.Receive(&wire.SourceError{Status: gone}, 0)
	require.Equal(t, api.StateReconnecting, r.state(), "a state with possible gaps is not live")
	require.Equal(t, gone, r.State().Status)
	require.EqualValues(t, progressAt+15_000, r.NextTick(), "a SourceError does not refresh the state")
	r.at(progressAt + 15_000)
	require.Nil(t, r.asked())
	require.Equal(t, api.StateStale, r.state())
	require.Equal(t, gone, r.State().Status)
	r.at(progressAt + 25_000)
	require.NotNil(t, r.asked(), "silence after a SourceError still makes it stale")
}

func TestReadsAreDeniedUnlessAnAttemptIsUndecided(t *testing.T) {
	for code, status := range map[int]*api.Status{401: api.Unauthorized("who"), 403: api.Forbidden("no"), 404: api.NotFound("where")} {
		r := newRig(t)
		r.Opening()
		r.Connected(5000)
		var reported *api.Status
		r.cacher.Waits().WhenFresh(0, func(s *api.Status) { reported = s })
		require.Nil(t, r.Denied())
		r.Receive(&wire.SubscriptionStatus{Status: status}, 0)
		require.Equal(t, code, r.Denied().Code)
		require.Equal(t, code, reported.Code, "the waiting read is reported")
		require.Equal(t, code, r.State().Status.Code)
		state := r.state()
		r.at(r.now + 30_000)
		require.Nil(t, r.Denied(), "the attempt is undecided")
		require.Equal(t, state, r.state())
		r.listed(5)
		require.Nil(t, r.Denied())
		r.Receive(&wire.SubscriptionStatus{Status: status}, 0)
		require.Nil(t, r.Denied(), "a state is readable")
		require.Equal(t, code, r.State().Status.Code)
	}
}

func TestReadsAreDeniedWhileNoConnectionIsOpened(t *testing.T) {
	r := newRig(t)
	r.Disconnected(api.Unauthorized("the token has expired"))
	require.Equal(t, 401, r.Denied().Code)
	r.Opening()
	require.Nil(t, r.Denied(), "the connector may accept the token now")
	r.Disconnected(api.Unauthorized("the token has expired"))
	require.Equal(t, 401, r.Denied().Code)
	r.Disconnected(api.Unavailable("no route"))
	require.Nil(t, r.Denied(), "the next attempt may succeed")
}

// The connector's estimate of the number of objects is limited, because JavaScript
// represents integers exactly only up to 53 bits.
func TestSnapshotEstimateIsBoundedTo53Bits(t *testing.T) {
	r := newRig(t)
	r.Connected(10_000)
	r.described()
	require.NoError(t, r.Receive(&wire.SnapshotBegin{Total: 1 << 60}, 0))
	require.Equal(t, api.StateSyncing, r.State().State)
	require.Less(t, r.State().Total, uint64(1<<53))
}

// The status reports why progress is missing once the collection is stale. The reason for
// a refusal replaces this status.
func TestMissedProgress(t *testing.T) {
	r := following(t)
	why := api.Unavailable("the source does not report progress")
	r.Direct().Missed(why)
	require.Nil(t, r.State().Status)
	r.Tick(1 << 40)
	require.Equal(t, api.StateStale, r.State().State)
	require.Equal(t, why, r.State().Status)
	r.Refuse(api.TooLarge("too many"))
	require.Equal(t, api.StateClosed, r.State().State)
	require.Equal(t, 413, r.State().Status.Code)
}
