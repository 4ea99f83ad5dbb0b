package connectortest

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/coretest/sentinel"
	"github.com/watchglass/watchglass/core/wire"
)

// Recorder is a Conn that records the messages it reads.
type Recorder struct {
	Conn
	Messages [][]byte
	// Blocks is the number of snapshot blocks that Plain has found.
	Blocks int
}

// Read implements Conn.
func (r *Recorder) Read(ctx context.Context) ([]byte, error) {
	message, err := r.Conn.Read(ctx)
	if err == nil {
		r.Messages = append(r.Messages, message)
	}
	return message, err
}

// Plain returns all bytes in which a sentinel can occur: the messages, the messages
// joined from fragments, and the content of compressed blocks.
func (r *Recorder) Plain() (all [][]byte, err error) {
	var assembly wire.Assembly
	for _, message := range r.Messages {
		all = append(all, message)
		if len(message) == 0 {
			continue
		}
		if message, err = assembly.Join(message); err != nil {
			return nil, err
		}
		all = append(all, message) // a fragment may end within a sentinel
		err := wire.FromConnector.Each(message, func(_ wire.Type, frame wire.Frame) error {
			if _, ok := frame.(*wire.SnapshotBlock); ok {
				r.Blocks++
			}
			content, err := expand(frame)
			all = append(all, content...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// expand returns the decompressed content of a SnapshotBlock or SnapshotBodies frame, and nil for
// other frames.
func expand(frame wire.Frame) (content [][]byte, err error) {
	var b wire.Block
	switch f := frame.(type) {
	case *wire.SnapshotBlock:
		if status := f.Expand(&b, true); status != nil {
			return nil, status
		}
		envelopes, bodies := b.Encode(&wire.SnapshotBlock{}, nil, nil)
		content = [][]byte{envelopes, bodies}
	case *wire.SnapshotBodies:
		versions := make([]api.ResourceVersion, f.Objects)
		for i := range versions {
			versions[i] = math.MaxInt64 // greater than the version of any base
		}
		bodies, status := f.Expand(&b, versions)
		if status != nil {
			return nil, status
		}
		for _, row := range bodies {
			content = append(content, slices.Concat(row.Body.Data, []byte{0}, row.Base.Body.Data))
		}
	}
	return content, nil
}

// Probe is a test client that may read one namespace. It sends all kinds of subscriptions
// and malformed messages, and fails the test if a response contains a sentinel that was
// planted in another namespace.
type Probe struct {
	*testing.T
	Dial          func() Conn
	Token         string // sent in the Hello
	Resource      string // for example v1/configmaps
	Mine, Foreign string // the namespace that the reader may read, and another one
	// Known is the name of an object that exists in both namespaces. The name contains no
	// sentinel.
	Known   string
	Planted *sentinel.Set
	// MayRead reports whether a sentinel belongs to an object that the reader may
	// read.
	MayRead func(name string) bool
	// Blocks counts the received blocks of snapshots.
	Blocks int
}

// Run sends the requests and checks every received message.
func (p *Probe) Run() {
	own, refused := 0, 0
	for _, f := range p.subscriptions() {
		s := p.subscribe(f)
		if s.Status != nil {
			require.Empty(p, p.Planted.Find([]byte(s.Status.Error())), "%+v", f)
			refused++
			continue
		}
		require.Equal(p, p.Mine, f.Namespace, "a subscription beyond the rights of the reader is not refused: %+v", f)
		require.EqualValues(p, len(s.Objects), s.Total, "the total counts no other objects: %+v", f)
		for key, o := range s.Objects {
			require.Empty(p, p.Planted.Outside([]byte(o.JSON), p.MayRead), key)
			own += len(p.Planted.Find([]byte(o.JSON)))
		}
	}
	require.NotZero(p, own, "the reader receives the sentinels of its own objects")
	require.NotZero(p, refused)
	for _, message := range p.malformed() {
		p.send(message)
	}
}

// subscriptions returns the subscriptions to try. Permitted subscriptions have no
// selectors, so that the announced total equals the number of received objects.
func (p *Probe) subscriptions() []wire.Subscribe {
	all := []wire.Subscribe{{Namespace: p.Mine}, {Namespace: p.Mine, MetadataOnly: true}, {Namespace: p.Mine, RowsFirst: true}, {Resource: "v1/unicorns"}, {Resource: "nonsense"}}
	for _, namespace := range []string{p.Foreign, "", "none", "\x00", p.Mine + "/"} {
		all = append(all,
			wire.Subscribe{Namespace: namespace}, wire.Subscribe{Namespace: namespace, MetadataOnly: true},
			wire.Subscribe{Namespace: namespace, FieldSelector: "metadata.name=" + p.Known},
			wire.Subscribe{Namespace: namespace, FieldSelector: "metadata.namespace=" + p.Mine},
			wire.Subscribe{Namespace: namespace, LabelSelector: "app=web"}, wire.Subscribe{Namespace: namespace, LabelSelector: "app in ("},
			wire.Subscribe{Namespace: namespace, ResourceVersion: 1}, wire.Subscribe{Namespace: namespace, NotOlderThan: 1 << 60},
		)
	}
	return all
}

// subscribe opens a subscription on a separate connection and checks every received byte.
// It subscribes again after a 503.
func (p *Probe) subscribe(f wire.Subscribe) *Subscription {
	conn := &Recorder{Conn: p.Dial()}
	defer conn.Close(nil)
	r := NewReader(conn)
	require.NoError(p, r.Hello(p.Context(), p.Token))
	if f.Resource == "" {
		f.Resource = p.Resource
	}
	f.Credit = Endless
	for {
		f.Subscription++
		s, err := r.Subscribe(p.Context(), f)
		require.NoError(p, err)
		require.NoError(p, r.UntilSynced(p.Context(), s))
		if f.RowsFirst && s.Status == nil {
			p.requestBodies(r, s)
		}
		if s.Status == nil || s.Status.Code != api.CodeServiceUnavailable {
			p.check(conn, f)
			return s
		}
	}
}

// requestBodies requests bodies of the reader's rows and of foreign objects, and waits
// until all rows have bodies.
func (p *Probe) requestBodies(r *Reader, s *Subscription) {
	for _, namespace := range []string{p.Foreign, p.Mine, ""} {
		require.NoError(p, r.Send(p.Context(), &wire.RequestBody{Subscription: s.ID, Key: api.Key(namespace + "/" + p.Known)}))
	}
	require.NoError(p, r.Until(p.Context(), func() bool {
		for _, o := range s.Objects {
			if o.JSON == "" {
				return s.Status != nil
			}
		}
		return true
	}))
	require.Nil(p, s.Status)
}

// malformed returns messages that violate the protocol. Each one ends its connection.
func (p *Probe) malformed() [][]byte {
	hello := (&wire.Hello{Version: wire.Version, Token: p.Token}).Append(nil)
	subscribe := (&wire.Subscribe{Subscription: 1, Resource: p.Resource, Namespace: p.Foreign, Credit: Endless}).Append(nil)
	return [][]byte{
		{0xff}, []byte("GET / HTTP/1.1\r\n\r\n"), hello[:len(hello)-1], subscribe, append(hello[:len(hello):len(hello)], subscribe[:len(subscribe)-1]...),
		(&wire.Hello{Version: wire.Version + 1, Token: p.Token}).Append(nil),
		append(hello[:len(hello):len(hello)], (&wire.SnapshotEnd{Subscription: 1}).Append(nil)...),
	}
}

// send sends one message and reads until the connection ends.
func (p *Probe) send(message []byte) {
	conn := &Recorder{Conn: p.Dial()}
	defer conn.Close(nil)
	require.NoError(p, conn.Write(p.Context(), message))
	for {
		if _, err := conn.Read(p.Context()); err != nil {
			require.NoError(p, p.Context().Err(), "the connection does not end after %q", message)
			break
		}
	}
	p.check(conn, message)
}

func (p *Probe) check(conn *Recorder, request any) {
	messages, err := conn.Plain()
	require.NoError(p, err)
	p.Blocks += conn.Blocks
	for _, m := range messages {
		require.Empty(p, p.Planted.Outside(m, p.MayRead), "%+v was answered with %q", request, m)
	}
}
