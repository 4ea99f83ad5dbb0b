package session_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/wire"
)

// When the last of the changes behind a snapshot did not concern its reader, it
// ended only with one more call, and no one made that.
func TestRegression1_SnapshotEndsBehindChangesOfOthers(t *testing.T) {
	w := &world{t: t, now: 1000, cacher: cacher.New(cacher.Config{Schema: objects.Pods()})}
	w.cacher.BeginList()
	for i := range 3 {
		w.cacher.ListObject(objects.Put(fmt.Sprintf("ns/%d rv=%d app=web", i, i+1)))
	}
	w.cacher.EndList(3, w.now)
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
				w.cacher.Apply(objects.Put("ns/0 rv=4 app=web"), w.now)
				w.cacher.Apply(objects.Put("ns/other rv=5 app=api"), w.now)
			}
			ended = ended || typ == wire.TypeSnapshotEnd
			message = rest
		}
	}
	require.True(t, ended)
}
