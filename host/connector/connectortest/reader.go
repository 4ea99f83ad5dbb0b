package connectortest

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
	"github.com/watchglass/watchglass/wasm/bodies"
)

// Conn is a connection to a connector, seen from the reader.
type Conn interface {
	Read(ctx context.Context) ([]byte, error)
	Write(ctx context.Context, message []byte) error
	Close(reason error) error
}

// Endless is a credit that never runs out.
const Endless = 1 << 40

// Reader is a reader's side of one connection. For one goroutine at a time.
type Reader struct {
	Conn          Conn
	Welcome       wire.Welcome
	Status        *api.Status // of the connection, when the connector ended it
	Messages      int         // received
	Bytes         int         // of them
	Fragments     int         // of them, those that were pieces of a longer one
	subscriptions map[uint32]*Subscription
	dictionaries  map[uint32][]byte
	assembly      wire.Assembly
}

// Subscription is the state of one subscription as the reader knows it.
type Subscription struct {
	ID              uint32
	Schema          *api.Schema
	Source          string // of the resource versions
	Bases           uint64 // of the versions above BasesSince
	BasesSince      api.ResourceVersion
	Objects         map[api.Key]Object
	ResourceVersion api.ResourceVersion // safe to resume from
	Synced          bool                // a snapshot has ended, or the subscription resumed
	Total           uint64              // objects that the last snapshot announced
	Snapshots       int                 // that have ended
	Parts           int                 // of snapshots
	Events          int                 // changes, without snapshots
	Frames          int                 // Events frames
	Progress        int                 // Progress frames
	Faults          map[api.Key]*api.Status
	Excuse          *api.Status // why nothing came, when last told
	Status          *api.Status // why it ended

	dictionary []byte
	labels     map[uint32]api.Labels
	staged     map[api.Key]Object // while a snapshot is under way
	stagedRV   api.ResourceVersion
}

// Object is one object as the reader holds it.
type Object struct {
	ResourceVersion api.ResourceVersion
	Flags           api.Flags
	Labels          api.Labels
	Envelope        wire.Envelope
	JSON            string // the decoded body, empty for metadata only
	// Base is the version whose body it was told as the difference from, zero
	// when it was told whole.
	Base api.ResourceVersion
	base string // that body
}

// NewReader says nothing yet.
func NewReader(conn Conn) *Reader {
	return &Reader{Conn: conn, subscriptions: map[uint32]*Subscription{}, dictionaries: map[uint32][]byte{}}
}

// Frame is what can be sent.
type Frame interface{ Append([]byte) []byte }

// Send sends frames as one message.
func (r *Reader) Send(ctx context.Context, frames ...Frame) error {
	var message []byte
	for _, f := range frames {
		message = f.Append(message)
	}
	return r.Conn.Write(ctx, message)
}

// Hello greets the connector and waits for its welcome.
func (r *Reader) Hello(ctx context.Context, token string) error {
	err := r.Send(ctx, &wire.Hello{Version: wire.Version, Token: token, Client: "connectortest"})
	if err != nil {
		return err
	}
	return r.Until(ctx, func() bool { return r.Welcome.Version != 0 || r.Status != nil })
}

// Subscribe sends the frame. The subscription that had its number before, on
// this or another connection, is forgotten; use Resume to carry one on.
func (r *Reader) Subscribe(ctx context.Context, f wire.Subscribe) (*Subscription, error) {
	s := &Subscription{ID: f.Subscription, Objects: map[api.Key]Object{}}
	return s, r.Resume(ctx, s, f)
}

// Resume subscribes with the state of an earlier subscription, from its
// resource version if the frame has none and the state is complete.
func (r *Reader) Resume(ctx context.Context, s *Subscription, f wire.Subscribe) error {
	if f.ResourceVersion == 0 && s.Synced {
		f.ResourceVersion = s.ResourceVersion
	}
	if f.Source == "" {
		f.Source, f.Bases, f.BasesSince = s.Source, s.Bases, s.BasesSince
	}
	s.ID, s.Status, s.Schema = f.Subscription, nil, nil
	s.labels, s.Faults, s.staged = map[uint32]api.Labels{}, map[api.Key]*api.Status{}, nil
	r.subscriptions[s.ID] = s
	return r.Send(ctx, &f)
}

