package limit

import "net/http"

// These limits apply to one reader's connection to /watch. The core enforces these limits
// and reports their names, and the edge uses the same defaults.
var (
	MaxSubscriptions = define(Limit{
		Name: "max-subscriptions", Default: 256, Unit: Count, Code: http.StatusTooManyRequests,
		Help: "concurrent subscriptions on one connection; more are refused",
	})
	MaxMessageFrames = define(Limit{
		Name: "max-message-frames", Default: 1024, Unit: Count, Code: http.StatusRequestEntityTooLarge,
		Help: "frames in one message from a reader; a message with more closes the connection",
	})
	MaxControlBytes = define(Limit{
		Name: "max-control-bytes", Default: 256 << 10, Unit: Bytes, Code: http.StatusTooManyRequests,
		Help: "responses to refused subscriptions that one reader has not read; at the limit the connection is closed",
	})
	MaxConnectionRequirements = define(Limit{
		Name: "max-connection-requirements", Default: 2048, Unit: Count, Code: http.StatusTooManyRequests,
		Help: "label requirements with their values, and field terms, of all subscriptions open on one connection; more subscriptions are refused",
	})
	MaxColumns = define(Limit{
		Name: "max-columns", Default: 64, Unit: Count, Code: http.StatusRequestEntityTooLarge,
		Help: "columns that the reader of one subscription chooses; a subscription with more is refused",
	})
	MaxColumnBytes = define(Limit{
		Name: "max-column-bytes", Default: 1 << 10, Unit: Bytes, Code: http.StatusRequestEntityTooLarge,
		Help: "length of the name, path and default of one column that a reader chooses; a subscription with a longer one is refused",
	})
)
