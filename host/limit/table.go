package limit

import "net/http"

// These limits apply to connections to /watch.
var (
	MaxReaders = define(Limit{
		Name: "max-readers", Default: 10_000, Unit: Count, Code: http.StatusTooManyRequests,
		Help: "WebSocket readers served concurrently, counted from their Hello; more get 429",
	})
	MaxMessageBytes = define(Limit{
		Name: "max-message-bytes", Default: 1 << 20, Unit: Bytes, Code: http.StatusRequestEntityTooLarge,
		Help: "size of one message from a reader; a larger one closes the connection",
	})
	MaxMessageRate = define(Limit{
		Name: "max-message-rate", Default: 1000, Unit: Count, Code: http.StatusTooManyRequests,
		Help: "messages per second read from one reader, after a burst of the same number; the rest waits in the network. " +
			"A message counts once, and once more per 4KiB, per subscription, per 64 requirements of its selectors, and per further frame. " +
			"A new subscription also counts once per 100 objects of its scope, or changes since the version that it resumes from, " +
			"up to the rate; that delays later messages, for up to 10s",
	})
)

// These limits apply to all connections. A connection to /watch is authenticated after
// its Hello. A connection to the Kubernetes API is authenticated while it serves a
// request with a token. At all other times, a connection counts as unauthenticated. Clients
// behind a proxy share the proxy's address, so the limits per address allow many users;
// server.Config.TrustedProxies distinguishes clients.
var (
	MaxConnectionsPerAddress = define(Limit{
		Name: "max-connections-per-address", Default: 5000, Unit: Count, Code: http.StatusTooManyRequests,
		Help: "authenticated connections of one client address (of one /64 network in IPv6); more get 429. " +
			"Clients behind one proxy share its address, unless --trusted-proxy names the proxy",
	})
	MaxConnectionsPerUser = define(Limit{
		Name: "max-connections-per-user", Default: 1000, Unit: Count, Code: http.StatusTooManyRequests,
		Help: "authenticated connections of one user (--auth kube, proxy or oidc); more get 429",
	})
	MaxUnauthenticated = define(Limit{
		Name: "max-unauthenticated", Default: 1000, Unit: Count, Code: http.StatusTooManyRequests,
		Help: "connections that are not authenticated, or serve no request; one more closes the oldest of the address that has the most",
	})
	MaxUnauthenticatedPerAddress = define(Limit{
		Name: "max-unauthenticated-per-address", Default: 500, Unit: Count, Code: http.StatusTooManyRequests,
		Help: "connections of one client address that are not authenticated, or serve no request; one more closes the oldest of them",
	})
)

// These limits apply to requests to the Kubernetes API.
var (
	MaxWatches = define(Limit{
		Name: "max-watches", Default: 10_000, Unit: Count, Code: http.StatusTooManyRequests,
		Help: "concurrent watches of the Kubernetes API; more get 429, and so does a user or address that has more than remain for others",
	})
	// The default equals that of kube-apiserver's --max-requests-inflight.
	MaxRequests = define(Limit{
		Name: "max-requests", Default: 400, Unit: Count, Code: http.StatusTooManyRequests,
		Help: "other requests of the Kubernetes API served concurrently; a list counts once per 1000 objects that it examines, up to 10 times. " +
			"More requests get 429, and so do requests of a user or address with more than remain for others",
	})
	MaxWaitingRequests = define(Limit{
		Name: "max-waiting-requests", Default: 1000, Unit: Count, Code: http.StatusTooManyRequests,
		Help: "requests of the Kubernetes API that wait for a resource's first list or for a later resource version; " +
			"more get 429, and so do requests of a user or address with more than remain for others",
	})
)

// These limits apply to authentication and authorization.
var (
	MaxTokenBytes = define(Limit{
		Name: "max-token-bytes", Default: 16 << 10, Unit: Bytes, Code: http.StatusRequestEntityTooLarge,
		Help: "size of a bearer token; a longer one gets 413 and is not examined. The first message to /watch, which contains the token, may have 16KiB more",
	})
	MaxImpersonations = define(Limit{
		Name: "max-impersonations", Default: 64, Unit: Count, Code: http.StatusRequestEntityTooLarge,
		Help: "rights to impersonate that one request needs: one for the user, and one for each group, UID and extra value; more get 413",
	})
	MaxReviewBytes = define(Limit{
		Name: "max-review-bytes", Default: 16 << 10, Unit: Bytes, Code: http.StatusRequestEntityTooLarge,
		Help: "size of a SelfSubjectAccessReview or another review that a client of the Kubernetes API sends; a larger one gets 413",
	})
	MaxReviews = define(Limit{
		Name: "max-reviews", Default: 200, Unit: Count, Code: http.StatusTooManyRequests,
		Help: "token and access reviews awaited from kube-apiserver concurrently (--auth kube, proxy or oidc); clients that need another one get 429",
	})
	MaxReviewsPerAddress = define(Limit{
		Name: "max-reviews-per-address", Default: 50, Unit: Count, Code: http.StatusTooManyRequests,
		Help: "token and access reviews awaited concurrently for clients of one address (--auth kube, proxy or oidc); more get 429",
	})
	MaxReviewRate = define(Limit{
		Name: "max-review-rate", Default: 200, Unit: Count, Code: http.StatusTooManyRequests,
		Help: "access reviews per second, after a burst of the same number, that new requests of one user cause (--auth kube, proxy or oidc); " +
			"more get 429. Cached decisions and renewed ones do not count",
	})
	MaxRefusedTokens = define(Limit{
		Name: "max-refused-tokens", Default: 600, Unit: Count, Code: http.StatusTooManyRequests,
		Help: "tokens of one address that are refused within a minute (--auth kube or oidc); " +
			"further tokens of that address get 429 until the minute is over, unless they were accepted within the last minute",
	})
)

// This limit applies to objects from the source.
var (
	// The default equals etcd's default maximum request size.
	MaxObjectBytes = define(Limit{
		Name: "max-object-bytes", Default: 3 << 19, Unit: Bytes, Code: http.StatusRequestEntityTooLarge,
		Help: "size of an object's JSON; readers of a larger object get a fault for it and keep its last good version",
	})
)
