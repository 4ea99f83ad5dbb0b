package limit

import "net/http"

// Limits of the work that one client causes: one user, or one address if the policy
// does not distinguish users.
var (
	MaxClientMessageRate = define(Limit{
		Name: "max-client-message-rate", Default: 2000, Unit: Count, Code: http.StatusTooManyRequests,
		Help: "messages per second, after a burst of as many, read from all connections to /watch of one user, or of one address " +
			"if the policy does not tell users apart; further ones wait in the network. A message counts as for max-message-rate",
	})
	MaxEvaluationRate = define(Limit{
		Name: "max-evaluation-rate", Default: 2_000_000, Unit: Count, Code: http.StatusTooManyRequests,
		Help: "evaluations of selectors per second, after a burst of as many, for all connections to /watch and all requests of the Kubernetes API " +
			"of one user, or of one address if the policy does not tell users apart; an object counts once, and once more for each requirement " +
			"and field that is compared. Further ones wait, so that their readers fall behind and not others; one that falls behind the " +
			"history-window gets 410. While evaluations wait, further lists with selectors get 429",
	})
)
