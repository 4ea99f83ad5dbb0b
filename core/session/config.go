package session

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/selector"
	"github.com/watchglass/watchglass/core/watcher"
)

// These constants name the limits of a session. The Cause of an error that reports an
// exceeded limit is the constant of that limit.
const (
	LimitSubscriptions = "max-subscriptions"
	LimitFrames        = "max-message-frames"
	LimitControlBytes  = "max-control-bytes"
	LimitRequirements  = "max-connection-requirements"
	LimitColumns       = "max-columns"
	LimitColumnBytes   = "max-column-bytes"
)

// Config configures a session. Zero fields take defaults.
type Config struct {
	// Server is the name and version that Welcome reports.
	Server string
	// ProgressMillis is the longest interval between two progress reports of a
	// live subscription; default 5000.
	ProgressMillis int64
	// MaxSubscriptions limits the open subscriptions of a reader; default 256. Further
	// subscriptions are rejected with 429.
	MaxSubscriptions int
	// MaxFrames limits the frames in a message; default 1024. A message with more frames
	// ends the connection with 413.
	MaxFrames int
	// MaxControlBytes limits the total size of pending responses to rejected
	// subscriptions; default 256 KiB. Exceeding this limit ends the connection with 429.
	MaxControlBytes int
	// Selectors limits the selectors of one subscription; default 8 KiB, 256 requirements
	// and 1024 values. Larger selectors are rejected with 413.
	Selectors selector.Limits
	// MaxRequirements limits the total cost of the selectors of all open subscriptions,
	// as defined by selector.Selection.Cost; default 2048. A subscription that exceeds it
	// is rejected with 429.
	MaxRequirements int
	// Meter limits how often selectors are evaluated, for all subscriptions together; nil
	// for no limit. When the meter is exhausted, AppendNext stops before the next
	// selector. Call AppendNext again after granting more evaluations.
	Meter *watcher.Meter
	// LabelSets limits how many label set definitions a subscription remembers as sent;
	// default 1024. A forgotten definition is sent again.
	LabelSets int
	// Decode returns the plain JSON of a body, given its base, which may be the zero
	// Body, and its dictionary. The session uses the result only until the next call, and
	// does not modify it. Decode must not retain its arguments. If Decode is nil, the
	// session ignores columns that readers choose.
	Decode func(body, base api.Body, dictionary []byte) ([]byte, error)
	// MaxColumns limits the columns that a reader chooses for a subscription; default 64.
	// MaxColumnBytes limits the total length of the texts of one column; default 1024.
	// Subscriptions beyond a limit are rejected with 413.
	MaxColumns, MaxColumnBytes int
	// Deflate appends a deflate stream of envelopes and bodies to dst. The first
	// envelopesEnd bytes of the stream, not counting dst, must be sufficient to
	// decompress the envelopes. Deflate must not retain its arguments. If Deflate is nil,
	// the session encodes no blocks, but still forwards blocks that the collection
	// stores.
	Deflate func(dst, envelopes, bodies []byte) (data []byte, envelopesEnd int)
	// Shard restricts the reader to a shard of the namespaces; zero means all.
	Shard api.Shard
	// Authenticate checks the token of a Hello; nil accepts every token.
	Authenticate func(token string) *api.Status
	// Refused, if not nil, is called with the status of each rejected
	// subscription. It must not call the session.
	Refused func(*api.Status)
}

// WithDefaults returns the configuration with defaults filled in.
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
	setDefault(&c.MaxColumns, 64)
	setDefault(&c.MaxColumnBytes, 1024)
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
