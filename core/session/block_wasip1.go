package session

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

// tryBlock appends a stored block and reports whether it did. The module has no encoder
// for other blocks.
func (s *subscription) tryBlock(message []byte) ([]byte, bool) { return s.forwardBlock(message) }

// askBodies starts a complete snapshot for a reader that requests rows first, because the
// module cannot send bodies later. This includes a reader that resumes and still lacks
// bodies.
func (s *subscription) askBodies(f *wire.Subscribe) {
	if f.RowsFirst && !f.MetadataOnly {
		s.from = 0
	}
}

func (s *subscription) omitsBodies() bool { return s.metadataOnly }

func (s *subscription) owesBodies() bool { return false }

func (s *subscription) mayLackBody(api.Key) bool { return false }

func (s *subscription) requestBody(api.Key) {}

func (s *subscription) appendBodies(message []byte) []byte { return message }
