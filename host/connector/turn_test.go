package connector_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/host/connector"
	"github.com/watchglass/watchglass/host/connector/connectortest"
)

// syncing is a reader that is receiving its first snapshot.
type syncing struct {
	*connectortest.Reader
	subscription *connectortest.Subscription
}

// receive receives up to n messages, but none after the end of the snapshot.
func (s syncing) receive(ctx context.Context, n int) error {
	last := s.Messages + n
	return s.Until(ctx, func() bool { return s.subscription.Synced || s.Messages == last })
}

// fewestSent returns the smallest number of messages that any reader was sent.
func (w *world) fewestSent() int {
	readers := w.connector.Readers()
	fewest := readers[0].Sent.Messages
	for _, r := range readers {
		fewest = min(fewest, r.Sent.Messages)
	}
	return int(fewest)
}

// lap makes all readers wait for their next message at the same time, and then lets them
// receive two messages. It asserts that no reader receives its second message before the
// connector has sent every other reader its first.
func (w *world) lap(all []syncing) {
	synctest.Wait()
	sent := w.fewestSent()
	release := w.connector.HoldTurn()
	defer release()
	for _, r := range all {
		require.Equal(w.t, sent-1, r.Messages, "one message is being written")
		require.NoError(w.t, r.receive(w.t.Context(), 1))
	}
	synctest.Wait()
	require.Equal(w.t, sent, w.fewestSent(), "every reader waits for its turn")
	var receiving sync.WaitGroup
	for _, r := range all {
		receiving.Go(func() {
			assert.NoError(w.t, r.receive(w.t.Context(), 2))
			if r.Messages == sent+2 {
				assert.Greater(w.t, w.fewestSent(), sent, "a reader has received two messages, and another was sent none")
			}
		})
	}
	release()
	receiving.Wait()
	require.False(w.t, w.t.Failed())
}

// When readers request a large snapshot at the same time, the connector sends a message to
// each waiting reader before it sends two messages to any other (rule B39).
func TestB39_FirstSyncsTakeTurns(t *testing.T) {
	const readers, objects = 8, 1500
	run(t, connector.Config{MessageBytes: 8 << 10}, func(t *testing.T, w *world) {
		w.fill(objects)
		all := make([]syncing, readers)
		for i := range all {
			r := w.reader()
			all[i] = syncing{r, w.subscribe(r, wire.Subscribe{})}
		}
		laps := 0
		for ; !all[0].subscription.Synced; laps++ {
			w.lap(all)
		}
		for _, r := range all {
			require.NoError(t, r.receive(t.Context(), 1))
			require.Len(t, r.subscription.Objects, objects)
			require.Equal(t, all[0].Messages, r.Messages)
			require.Zero(t, r.Fragments)
		}
		require.Greater(t, laps, 3)
	})
}
