//go:build !wasip1

package session

import (
	"slices"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/wire"
)

// A reader may request rows first. Its snapshot then has no bodies. After the
// snapshot, the bodies follow in key order whenever there are no events to send. At that
// point the reader has every event, so each body belongs to the version that the reader has.

// maxRequestedBodies limits the pending requests of a subscription for bodies. Further
// requests are ignored, and those bodies arrive in key order.
const maxRequestedBodies = 256

// askBodies prepares to send the bodies after the rows, if the reader requests that. A
// session without an encoder cannot send bodies later, so it sends a complete snapshot,
// even to a reader that resumes and still lacks bodies.
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

// omitsBodies reports whether the subscription currently sends objects without bodies.
func (s *subscription) omitsBodies() bool {
	return s.metadataOnly || s.rowsFirst && s.phase != live
}

// owesBodies reports whether bodies remain to be sent to a reader that has all rows.
func (s *subscription) owesBodies() bool {
	return s.bodies != nil && s.phase == live && (!s.bodies.done || len(s.bodies.requested) > 0)
}

// mayLackBody reports whether the reader may have an object without its body.
func (s *subscription) mayLackBody(key api.Key) bool {
	return !s.bodies.done && key >= s.bodies.next
}

// requestBody queues the body of an object, to be sent before the bodies in key order. It
// ignores duplicates and requests beyond maxRequestedBodies.
func (s *subscription) requestBody(key api.Key) {
	if b := s.bodies; b != nil && len(b.requested) < maxRequestedBodies && len(key) <= maxScopeBytes && !slices.Contains(b.requested, key) {
		b.requested = append(b.requested, api.Key(lite.Clone(string(key))))
	}
}
