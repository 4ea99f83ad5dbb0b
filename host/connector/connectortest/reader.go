package connectortest

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/body"
	"github.com/watchglass/watchglass/core/wire"
)

// Conn is a reader's connection to a connector.
type Conn interface {
	Read(ctx context.Context) ([]byte, error)
	Write(ctx context.Context, message []byte) error
	Close(reason error) error
}

// Endless is a credit that is never used up.
const Endless = 1 << 40

// Reader is the reader's side of one connection. It is not safe for concurrent use.
type Reader struct {
	Conn          Conn
	Welcome       wire.Welcome
	Status        *api.Status // why the connector ended the connection
	Messages      int         // number of received messages
	Bytes         int         // bytes of these messages
	Fragments     int         // number of messages that were fragments
	subscriptions map[uint32]*Subscription
	dictionaries  map[uint32][]byte
	assembly      wire.Assembly
}

// Subscription is the state of one subscription as the reader has received it.
type Subscription struct {
	ID              uint32
	Schema          *api.Schema
	ClusterID       string // cluster ID of the resource versions
	DeltaEpoch      uint64 // delta epoch of the versions above DeltaEpochSince
	DeltaEpochSince api.ResourceVersion
	Objects         map[api.Key]Object
	ResourceVersion api.ResourceVersion // version from which it is safe to resume
	Synced          bool                // a snapshot is complete, or the subscription has resumed
	BodiesSynced    bool                // all bodies that the snapshot omitted have arrived
	Total           uint64              // number of objects that the last snapshot announced
	Snapshots       int                 // complete snapshots
	Parts           int                 // SnapshotPart and SnapshotBlock frames
	Events          int                 // changes outside of snapshots
	Frames          int                 // Events frames
	Progress        int                 // Progress frames
	Faults          map[api.Key]*api.Status
	SourceError     *api.Status // the last reported reason for missing events
	Status          *api.Status // why the subscription ended

	dictionary []byte
	labels     map[uint32]api.Labels
	staged     map[api.Key]Object // the incomplete snapshot
	stagedRV   api.ResourceVersion
}

// Object is an object as the reader has received it.
type Object struct {
	ResourceVersion api.ResourceVersion
	Flags           api.Flags
	Labels          api.Labels
	Envelope        wire.Envelope
	JSON            string // the decoded body, empty for metadata only
	// Base is the version that the body was a delta against, or zero if the body was complete.
	Base api.ResourceVersion
	base string // the body of Base
}

// NewReader returns a reader that has sent no message yet.
func NewReader(conn Conn) *Reader {
	return &Reader{Conn: conn, subscriptions: map[uint32]*Subscription{}, dictionaries: map[uint32][]byte{}}
}

// Frame is a frame of the wire protocol that Send accepts.
type Frame interface{ Append([]byte) []byte }

// Send sends frames as one message.
func (r *Reader) Send(ctx context.Context, frames ...Frame) error {
	var message []byte
	for _, f := range frames {
		message = f.Append(message)
	}
	return r.Conn.Write(ctx, message)
}

// Hello sends a Hello and waits for the Welcome or for a refusal, which it stores in Status.
func (r *Reader) Hello(ctx context.Context, token string) error {
	err := r.Send(ctx, &wire.Hello{Version: wire.Version, Token: token, Client: "connectortest"})
	if err != nil {
		return err
	}
	return r.Until(ctx, func() bool { return r.Welcome.Version != 0 || r.Status != nil })
}

// Subscribe sends the frame and returns the new subscription, which replaces an earlier
// subscription with the same number. Use Resume to continue an earlier subscription.
func (r *Reader) Subscribe(ctx context.Context, f wire.Subscribe) (*Subscription, error) {
	s := &Subscription{ID: f.Subscription, Objects: map[api.Key]Object{}}
	return s, r.Resume(ctx, s, f)
}

// Resume sends the frame to continue an earlier subscription. If the frame has no
// resource version and the state is complete, the subscription resumes from the version
// of the state.
func (r *Reader) Resume(ctx context.Context, s *Subscription, f wire.Subscribe) error {
	if f.ResourceVersion == 0 && s.Synced {
		f.ResourceVersion = s.ResourceVersion
	}
	if f.ClusterID == "" {
		f.ClusterID, f.DeltaEpoch, f.DeltaEpochSince = s.ClusterID, s.DeltaEpoch, s.DeltaEpochSince
	}
	s.ID, s.Status, s.Schema = f.Subscription, nil, nil
	s.labels, s.Faults, s.staged = map[uint32]api.Labels{}, map[api.Key]*api.Status{}, nil
	r.subscriptions[s.ID] = s
	return r.Send(ctx, &f)
}

// Until receives messages until done returns true, and then returns nil. It calls done
// before each read.
func (r *Reader) Until(ctx context.Context, done func() bool) error {
	for !done() {
		if err := r.Receive(ctx); err != nil {
			return err
		}
	}
	return nil
}

// UntilSynced receives messages until the subscription has a complete state or has ended.
func (r *Reader) UntilSynced(ctx context.Context, s *Subscription) error {
	return r.Until(ctx, func() bool { return s.Synced || s.Status != nil })
}

// UntilEnd receives messages until the connection ends, and returns the error of the last
// read.
func (r *Reader) UntilEnd(ctx context.Context) error {
	return r.Until(ctx, func() bool { return false })
}

// Receive reads and applies one message.
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
	return wire.FromConnector.Each(message, func(t wire.Type, f wire.Frame) error {
		if err := r.take(t, f); err != nil {
			return fmt.Errorf("frame of type %#x: %w", byte(t), err)
		}
		return nil
	})
}

// Keys returns the keys of the objects, sorted.
func (s *Subscription) Keys() []api.Key { return slices.Sorted(maps.Keys(s.Objects)) }

// object returns the object of a change. The parameter held is the previous version, to
// which a patch or delta applies, or nil if there is no previous version.
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
			return Object{}, fmt.Errorf("%s is a patch of version %s, which the reader does not have", c.Key, c.Previous)
		}
		envelope, _, status := c.Patch.Apply(nil, held.Envelope)
		if status != nil {
			return Object{}, status
		}
		o.Envelope = envelope
	}
	return o, s.decode(&o, c, o.Envelope.Body(), held)
}

// decode decodes the body in packed and stores the JSON in o.
func (s *Subscription) decode(o *Object, c *wire.Change, packed api.Body, held *Object) error {
	if packed.Codec == api.NoBody {
		return nil
	}
	base, err := s.base(c, held)
	if err != nil {
		return err
	}
	text, err := body.Decode(nil, packed, s.dictionary, []byte(base))
	if err != nil {
		return fmt.Errorf("body of %s: %w", c.Key, err)
	}
	o.Base, o.JSON, o.base = c.Base.ResourceVersion, string(text), base
	return nil
}

// base returns the body that the delta of a change applies to, or an empty string if the
// body is not a delta.
func (s *Subscription) base(c *wire.Change, held *Object) (string, error) {
	switch rv := c.Base.ResourceVersion; {
	case rv == 0:
		return "", nil
	case c.Base.Body.Codec != api.NoBody:
		text, err := body.Decode(nil, c.Base.Body, s.dictionary, nil)
		return string(text), err
	case held != nil && held.Base == rv:
		return held.base, nil
	case held != nil && held.Base == 0 && held.ResourceVersion == rv:
		return held.JSON, nil
	default:
		return "", fmt.Errorf("the body of %s is a delta from version %s, which the reader does not have", c.Key, rv)
	}
}
