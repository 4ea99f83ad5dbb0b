package session

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/selector"
	"github.com/watchglass/watchglass/core/wire"
)

// Message is a reader's message, parsed and checked against the limits of the
// session. It aliases the bytes that it was parsed from.
type Message struct {
	// Frames are the frames of a valid message in order: *wire.Hello, *Request,
	// *wire.Unsubscribe, *wire.Credit, *wire.RequestProgress, *wire.RequestBody and
	// *wire.ChooseColumns.
	Frames []any
	bytes  int
	chosen *wire.ChooseColumns // the last ChooseColumns frame
	err    error
}

// Request is a parsed Subscribe frame.
type Request struct {
	Frame     *wire.Subscribe
	Resource  api.Resource
	Selection selector.Selection
	// Columns are the columns that the reader chose; none means those of the
	// collection.
	Columns []api.Column
	// Refused is the reason why the request is invalid for every collection, or nil. If
	// Refused is set, Resource and Selection must not be used.
	Refused *api.Status
}

const (
	// maxScopeBytes limits the total length of the names in a Subscribe frame, which
	// the subscription stores: resource, namespace, cluster ID and keys.
	maxScopeBytes = 1024
	// A message costs one extra unit per costBytes bytes and per costRequirements
	// selector requirements.
	costBytes        = 4 << 10
	costRequirements = 64
)

// Parse parses a message. It reads only the configuration of the session, so it may run
// while another goroutine uses the session. A parse error is stored in the Message, and
// Apply returns it.
func (s *Session) Parse(message []byte) *Message {
	return parse(message, s.cfg.MaxFrames, s.parseFrame)
}

func parse(message []byte, maxFrames int, parseFrame func(wire.Type, []byte) (any, error)) *Message {
	m := &Message{bytes: len(message)}
	for rest := message; len(rest) > 0; {
		if len(m.Frames) == maxFrames {
			m.err = api.LimitReached(api.CodeTooLarge, LimitFrames, "a message has too many frames")
			break
		}
		var t wire.Type
		var payload []byte
		var frame any
		if t, payload, rest, m.err = wire.Next(rest); m.err == nil {
			frame, m.err = parseFrame(t, payload)
		}
		if m.err != nil {
			break
		}
		switch f := frame.(type) {
		case *wire.ChooseColumns:
			m.chosen = f
		case *Request:
			m.choose(f)
		case savedFrame:
			m.choose(f.request)
		}
		m.Frames = append(m.Frames, frame)
	}
	if m.err != nil {
		m.Frames = nil // an invalid message has no effect
	}
	return m
}

// parseFrame parses a frame. It returns nil for an unknown optional frame.
func (s *Session) parseFrame(t wire.Type, payload []byte) (any, error) {
	if t == wire.TypeChooseColumns && len(payload) > wire.MaxChooseColumns {
		return nil, tooManyColumns()
	}
	f, err := wire.FromReader.Parse(t, payload)
	if subscribe, ok := f.(*wire.Subscribe); ok && err == nil {
		return s.request(subscribe), nil
	}
	return f, err
}

// request parses a Subscribe frame, and validates everything in it that does not depend on
// the collection.
func (s *Session) request(f *wire.Subscribe) *Request {
	r := &Request{Frame: f}
	if len(f.Resource)+len(f.Namespace)+len(f.ClusterID)+len(f.BodiesFrom)+len(f.SnapshotFrom) > maxScopeBytes {
		r.Refused = api.BadRequest("the resource, namespace, cluster ID and keys of a subscription are too long")
		return r
	}
	var err error
	if r.Resource, err = api.ParseResource(lite.Clone(f.Resource)); err != nil {
		r.Refused = api.AsStatus(err)
		return r
	}
	limits := s.cfg.Selectors
	if len(f.LabelSelector)+len(f.FieldSelector) <= limits.Bytes || limits.Bytes <= 0 {
		f.LabelSelector, f.FieldSelector = lite.Clone(f.LabelSelector), lite.Clone(f.FieldSelector)
	}
	r.Selection, r.Refused = limits.Parse(f.LabelSelector, f.FieldSelector)
	return r
}

// Cost returns the cost of the message for rate limits. The cost is one, plus one per 4
// KiB, per subscription, per 64 requirements of its selectors, and per column that the
// reader chooses.
func (m *Message) Cost() int {
	cost := 1 + m.bytes/costBytes
	for _, frame := range m.Frames {
		if r, ok := frame.(*Request); ok {
			cost += 1 + r.Selection.Cost()/costRequirements + len(r.Columns)
		}
	}
	return cost
}
