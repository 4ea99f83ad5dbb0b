//go:build !wasip1

package session

import (
	"slices"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/wire"
)

// A reader may request rows first. Its snapshot then has no bodies. After the
// snapshot, the bodies follow in key order whenever there are no events to send. The
// reader then has every event, so its versions are exactly those of the bodies.

// maxRequestedBodies limits the pending requests of a subscription. Bodies of
// further objects arrive in key order.
const maxRequestedBodies = 256

// askBodies decides when the bodies are sent. A session that cannot send them later
// sends a complete snapshot, also to a reader that would resume without them.
func (s *subscription) askBodies(f *wire.Subscribe) {
	switch {
	case !f.RowsFirst || f.MetadataOnly:
	case s.session.cfg.Deflate == nil:
		s.from = 0
	default:
		s.rowsFirst = true
		s.bodies = &bodies{next: api.Key(lite.Clone(string(f.BodiesFrom)))}
	}
}

// omitsBodies reports whether objects are sent without bodies now.
func (s *subscription) omitsBodies() bool {
	return s.metadataOnly || s.rowsFirst && s.phase != live
}

// owesBodies reports whether there are bodies to send.
func (s *subscription) owesBodies() bool {
	return s.bodies != nil && s.phase == live && (!s.bodies.done || len(s.bodies.requested) > 0)
}

// mayLackBody reports whether the reader may have an object without its body.
func (s *subscription) mayLackBody(key api.Key) bool {
	return !s.bodies.done && key >= s.bodies.next
}

// requestBody adds an object to those whose bodies are sent first.
func (s *subscription) requestBody(key api.Key) {
	if b := s.bodies; b != nil && len(b.requested) < maxRequestedBodies && len(key) <= maxScopeBytes && !slices.Contains(b.requested, key) {
		b.requested = append(b.requested, api.Key(lite.Clone(string(key))))
	}
}
