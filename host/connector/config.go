package connector

import (
	"log/slog"
	"time"

	"github.com/watchglass/watchglass/core/envelope"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/limit"
	"github.com/watchglass/watchglass/host/source"
)

// DefaultMessageBytes is that of Config.
const DefaultMessageBytes = 64 << 10

// Config of a connector. Source is required, every other zero takes its
// default.
type Config struct {
	// Source is where objects come from. The connector runs one Stream per
	// resource that somebody reads.
	Source source.Source
	// Logger gets connections at debug, faults and failing sources at warn.
	// Nil means slog.Default.
	Logger *slog.Logger
	// Session configures the serving side of every reader's connection, except for
	// what Limits contains.
	Session session.Config
	// Access decides who may connect and what they may read. Nil lets everyone
	// read everything. It replaces Session.Authenticate.
	Access access.Policy
	// Observer receives every decision of Access. Nil means none.
	Observer access.Observer
	// ReviewInterval is the longest time between two reviews of a connection. A
	// review comes sooner when a decision of Access expires. A token that is no
	// longer accepted ends the connection with 401, a withdrawn right the
	// subscription with 403. Zero means access.ReviewInterval.
	ReviewInterval time.Duration
	// Keep says what bodies keep that is stripped by default, the data of
	// Secrets among it.
	Keep envelope.Options
	// Limits holds the resource limits of the server and counts when they act. Nil
	// means the defaults, uncounted.
	Limits *limit.Set
	// MessageBytes is the size of message to aim at: larger is less overhead,
	// smaller keeps a reader's steps short and lets it show something sooner. What
	// is longer than twice that, such as a large object, goes in fragments of this
	// size.
	MessageBytes int
	// History bounds how far back a reader can resume, per resource. Zeros take the
	// values of Limits.
	History history.Limits
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Access == nil {
		c.Access = access.Everyone()
	}
	if c.Session.Server == "" {
		c.Session.Server = "watchglass"
	}
	setDefault(&c.MessageBytes, DefaultMessageBytes)
	if c.Limits == nil {
		c.Limits = limit.NewSet()
	}
	setDefault(&c.History.WindowMillis, c.Limits.Duration(limit.HistoryWindow).Milliseconds())
	if c.Limits.Given(limit.MaxHistoryEvents) { // the window's own default grows with its time
		setDefault(&c.History.MaxCapacity, c.Limits.Int(limit.MaxHistoryEvents))
	}
	setDefault(&c.ReviewInterval, access.ReviewInterval)
	return c
}

// session returns the configuration of sessions, with the limits in force.
func (c Config) session() session.Config {
	config := c.Session
	config.MaxSubscriptions = c.Limits.Int(limit.MaxSubscriptions)
	config.MaxFrames = c.Limits.Int(limit.MaxMessageFrames)
	config.MaxControlBytes = c.Limits.Int(limit.MaxControlBytes)
	config.MaxRequirements = c.Limits.Int(limit.MaxConnectionRequirements)
	config.Selectors = c.Limits.Selectors()
	config.Refused = c.Limits.CountStatus
	return config
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
