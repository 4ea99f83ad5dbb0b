package reflector_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/wire"
)

// This file tests a subscription that receives a delta whose base is missing.

// delta returns a change whose body is a delta from the version base, which the reader
// should have.
func delta(kind api.EventType, text string, base api.ResourceVersion) wire.Change {
	c := changes(kind, text)[0]
	c.Envelope = c.Envelope.AppendWithBody(nil, api.Body{Codec: api.Delta, Data: []byte{1}})
	c.Base.ResourceVersion = base
	return c
}

// patched returns a change whose envelope is a patch of an earlier version.
func patched(t *testing.T, previous, current string) wire.Change {
	before, c := objects.Update(previous), changes(api.Modified, current)[0]
	patch, ok := wire.AppendPatch(nil, before.Envelope, c.Envelope, c.Envelope.Body())
	require.True(t, ok)
	c.Envelope, c.Patch, c.Previous = nil, patch, before.ResourceVersion
	return c
}

const (
	first  = `default/a rv=3 body={"v":3}`
	second = `default/a rv=5 body={"v":5}`
)

// holding returns a reflector that is live at version 5. Version 3 of default/a is the
// base of version 5, the body of default/b is itself a base, and default/c has no body.
func holding(t *testing.T) *rig {
	r := newRig(t)
	r.Connected(5000)
	r.asked()
	r.listed(4, first, `default/b rv=4 body={"v":4}`, "default/c rv=2")
	require.NoError(t, r.Receive(&wire.Events{ResourceVersion: 5, Changes: []wire.Change{delta(api.Modified, second, 3)}}, 1))
	require.Equal(t, api.StateLive, r.state())
	return r
}

// unsubscribed returns the subscription that the Unsubscribe frame in the output ends.
// The test fails if the output contains any other frame.
func (r *rig) unsubscribed() uint32 {
	r.t.Helper()
	frameType, payload, rest, err := wire.Next(r.Outgoing())
	require.NoError(r.t, err)
	require.Equal(r.t, wire.TypeUnsubscribe, frameType)
	require.Empty(r.t, rest)
	var f wire.Unsubscribe
	require.NoError(r.t, f.Parse(payload))
	return f.Subscription
}

func TestDifferencesFromStoredVersions(t *testing.T) {
	for name, c := range map[string]wire.Change{
		"from the version held":             delta(api.Modified, "default/b rv=7", 4),
		"from the base of the version held": delta(api.Modified, "default/a rv=7", 3),
		"a patch of the version held":       patched(t, second, "default/a rv=7 phase=Failed"),
	} {
		t.Run(name, func(t *testing.T) {
			r := holding(t)
			require.NoError(t, r.Receive(&wire.Events{ResourceVersion: 7, Changes: []wire.Change{c}}, 1))
			require.Equal(t, api.StateLive, r.state())
			require.EqualValues(t, 7, r.cacher.Arena().ResourceVersion(r.cacher.State().Get(c.Key)))
			require.Zero(t, r.Missing)
		})
	}
}

func TestDifferencesFromMissingVersionsStartOver(t *testing.T) {
	for name, c := range map[string]struct {
		change  wire.Change
		message string
	}{
		"of an object that is not here": {delta(api.Modified, "default/x rv=7", 3),
			"the body of default/x at version 7 is a delta from version 3, which is missing"},
		"from a version that is a difference itself": {delta(api.Modified, "default/a rv=7", 5),
			"the body of default/a at version 7 is a delta from version 5, which is missing"},
		"from a version before the one that is here": {delta(api.Modified, "default/b rv=7", 3),
			"the body of default/b at version 7 is a delta from version 3, which is missing"},
		"from a version without a body": {delta(api.Modified, "default/c rv=7", 2),
			"the body of default/c at version 7 is a delta from version 2, which is missing"},
		"a patch of another version": {patched(t, first, "default/a rv=7 phase=Failed"),
			"version 7 of default/a is a patch of version 3, which is missing"},
		"a patch of a missing object": {patched(t, "default/x rv=3", "default/x rv=7 phase=Failed"),
			"version 7 of default/x is a patch of version 3, which is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			r := holding(t)
			given, held := r.Subscription(), r.cacher.State().Get(c.change.Key)
			frame := wire.Events{ResourceVersion: 7, Changes: []wire.Change{c.change, changes(api.Deleted, "default/b rv=7")[0]}}
			require.NoError(t, r.Receive(&frame, 1), "the connection and its other subscriptions continue")
			require.Equal(t, given, r.unsubscribed())
			require.Zero(t, r.Subscription(), "later frames of it are ignored")
			require.EqualValues(t, 1, r.Missing)
			require.Equal(t, api.Protocol(c.message), r.State().Status)
			require.Equal(t, api.StateReconnecting, r.state())
			require.Equal(t, held, r.cacher.State().Get(c.change.Key), "the object is unchanged")
			require.EqualValues(t, 5, r.cacher.ResourceVersion())
			require.NotZero(t, r.cacher.State().Get("default/b"), "later changes of the frame are not applied")
			r.recovers()
		})
	}
}

