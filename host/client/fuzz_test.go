package client

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/coretest/objects"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/wire"
)

// served serves sessions from one collection.
type served struct{ of *session.Collection }

func (s served) Collection(*session.Request) (*session.Collection, *api.Status) { return s.of, nil }
func (served) Release(api.Resource)                                             {}
func (served) Wake()                                                            {}

// conversation returns the messages of a connector to a reader of two pods. In events,
// one pod is changed and the other is deleted.
func conversation(t testing.TB) (snapshot, events []byte) {
	c := cacher.New(cacher.Config{Schema: objects.Pods()})
	c.Listing().Begin()
	for _, text := range []string{"ns/a rv=1 app=web phase=Pending body={}", "ns/b rv=2 app=db body={}"} {
		require.Nil(t, c.Listing().Object(objects.Update(text)))
	}
	c.Listing().End(2, 1000)
	s := session.New(session.Config{}, served{session.NewCollection(c)})
	message := (&wire.Hello{Version: wire.Version}).Append(nil)
	message = (&wire.Subscribe{Subscription: 1, Resource: "v1/pods", Credit: 1 << 20}).Append(message)
	require.NoError(t, s.Receive(message, 1000))
	snapshot = s.Next(1<<20, 1000)
	require.Nil(t, c.Apply(objects.Update("ns/a rv=3 app=web phase=Running body={}"), 1000))
	c.Delete("ns/b", 4, 1000)
	c.Progress(4, 2000)
	return snapshot, s.Next(1<<20, 2000)
}

// No data from a connector makes an instance of the module fail. The instance accepts
// commands afterwards.
func FuzzModule(f *testing.F) {
	ctx := context.Background()
	module, err := Compile(ctx, testModule(f), cacheDir(f))
	require.NoError(f, err)
	f.Cleanup(func() { require.NoError(f, module.Close(ctx)) })

	snapshot, events := conversation(f)
	for _, seed := range [][]byte{
		snapshot, events, append(snapshot[:len(snapshot):len(snapshot)], events...), snapshot[:len(snapshot)-1], {}, {0xff, 0x00},
		(&wire.SubscriptionStatus{Status: api.Unavailable("bye")}).Append(nil),
		(&wire.SubscriptionStatus{Subscription: 1, Status: api.Expired("too old")}).Append(nil),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		i, err := module.NewInstance(ctx)
		require.NoError(t, err)
		defer i.Close(ctx)
		step := func(frame interface{ Append([]byte) []byte }) {
			var refused *api.Status
			if err := i.Step(frame.Append(nil)); err != nil && !errors.As(err, &refused) {
				require.NoError(t, err)
			}
			for range 1000 {
				out, err := i.Ready()
				require.NoError(t, err)
				if out == nil {
					return
				}
				for len(out) > 0 {
					_, _, out, err = wire.Next(out)
					require.NoError(t, err)
				}
				require.NoError(t, i.Advance())
			}
			require.Fail(t, "the output does not end")
		}
		require.NoError(t, i.Open(config))
		require.NoError(t, i.Tick(1000))
		step(&wire.OpenCollection{Collection: 1, Resource: "v1/pods"})
		step(&wire.StreamOpened{Stream: 1})
		step(&wire.OpenView{View: 1, Collection: 1, Limit: 3, Sort: "phase"})
		step(&wire.OpenWatch{Watch: 1, Collection: 1, LabelSelector: "app"})
		for range 2 {
			step(&wire.StreamData{Stream: 1, Data: message})
		}
		require.NoError(t, i.Tick(60_000))
		step(&wire.List{Request: 1, Collection: 1})
		step(&wire.Inspect{Request: 2})
	})
}
