package session

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/selector"
)

// The names of the limits of a session, which a refusal carries as its Cause.
const (
	LimitSubscriptions = "max-subscriptions"
	LimitFrames        = "max-message-frames"
	LimitControlBytes  = "max-control-bytes"
	LimitRequirements  = "max-connection-requirements"
)

// Config of a session. Zero values mean defaults.
type Config struct {
	// Server is name and version for Welcome.
	Server string
	// ProgressMillis is how often a live subscription says how far it is, at
	// the least; default 5000.
	ProgressMillis int64
	// MaxSubscriptions a reader may have open; default 256. Further ones are
	// refused with a 429.
	MaxSubscriptions int
	// MaxFrames is how many frames a message may have; default 1024. A message with
	// more ends the connection with a 413.
	MaxFrames int
	// MaxControlBytes bounds the answers to refused subscriptions that wait to be
	// sent; default 256 KiB. At the bound the connection ends with a 429.
	MaxControlBytes int
	// Selectors bounds the selectors of one subscription. The default is 8 KiB, 256
	// requirements and 1024 values. Larger ones are refused with a 413.
	Selectors selector.Limits
	// MaxRequirements bounds the cost of the selectors of all open subscriptions, see
	// selector.Selection.Cost; default 2048. Further ones are refused with a 429.
	MaxRequirements int
	// LabelSets is how many label sets a subscription remembers to have defined to
	// its reader; default 1024. It bounds memory; a definition that is forgotten is
	// sent again.
	LabelSets int
	// Shard is what there is of each resource for this reader; zero for all.
	Shard api.Shard
	// Authenticate checks the token of a Hello; nil lets everyone in.
	Authenticate func(token string) *api.Status
	// Refused is called with the status of each subscription that is refused; nil
	// ignores them. It must not call the session.
	Refused func(*api.Status)
}

// WithDefaults returns the configuration with defaults for zeros.
func (c Config) WithDefaults() Config {
	if c.ProgressMillis <= 0 {
		c.ProgressMillis = 5000
	}
	setDefault(&c.MaxSubscriptions, 256)
	setDefault(&c.MaxFrames, 1024)
	setDefault(&c.MaxControlBytes, 256<<10)
	setDefault(&c.Selectors.Bytes, 8<<10)
	setDefault(&c.Selectors.Requirements, 256)
	setDefault(&c.Selectors.Values, 1024)
	setDefault(&c.MaxRequirements, 2048)
	setDefault(&c.LabelSets, 1024)
	if c.Refused == nil {
		c.Refused = func(*api.Status) {}
	}
	return c
}

func setDefault(limit *int, value int) {
	if *limit <= 0 {
		*limit = value
	}
}
