package session_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/wire"
)

// A snapshot ends even if the last change that must be replayed does not match the
// reader's selectors.
func TestSnapshotEndsAfterChangesOfOtherObjects(t *testing.T) {
	w := &world{t: t, now: 1000, cacher: session.Serve(cacher.New(cacher.Config{Schema: objects.Pods()}))}
	w.cacher.Listing().Begin()
	for i := range 3 {
		w.cacher.Listing().Object(objects.Update(fmt.Sprintf("ns/%d rv=%d app=web", i, i+1)))
	}
	w.cacher.Listing().End(3, w.now)
	s := session.New(session.Config{}, w)
	hello := (&wire.Hello{Version: wire.Version}).Append(nil)
	subscribe := wire.Subscribe{Subscription: 1, Resource: "v1/pods", LabelSelector: "app=web", Credit: 1 << 20}
	require.NoError(t, s.Receive(subscribe.Append(hello), w.now))

	ended := false
	for message := s.Next(1, w.now); message != nil; message = s.Next(1, w.now) {
		for len(message) > 0 {
			typ, _, rest, err := wire.Next(message)
			require.NoError(t, err)
			if typ == wire.TypeSnapshotPart {
				w.cacher.Apply(objects.Update("ns/0 rv=4 app=web"), w.now)
				w.cacher.Apply(objects.Update("ns/other rv=5 app=api"), w.now)
			}
			ended = ended || typ == wire.TypeSnapshotEnd
			message = rest
		}
	}
	require.True(t, ended)
}

// A reader may receive one frame more than its credit allows. The persisted session
// records the excess.
func TestPersistedSessionKeepsItsNegativeCredit(t *testing.T) {
	w := newWorld(t, 1)
	w.cacher = session.Serve(cacher.New(cacher.Config{Schema: objects.Pods()}))
	w.cacher.Listing().Begin()
	w.cacher.Listing().End(1, w.now)
	s := session.New(session.Config{}, w)
	hello := (&wire.Hello{Version: wire.Version}).Append(nil)
	require.NoError(t, s.Receive((&wire.Subscribe{Subscription: 1, Resource: "v1/pods", Credit: 100}).Append(hello), w.now))
	for s.Next(1<<20, w.now) != nil {
	}
	change := func() []byte {
		rv := w.cacher.ResourceVersion() + 1
		w.cacher.Apply(objects.Update(fmt.Sprintf("ns/a rv=%d body=%s", rv, strings.Repeat("x", 500))), w.now)
		return s.Next(1<<20, w.now)
	}
	require.Greater(t, len(change()), 500, "credit remained")
	for range 3 {
		saved := s.Save()
		s.Close()
		s = session.New(session.Config{}, w)
		require.NoError(t, s.Resume(saved, w.now))
		require.NoError(t, s.Receive((&wire.Credit{Subscription: 1, Bytes: 100}).Append(nil), w.now))
		require.Nil(t, change(), "it has received more than 300 bytes since")
	}
	require.NoError(t, s.Receive((&wire.Credit{Subscription: 1, Bytes: 500}).Append(nil), w.now))
	require.NotNil(t, s.Next(1<<20, w.now))
}

// If an object is unreadable, a reader may have a newer version of it than its connector.
// When the object is readable again, its complete body is sent.
func TestRecoveredObjectIsSentCompletely(t *testing.T) {
	w := newWorld(t, 1)
	w.cacher = session.Serve(cacher.New(cacher.Config{Schema: objects.Pods()}))
	w.cacher.Listing().Begin()
	w.cacher.Listing().Object(objects.Update("ns/a rv=1 body=one"))
	w.cacher.Listing().Object(objects.Update("ns/b rv=2 body=two"))
	w.cacher.Listing().End(2, w.now)
	s := session.New(session.Config{}, w)
	hello := (&wire.Hello{Version: wire.Version}).Append(nil)
	require.NoError(t, s.Receive((&wire.Subscribe{Subscription: 1, Resource: "v1/pods", Credit: 1 << 20}).Append(hello), w.now))
	for s.Next(1<<20, w.now) != nil {
	}
	w.cacher.Fault("ns/a", 4, api.Internal("not to be read"), w.now)
	for i, text := range []string{"ns/a rv=5 body=difference", "ns/b rv=6 body=difference", "ns/a rv=7 body=difference"} {
		o := objects.Object(text)
		o.Body.Codec = api.Delta
		put := objects.UpdateOf(o)
		put.Base.ResourceVersion = api.ResourceVersion(1 + i%2)
		require.Nil(t, w.cacher.Apply(put, w.now))
	}
	changes := changesOf(t, s.Next(1<<20, w.now))
	require.Len(t, changes, 3)
	require.Nil(t, changes[0].Patch, "the reader may have a version in between")
	require.Equal(t, "one", string(changes[0].Base.Body.Data), "but not the base")
	for _, c := range changes[1:] {
		require.NotNil(t, c.Patch, "%s at %d", c.Key, c.ResourceVersion)
		require.Empty(t, c.Base.Body.Data)
	}
}

// changesOf returns the changes of a message.
func changesOf(t *testing.T, message []byte) (changes []wire.Change) {
	for len(message) > 0 {
		typ, payload, rest, err := wire.Next(message)
		require.NoError(t, err)
		if typ == wire.TypeEvents {
			var f wire.Events
			require.NoError(t, f.Parse(payload))
			changes = append(changes, f.Changes...)
		}
		message = rest
	}
	return changes
}

// A revision may delete an object and create another, whose body has a dictionary. Such a
// revision does not share a frame with earlier bodies that have no dictionary (rule B4).
func TestDictionaryOfARevisionThatBeginsWithADeletion(t *testing.T) {
	for _, before := range []int{0, 1} { // earlier changes in the same message
		w := newWorld(t, 1)
		w.cacher = session.Serve(cacher.New(cacher.Config{Schema: objects.Pods()}))
		w.cacher.Listing().Begin()
		w.cacher.Listing().Object(objects.Update("ns/a rv=1"))
		w.cacher.Listing().End(1, w.now)
		s := session.New(session.Config{}, w)
		hello := (&wire.Hello{Version: wire.Version}).Append(nil)
		require.NoError(t, s.Receive((&wire.Subscribe{Subscription: 1, Resource: "v1/pods", Credit: 1 << 20}).Append(hello), w.now))
		for s.Next(1<<20, w.now) != nil {
		}
		for i := range before {
			w.cacher.Apply(objects.Update(fmt.Sprintf("ns/c rv=%d", i+2)), w.now)
		}
		rv := api.ResourceVersion(before + 2)
		w.cacher.Bodies().SetDictionary([]byte(`{"kind":"Pod"`))
		w.cacher.Waits().BeginRevision()
		w.cacher.Delete("ns/a", rv, w.now)
		w.cacher.Apply(objects.Update(fmt.Sprintf("ns/b rv=%d", rv)), w.now)
		w.cacher.EndRevision(rv, w.now)

		var current uint32
		dictionaries := map[api.ResourceVersion]uint32{}
		for message := s.Next(1<<20, w.now); message != nil; message = s.Next(1<<20, w.now) {
			require.NoError(t, wire.FromConnector.Each(message, func(_ wire.Type, f wire.Frame) error {
				switch f := f.(type) {
				case *wire.Schema:
					current = f.Dictionary
				case *wire.Events:
					for _, c := range f.Changes {
						dictionaries[c.ResourceVersion] = current
					}
				}
				return nil
			}))
		}
		require.Len(t, dictionaries, before+1)
		require.NotZero(t, dictionaries[rv])
		if before > 0 {
			require.Zero(t, dictionaries[2])
		}
	}
}