// Until receives messages until done says so. It looks before it reads.
func (r *Reader) Until(ctx context.Context, done func() bool) error {
	for !done() {
		if err := r.Receive(ctx); err != nil {
			return err
		}
	}
	return nil
}

// UntilSynced receives until the subscription has a complete state, or ended.
func (r *Reader) UntilSynced(ctx context.Context, s *Subscription) error {
	return r.Until(ctx, func() bool { return s.Synced || s.Status != nil })
}

// UntilEnd receives until the connection ends, and returns why it did.
func (r *Reader) UntilEnd(ctx context.Context) error {
	return r.Until(ctx, func() bool { return false })
}

// Receive takes one message in.
func (r *Reader) Receive(ctx context.Context) error {
	message, err := r.Conn.Read(ctx)
	if err != nil {
		return err
	}
	r.Messages++
	r.Bytes += len(message)
	if len(message) == 0 {
		return fmt.Errorf("an empty message")
	}
	if wire.Type(message[0]) == wire.TypeFragment {
		r.Fragments++
	}
	if message, err = r.assembly.Join(message); err != nil {
		return err
	}
	for len(message) > 0 {
		var t wire.Type
		var payload []byte
		if t, payload, message, err = wire.Next(message); err != nil {
			return err
		}
		if err := r.take(t, payload); err != nil {
			return fmt.Errorf("frame of type %#x: %w", byte(t), err)
		}
	}
	return nil
}

// Keys are the keys the subscription holds, sorted.
func (s *Subscription) Keys() []api.Key { return slices.Sorted(maps.Keys(s.Objects)) }

// object makes an object of a change, given the version held of it.
func (s *Subscription) object(c *wire.Change, held *Object) (Object, error) {
	labels, ok := s.labels[c.LabelSet]
	if !ok {
		return Object{}, fmt.Errorf("%s has label set %d, which was not defined", c.Key, c.LabelSet)
	}
	o := Object{
		ResourceVersion: c.ResourceVersion, Flags: c.Flags, Labels: labels,
		Envelope: slices.Clone(c.Envelope), Base: c.Base.ResourceVersion,
	}
	if c.Patch != nil {
		if held == nil || held.ResourceVersion != c.Previous {
			return Object{}, fmt.Errorf("%s is told by what changed since %s, which is not held", c.Key, c.Previous)
		}
		envelope, _, status := c.Patch.Apply(nil, held.Envelope)
		if status != nil {
			return Object{}, status
		}
		o.Envelope = envelope
	}
	body := o.Envelope.Body()
	if body.Codec == api.NoBody {
		return o, nil
	}
	base, err := s.base(c, held)
	if err != nil {
		return Object{}, err
	}
	text, err := bodies.Decode(nil, body, s.dictionary, []byte(base))
	if err != nil {
		return Object{}, fmt.Errorf("body of %s: %w", c.Key, err)
	}
	o.JSON, o.base = string(text), base
	return o, nil
}

// base is what the body of a change is the difference from.
func (s *Subscription) base(c *wire.Change, held *Object) (string, error) {
	switch rv := c.Base.ResourceVersion; {
	case rv == 0:
		return "", nil
	case c.Base.Body.Codec != api.NoBody:
		text, err := bodies.Decode(nil, c.Base.Body, s.dictionary, nil)
		return string(text), err
	case held != nil && held.Base == rv:
		return held.base, nil
	case held != nil && held.Base == 0 && held.ResourceVersion == rv:
		return held.JSON, nil
	default:
		return "", fmt.Errorf("the body of %s is a delta from version %s, which is not held", c.Key, rv)
	}
}
