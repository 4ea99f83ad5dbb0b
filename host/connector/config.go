package connector

import (
	"log/slog"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/objectjson"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/host/access"
	"github.com/watchglass/watchglass/host/limit"
	"github.com/watchglass/watchglass/host/source"
)

// DefaultMessageBytes is the default of Config.MessageBytes.
const DefaultMessageBytes = 64 << 10

// Config configures a connector. Source is required. The zero value of any other field
// selects its default.
type Config struct {
	// Source provides the objects. The connector runs one Stream per resource in
	// use.
	Source source.Source
	// Logger receives object faults and source failures at level warn, and recoveries at
	// level info. Nil means slog.Default.
	Logger *slog.Logger
	// Session configures the serving side of every reader's connection. Limits
	// overrides some of its fields.
	Session session.Config
	// Access decides who may connect and which objects they may read. Nil allows
	// everything. Access replaces Session.Authenticate.
	Access access.Policy
	// Observer receives every decision of Access. It may be nil.
	Observer access.Observer
	// ReviewInterval is the maximum time between two reviews of a connection. A review
	// happens earlier when a decision of Access expires. If a review refuses the token, the
	// connection ends with 401. If it refuses a right, the subscription ends with 403. Zero
	// means access.ReviewInterval.
	ReviewInterval time.Duration
	// Keep selects data to keep in bodies, such as the data of Secrets, which the connector
	// otherwise removes.
	Keep objectjson.Options
	// Limits contains the resource limits of the server, and counts refusals. Nil
	// means the defaults, without counters.
	Limits *limit.Set
	// MessageBytes is the target size of a message to a reader, in bytes. Large messages
	// have less overhead. Small messages arrive earlier and need the lock for less time at
	// once. The connector splits a message of more than twice this size, such as one with a
	// large object, into fragments of this size. Zero means DefaultMessageBytes.
	MessageBytes int
	// Preload lists the resources to cache from the start until Close. Readers of another
	// connector can resume at this one once Preloaded returns nil.
	Preload []api.Resource
	// Timings receives measurements. Nil means none.
	Timings Timings
	// History limits how far back a reader can resume, per resource. A zero field means
	// the value of Limits.
	History history.Limits
}

// Timings receives measurements. Its methods must return quickly and must be safe for
// concurrent use.
type Timings interface {
	// InitialSync is called when the first list of a resource is complete. The duration
	// is measured from the first use of the resource.
	InitialSync(resource api.Resource, took time.Duration)
	// Delivery is called when changes have been written to a reader's socket. The
	// duration is measured from when the source delivered the oldest of these changes.
	Delivery(took time.Duration)
}

type noTimings struct{}

func (noTimings) InitialSync(api.Resource, time.Duration) {}
func (noTimings) Delivery(time.Duration)                  {}

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
	setDefault(&c.Timings, Timings(noTimings{}))
	if c.Limits == nil {
		c.Limits = limit.NewSet()
	}
	setDefault(&c.History.WindowMillis, c.Limits.Duration(limit.HistoryWindow).Milliseconds())
	if c.Limits.Given(limit.MaxHistoryEvents) { // otherwise, package history derives the capacity from the duration of the window
		setDefault(&c.History.MaxCapacity, c.Limits.Int(limit.MaxHistoryEvents))
	}
	setDefault(&c.ReviewInterval, access.ReviewInterval)
	return c
}

// session returns the configuration of sessions, with Limits applied.
func (c Config) session() session.Config {
	config := c.Session
	config.MaxSubscriptions = c.Limits.Int(limit.MaxSubscriptions)
	config.MaxFrames = c.Limits.Int(limit.MaxMessageFrames)
	config.MaxControlBytes = c.Limits.Int(limit.MaxControlBytes)
	config.MaxRequirements = c.Limits.Int(limit.MaxConnectionRequirements)
	config.Selectors = c.Limits.Selectors()
	config.MaxColumns, config.MaxColumnBytes = c.Limits.Int(limit.MaxColumns), c.Limits.Int(limit.MaxColumnBytes)
	return config
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
