package core_test

import (
	"fmt"

	"github.com/watchglass/watchglass/core"
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/wire"
)

// program is a complete program that embeds an engine. Its socket is a session in the
// same process. A real program sends and receives the same messages over a WebSocket, and
// appends received messages to inbox.
type program struct {
	engine *core.Engine
	socket *session.Session
	dial   func() *session.Session
	inbox  []frame // commands and results of I/O
	now    int64   // a real program reads its clock
	wake   int64   // a real program sets a timer for this time
}

type frame interface{ Append([]byte) []byte }

// run passes the frames of the inbox to the engine until the inbox is empty. A real
// program waits here for new input or for the timer, whichever comes first.
func (p *program) run() {
	for len(p.inbox) > 0 {
		input := p.inbox[0].Append(nil)
		p.inbox = p.inbox[1:]
		p.engine.Tick(p.now)
		if err := p.engine.Step(input); err != nil {
			panic(err) // an invalid command is a mistake of the program
		}
		for out := p.engine.Ready(); out != nil; out = p.engine.Ready() {
			for len(out) > 0 {
				t, payload, rest, err := wire.Next(out)
				if err != nil {
					panic(err)
				}
				p.follow(t, payload)
				out = rest
			}
			p.engine.Advance()
		}
	}
}

// follow executes a request for I/O, or prints a delivery.
func (p *program) follow(t wire.Type, payload []byte) {
	switch t {
	case wire.TypeOpenStream:
		f := parse(payload, &wire.OpenStream{})
		p.socket = p.dial() // if that fails: StreamClosed with the reason
		p.inbox = append(p.inbox, &wire.StreamOpened{Stream: f.Stream, Token: "secret"})
	case wire.TypeSendStream:
		f := parse(payload, &wire.SendStream{})
		if err := p.socket.Receive(f.Data, p.now); err != nil {
			panic(err)
		}
		for m := p.socket.Next(64<<10, p.now); m != nil; m = p.socket.Next(64<<10, p.now) {
			p.inbox = append(p.inbox, &wire.StreamData{Stream: f.Stream, Data: m})
		}
	case wire.TypeCloseStream:
		p.socket.Close() // if the other side closes it first: StreamClosed
	case wire.TypeWakeAt:
		p.wake = parse(payload, &wire.WakeAt{}).Millis
	case wire.TypeCollectionState:
		f := parse(payload, &wire.CollectionState{})
		fmt.Println("collection", f.Collection, f.State)
	case wire.TypeWatchEvents:
		for _, e := range parse(payload, &wire.WatchEvents{}).Events {
			fmt.Println(e.Type, e.Item.Envelope.Key(), e.Item.Labels)
		}
	}
}

func parse[F interface{ Parse([]byte) error }](payload []byte, f F) F {
	if err := f.Parse(payload); err != nil {
		panic(err)
	}
	return f
}

// The program executes every request of the engine, and returns every result as a
// frame. This is the complete loop.
func Example() {
	engine, err := core.New((&wire.Config{Seed: 1}).Append(nil), nil)
	if err != nil {
		panic(err)
	}
	connector := newConnector()
	p := program{engine: engine, now: 1_700_000_000_000, dial: func() *session.Session {
		return session.New(session.Config{}, connector)
	}}
	p.inbox = []frame{
		&wire.OpenCollection{Collection: 1, Resource: "v1/pods"},
		&wire.OpenWatch{Watch: 1, Collection: 1, LabelSelector: "app=web"},
	}
	p.run()
	// Output:
	// collection 1 connecting
	// collection 1 live
	// ADDED default/a app=web
}

// connector is the serving side, with a collection of two pods.
type connector struct{ served *session.Collection }

func newConnector() connector {
	pods := cacher.New(cacher.Config{Schema: api.Schema{Resource: api.Resource{Version: "v1", Name: "pods"}, Namespaced: true}})
	pods.Listing().Begin()
	for i, o := range []api.Object{
		{Key: "default/a", Labels: api.Labels{{Key: "app", Value: "web"}}},
		{Key: "default/b", Labels: api.Labels{{Key: "app", Value: "api"}}},
	} {
		pods.Listing().Object(&cacher.Update{
			ResourceVersion: api.ResourceVersion(i + 1), Labels: o.Labels, Envelope: wire.AppendEnvelope(nil, &o),
		})
	}
	pods.Listing().End(2, 0)
	return connector{session.NewCollection(pods)}
}

func (c connector) Collection(*session.Request) (*session.Collection, *api.Status) {
	return c.served, nil
}
func (c connector) Release(api.Resource) {}
func (c connector) Wake()                {}
