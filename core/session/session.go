package session

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
)

// Backend finds the collections that a session serves from.
type Backend interface {
	// Collection returns the cacher of a resource, which may not be ready
	// yet, or why it cannot be served (404 names the resources there are).
	Collection(resource api.Resource) (*cacher.Cacher, *api.Status)
	// Release says that a subscription that Collection was called for ended.
	Release(resource api.Resource)
}

// Config of a session; zeros take defaults.
type Config struct {
	Server           string // name and version, for Welcome
	ProgressMillis   int64
	MaxSubscriptions int
	// Authenticate checks the token of a Hello; nil lets everyone in.
	Authenticate func(token string) *api.Status
}

// Session serves one reader.
type Session struct{}

// New starts a session.
func New(cfg Config, backend Backend) *Session { return &Session{} }

// Receive takes one message. An error is a *api.Status: the reader broke the
// protocol; send what Next still has and close.
func (s *Session) Receive(message []byte, nowMillis int64) error { return nil }

// Next returns the next message to send, of about limit bytes, or nil when
// there is nothing to send now: call again after Receive, after a collection
// changed, and after Wake. The bytes are the caller's.
func (s *Session) Next(limit int, nowMillis int64) []byte { return nil }

// Wake is when Next wants to be called again for progress, in milliseconds.
func (s *Session) Wake() int64 { return 0 }

// Close releases every subscription.
func (s *Session) Close() {}
