package core

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// change returns a copy of a message in which the last byte before the Checksum frame
// is different.
func change(t *testing.T, message []byte) []byte {
	t.Helper()
	changed := bytes.Clone(message)
	for left := changed; len(left) > 0; {
		kind, _, rest, err := wire.Next(left)
		require.NoError(t, err)
		if kind == wire.TypeChecksum {
			changed[len(changed)-len(left)-1] ^= 1
			return changed
		}
		left = rest
	}
	require.Fail(t, "a message without a checksum")
	return nil
}

// A message with bodies that is changed in transit has no effect, and the bodies are
// requested again (rule B32).
func TestChangedMessageIsRefused(t *testing.T) {
	r := newRowsRig(t, wire.Config{})
	r.untilRows()
	loaded := r.state.Bodies
	r.deliver(change(t, r.message(1)))
	require.Equal(t, loaded, r.state.Bodies)
	require.Contains(t, r.state.Status.Message, "its checksum does not match")
	require.EqualValues(t, 1, r.engine.origin.(*connection).corrupt)
	r.untilAll()
	require.Equal(t, api.ResourceVersion(rowsPods), r.asked[1].ResourceVersion, "it resumes")
	r.requireBodies()
}

// A Durable Object also sends checksums, so its readers refuse a changed event. Without the
// checksum, they could mistake the changed event for another valid event (rule B32).
func TestChangedMessageOfAnEdgeIsRefused(t *testing.T) {
	r := newRig(t)
	r.load(3)
	l := r.bothLive()
	l.changed = func(message []byte) []byte {
		l.changed = nil
		return change(t, message)
	}
	r.backend.pods.Apply(pod("default/p1", 50, "web", "Running"), r.now)
	l.wait(1000)
	require.EqualValues(t, 1, l.inspect("corruptMessages"))
	l.wait(5000)
	require.Equal(t, api.StateLive, l.state().State)
	require.EqualValues(t, 1, l.inspect("collection.1.resumes"))
	require.Equal(t, r.objects(1), l.objects(1))
}