// recovers waits for the next subscription, which requests a snapshot after one back-off,
// and responds with a snapshot.
func (r *rig) recovers() {
	r.t.Helper()
	start := r.now
	require.GreaterOrEqual(r.t, r.NextTick()-start, int64(800), "not at once")
	require.LessOrEqual(r.t, r.NextTick()-start, int64(1600))
	r.at(r.NextTick() - 1)
	require.Nil(r.t, r.asked())
	r.at(r.NextTick())
	again := r.asked()
	require.NotNil(r.t, again)
	require.Zero(r.t, again.ResourceVersion, "it starts over")
	require.EqualValues(r.t, 5, again.NotOlderThan, "and does not go back")
	require.Equal(r.t, api.StateSyncing, r.state())
	r.listed(8, "default/a rv=8")
	require.Equal(r.t, api.StateLive, r.state())
	require.Nil(r.t, r.State().Status)
	require.Equal(r.t, 1, r.cacher.State().Len())
	require.EqualValues(r.t, 1, r.Missing)
}

// A base is usable only with the dictionary that it was encoded with.
func TestDifferencesUnderAnotherDictionary(t *testing.T) {
	r := holding(t)
	require.True(t, r.Schema(&wire.Schema{Schema: objects.Pods(), Dictionary: 1}, []byte("another")))
	require.NoError(t, r.Receive(&wire.Events{ResourceVersion: 7, Changes: []wire.Change{delta(api.Modified, "default/b rv=7", 4)}}, 1))
	require.EqualValues(t, 1, r.Missing)
	require.ErrorIs(t, r.State().Status, api.Protocol(""))
}

// If a snapshot contains a difference from a missing version, the new state is dropped
// and the old state remains.
func TestDifferencesFromVersionsMissingInTheSnapshot(t *testing.T) {
	part := func(c wire.Change) func(*rig) error {
		return func(r *rig) error { return r.Receive(&wire.SnapshotPart{Objects: []wire.Change{c}}, 1) }
	}
	for name, take := range map[string]func(*rig) error{
		"an object without its base": part(delta(api.Added, "default/x rv=8", 3)),
		"a patch":                    part(patched(t, second, "default/a rv=8 phase=Failed")),
		"a change behind the parts": func(r *rig) error {
			return r.Receive(&wire.Events{ResourceVersion: 9, Changes: []wire.Change{delta(api.Modified, "default/x rv=9", 3)}}, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := holding(t)
			r.Receive(&wire.SubscriptionStatus{Status: api.Expired("too old")}, 0)
			given := r.asked().Subscription
			r.described()
			require.NoError(t, r.Receive(&wire.SnapshotBegin{ResourceVersion: 8}, 0))
			require.NoError(t, take(r))
			require.Equal(t, given, r.unsubscribed())
			_, listing := r.cacher.Listing().Len()
			require.False(t, listing)
			require.Equal(t, 3, r.cacher.State().Len())
			require.ErrorIs(t, r.State().Status, api.Protocol(""))
			r.recovers()
		})
	}
}

// The delay grows with each failure, which limits the number of snapshots that a faulty
// connector sends.
func TestRepeatedMissingVersionsBackOff(t *testing.T) {
	r := holding(t)
	least := int64(800)
	for rv := api.ResourceVersion(10); rv < 16; rv++ {
		require.NoError(t, r.Receive(&wire.Events{ResourceVersion: rv, Changes: []wire.Change{delta(api.Modified, "default/x rv="+rv.String(), 3)}}, 1))
		for again := r.now + least; r.now < again; r.at(min(again, r.NextTick())) {
			require.Nil(t, r.asked())
		}
		for r.asked() == nil {
			r.at(r.NextTick())
		}
		least = min(2*least, 30_000)
		r.listed(rv, "default/a rv=3")
	}
	require.EqualValues(t, 6, r.Missing)
}

// The error for a persisted state that lacks a base names that base, and not the frame
// that follows.
func TestReplayErrorNamesTheMissingBase(t *testing.T) {
	stored := (&wire.Schema{Subscription: 1, Schema: objects.Pods()}).Append(nil)
	stored = (&wire.LabelSet{Subscription: 1, ID: 1}).Append(stored)
	stored = (&wire.SnapshotBegin{Subscription: 1, ResourceVersion: 8}).Append(stored)
	stored = (&wire.SnapshotPart{Subscription: 1, Objects: []wire.Change{delta(api.Added, "default/a rv=8", 3)}}).Append(stored)
	stored = (&wire.SnapshotEnd{Subscription: 1, ResourceVersion: 8}).Append(stored)
	r := newRig(t)
	err := r.Restored().Replay(stored, r.now)
	require.Equal(t, api.Protocol("the body of default/a at version 8 is a delta from version 3, which is missing"), err)
	require.False(t, r.Restored().End())
}
