package session_test

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/wire"
)

// one is a session.Backend with a single collection.
type one struct{ of *session.Collection }

func (o one) Collection(*session.Request) (*session.Collection, *api.Status) {
	return o.of, nil
}
func (one) Release(api.Resource) {}
func (one) Wake()                {}

func (c *collection) session(t *testing.T, f wire.Subscribe) *session.Session {
	s := session.New(session.Config{}, one{c.Collection})
	f.Resource, f.ClusterID, f.Credit = "v1/pods", "here", 1<<40
	message := f.Append((&wire.Hello{Version: wire.Version}).Append(nil))
	require.NoError(t, s.Receive(message, 1000))
	return s
}

// twins is one reader in two sessions: one on a collection with many readers, and
// one on an equal collection without other readers.
type twins struct{ shared, alone *session.Session }

// A reader receives the same bytes with and without other readers, wherever these readers
// are in the window.
func TestG3_SharedEncodingEqualsOwnEncoding(t *testing.T) {
	const most = 8
	for seed := range int64(30) {
		random := rand.New(rand.NewSource(seed))
		shared, all := newCollection(20), make([]*collection, most+1)
		for i := range most {
			all[i] = newCollection(20)
		}
		all[most] = shared
		var readers []twins
		join := func() {
			f := wire.Subscribe{Subscription: uint32(len(readers) + 1), MetadataOnly: random.Intn(4) == 0}
			if random.Intn(2) == 0 {
				f.ResourceVersion = shared.rv
			}
			readers = append(readers, twins{shared.session(t, f), all[len(readers)].session(t, f)})
		}
		for step := range 200 {
			if len(readers) < most && random.Intn(10) == 0 {
				join()
			}
			for range random.Intn(4) {
				n := random.Intn(20)
				for _, c := range all {
					c.change(n)
				}
			}
			if step == 150 {
				for _, c := range all {
					c.relist(20)
				}
			}
			limit := []int{1, 300, 1 << 20}[random.Intn(3)]
			for i, r := range readers {
				if random.Intn(3) > 0 {
					want := fmt.Sprintf("%x", r.alone.Next(limit, 1000))
					require.Equal(t, want, fmt.Sprintf("%x", r.shared.Next(limit, 1000)), "seed %d, step %d, reader %d", seed, step, i)
				}
			}
		}
	}
}

// If two readers are at the same position, the events are encoded for the first, and
// the second receives the same bytes.
func TestC29_EventsAreEncodedOnceForReadersInStep(t *testing.T) {
	c := newCollection(3)
	first, second := c.session(t, wire.Subscribe{Subscription: 1}), c.session(t, wire.Subscribe{Subscription: 2})
	for range 2 { // the snapshot, and a change with another dictionary
		first.Next(1<<20, 1000)
		second.Next(1<<20, 1000)
		c.change(1)
	}
	want := first.Next(1<<20, 1000)
	encoded := c.EncodedEvents()
	require.Equal(t, 1, encoded.Count)
	changes := slices.Clone(encoded.Changes)
	require.Contains(t, string(want), string(changes))
	require.NotEmpty(t, changes)
	for i := range encoded.Changes {
		encoded.Changes[i] = 'x'
	}
	got := second.Next(1<<20, 1000)
	require.Contains(t, string(got), strings.Repeat("x", len(changes)), "it was encoded again")
}
