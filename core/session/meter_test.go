package session_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/watcher"
	"github.com/watchglass/watchglass/core/wire"
)

// synced represents a SnapshotEnd in the result of frames.
const synced = "synced"

// metered is a session with one subscription.
type metered struct {
	*session.Session
	t     *testing.T
	meter *watcher.Meter
}

func newMetered(t *testing.T, c *session.Collection, f wire.Subscribe) *metered {
	m := &metered{t: t, meter: &watcher.Meter{}}
	m.Session = session.New(session.Config{Meter: m.meter}, one{c})
	f.Subscription, f.Resource, f.ClusterID, f.Credit = 1, "v1/pods", "here", 1<<40
	require.NoError(t, m.Receive(f.Append((&wire.Hello{Version: wire.Version}).Append(nil)), 1000))
	return m
}

func (m *metered) evaluations() uint64 { return m.States()[0].Evaluations }

// frames reads the next message. It returns the keys of objects, the versions of changes,
// and synced, in order. The available evaluations limit that message.
func (m *metered) frames() (all []string) {
	for message := m.Next(1<<20, 1000); len(message) > 0; {
		kind, payload, rest, err := wire.Next(message)
		require.NoError(m.t, err)
		switch kind {
		case wire.TypeSnapshotPart:
			var f wire.SnapshotPart
			require.NoError(m.t, f.Parse(payload))
			for i := range f.Objects {
				all = append(all, string(f.Objects[i].Envelope.Key()))
			}
		case wire.TypeEvents:
			var f wire.Events
			require.NoError(m.t, f.Parse(payload))
			for i := range f.Changes {
				all = append(all, f.Changes[i].ResourceVersion.String())
			}
		case wire.TypeSnapshotEnd:
			all = append(all, synced)
		}
		message = rest
	}
	return all
}

func TestASnapshotStopsWhereTheMeterIsExhausted(t *testing.T) {
	const objects, chunk = 1000, 50
	for selected, labels := range map[int]string{0: "app=none", 1: "app=app-700"} {
		t.Run(labels, func(t *testing.T) {
			c := newLabelled(objects, 1)
			m := newMetered(t, c.Collection, wire.Subscribe{LabelSelector: labels})
			assert.Empty(t, m.frames(), "no evaluations are granted")
			assert.Zero(t, m.evaluations())
			var all []string
			var last uint64
			rounds := 0
			for ; len(all) == 0 || all[len(all)-1] != synced; rounds++ {
				require.Less(t, rounds, objects)
				m.meter.Grant(chunk)
				all = append(all, m.frames()...)
				assert.LessOrEqual(t, m.evaluations()-last, uint64(chunk), "at once")
				last = m.evaluations()
			}
			assert.Len(t, all, selected+1)
			assert.InDelta(t, 2*objects/chunk, rounds, 1, "an object, and its label set, count one each")
		})
	}
}

func TestEventsWaitWhileTheMeterIsExhausted(t *testing.T) {
	c := newLabelled(10, 1)
	m := newMetered(t, c.Collection, wire.Subscribe{FieldSelector: "metadata.name!=x,status.phase=Running"})
	m.meter.Grant(1000)
	require.Contains(t, m.frames(), synced)
	m.meter.Grant(-1000)
	before := m.evaluations()
	var expected []string
	for i := range 20 {
		c.Apply(c.put(i%10, 10), 1000)
		expected = append(expected, c.rv.String())
	}
	assert.Empty(t, m.frames())
	assert.Equal(t, before, m.evaluations(), "a reader without evaluations is not charged for a change")
	var all []string
	for rounds := 0; len(all) < len(expected); rounds++ {
		require.Less(t, rounds, 1000)
		m.meter.Grant(20)
		all = append(all, m.frames()...)
	}
	assert.Equal(t, expected, all)
}

func TestWithoutSelectorsTheMeterIsNotSpent(t *testing.T) {
	c := newLabelled(100, 1)
	m := newMetered(t, c.Collection, wire.Subscribe{Namespace: "ns"})
	assert.Len(t, m.frames(), 101)
	c.Apply(c.put(1, 10), 1000)
	assert.Len(t, m.frames(), 1)
}

func TestFindingTheScopeSpendsTheMeter(t *testing.T) {
	c := newLabelled(100, 1)
	m := newMetered(t, c.Collection, wire.Subscribe{FieldSelector: "metadata.name=00007"})
	m.meter.Grant(1)
	assert.Empty(t, m.frames())
	m.meter.Grant(98)
	assert.Empty(t, m.frames(), "100 objects were counted")
	m.meter.Grant(1000)
	assert.Equal(t, []string{"ns/00007", synced}, m.frames())
}
