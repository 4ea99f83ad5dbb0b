package session_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/deflate"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/wire"
)

// rowsReader is a reader of all objects of a blockWorld that requests rows first.
type rowsReader struct {
	of       *blockWorld
	session  *session.Session
	complete bool // the reader has all rows
	rv       api.ResourceVersion
	first    []api.Key // first key of each SnapshotBodies frame
	bodies   int       // objects in these frames
	last     bool      // no other bodies follow
}

func newRowsReader(w *blockWorld) *rowsReader {
	r := &rowsReader{of: w, session: session.New(session.Config{Deflate: deflate.Sections}, one{w.Collection})}
	r.send(&wire.Hello{Version: wire.Version}, &wire.Subscribe{Subscription: 1, Resource: "v1/pods", RowsFirst: true, Credit: 1 << 40})
	return r
}

func (r *rowsReader) send(frames ...frame) {
	require.NoError(r.of.t, r.session.Receive(message(frames...), 1000))
}

// pull reads the next message. It fails the test if the message has bodies while the reader
// lacks rows or events.
func (r *rowsReader) pull() {
	m := r.session.Next(messageBytes, 1000)
	require.NotEmpty(r.of.t, m)
	require.NoError(r.of.t, wire.FromConnector.Each(m, r.take))
}

func (r *rowsReader) take(_ wire.Type, f wire.Frame) error {
	switch f := f.(type) {
	case *wire.SnapshotEnd:
		r.complete, r.rv = true, f.ResourceVersion
	case *wire.Events:
		for i := range f.Changes {
			r.rv = f.Changes[i].ResourceVersion
		}
	case *wire.SnapshotBodies:
		require.True(r.of.t, r.complete, "bodies precede rows")
		require.Equal(r.of.t, r.of.rv, r.rv, "bodies precede events")
		r.bodies, r.last = r.bodies+int(f.Objects), f.Last
		if f.Objects > 0 {
			r.first = append(r.first, api.Key(strings.Clone(string(f.First))))
		}
	}
	return nil
}

// While bodies are pending, a reader receives every event before the next body, even if it
// has requested this body. It therefore has the version of each body that it receives
// (rules B28, B29). A requested body precedes the bodies in key order (rule B30).
func TestB28_B29_B30_EventsPrecedePendingBodies(t *testing.T) {
	for _, requests := range []bool{false, true} {
		t.Run(fmt.Sprintf("requests=%t", requests), func(t *testing.T) {
			w := newBlockWorld(t)
			r := newRowsReader(w)
			for !r.complete {
				r.pull()
			}
			rounds := 0
			for ; !r.last; rounds++ {
				requested := api.Key(fmt.Sprintf("team-c/pod-%04d", 399-rounds))
				if requests {
					r.send(&wire.RequestBody{Subscription: 1, Key: requested})
				}
				for i := range 20 { // more than one message
					w.apply(w.pod(fmt.Sprintf("team-%c/pod-%04d", 'a'+i%3, 17*i), strings.Repeat("x", 500)))
				}
				received := len(r.first)
				r.pull()
				require.Len(t, r.first, received, "the events fill the message")
				require.Less(t, r.rv, w.rv)
				w.apply(w.pod("team-a/pod-0000", "while events are pending"))
				for len(r.first) == received && !r.last {
					r.pull()
				}
				if requests {
					require.Equal(t, requested, r.first[received])
				}
			}
			require.Greater(t, rounds, 3)
			require.GreaterOrEqual(t, r.bodies, 3*podsOfNamespace)
		})
	}
}
