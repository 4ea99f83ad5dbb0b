package limit

import "net/http"

// These limits apply to the work that one client causes. A client is a user, or an
// address block if the policy does not distinguish users.
var (
	MaxClientMessageRate = define(Limit{
		Name: "max-client-message-rate", Default: 2000, Unit: Count, Code: http.StatusTooManyRequests,
		Help: "messages per second, after a burst of the same number, read from all connections to /watch of one user, or of one address " +
			"if the policy does not distinguish users; the rest waits in the network. A message counts as for max-message-rate",
	})
	MaxEvaluationRate = define(Limit{
		Name: "max-evaluation-rate", Default: 2_000_000, Unit: Count, Code: http.StatusTooManyRequests,
		Help: "evaluations of selectors and columns per second, after a burst of the same number, for all connections to /watch and all requests of the Kubernetes API " +
			"of one user, or of one address if the policy does not distinguish users. An object counts once, and once more for each requirement " +
			"and field that is compared. Columns that a reader chooses count once per 64B of the object, and once more per 8 columns. The rest waits, so only readers of this client fall behind; one that falls behind the " +
			"history-window gets 410. During that time, further lists with selectors get 429",
	})
)
