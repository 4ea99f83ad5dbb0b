package limit

import (
	"net/http"
	"time"
)

// These limits are the timeouts and intervals of connections and requests, and the
// maximum size of headers.
var (
	HelloTimeout = define(Limit{
		Name: "hello-timeout", Default: int64(10 * time.Second), Unit: Duration, Code: http.StatusRequestTimeout,
		Help: "time that a new connection to /watch has to send its Hello; then it is closed with 408",
	})
	WriteTimeout = define(Limit{
		Name: "write-timeout", Default: int64(time.Minute), Unit: Duration, Code: http.StatusRequestTimeout,
		Help: "time that a client may take to accept one message, or one piece of a response; a slower client is disconnected",
	})
	LookupTimeout = define(Limit{
		Name: "lookup-timeout", Default: int64(5 * time.Second), Unit: Duration, Code: http.StatusServiceUnavailable,
		Help: "time that the source may take to describe a resource, and an access review to decide; then the request gets 503",
	})
	ListTimeout = define(Limit{
		Name: "list-timeout", Default: int64(10 * time.Second), Unit: Duration, Code: http.StatusTooManyRequests,
		Help: "time that a request of the Kubernetes API waits for the first list of its resource; then it gets 429",
	})
	MinWatchTimeout = define(Limit{
		Name: "min-watch-timeout", Default: int64(30 * time.Minute), Unit: Duration,
		Help: "shortest duration of a watch of the Kubernetes API that sets no timeoutSeconds; it ends after this time to twice this time, and its client resumes it",
	})
	HeaderTimeout = define(Limit{
		Name: "header-timeout", Default: int64(5 * time.Second), Unit: Duration,
		Help: "time that a client may take to send the headers of a request; then the connection is closed",
	})
	MaxHeaderBytes = define(Limit{
		Name: "max-header-bytes", Default: 32 << 10, Unit: Bytes, Code: http.StatusRequestHeaderFieldsTooLarge, Uncounted: true,
		Help: "size of the headers of a request; larger ones get 431",
	})
	IdleTimeout = define(Limit{
		Name: "idle-timeout", Default: int64(2 * time.Minute), Unit: Duration,
		Help: "time that a connection without a request stays open",
	})
	PingInterval = define(Limit{
		Name: "ping-interval", Default: int64(20 * time.Second), Unit: Duration,
		Help: "time between two pings of a connection to /watch; a connection that is silent for 4 intervals is closed",
	})
)

// These limits apply to the cached data of a resource.
var (
	Linger = define(Limit{
		Name: "linger", Default: int64(30 * time.Second), Unit: Duration,
		Help: "time that a resource stays in the cache after its last reader has left",
	})
	// The default equals that of kube-apiserver.
	HistoryWindow = define(Limit{
		Name: "history-window", Default: int64(75 * time.Second), Unit: Duration,
		Help: "time that the changes of a resource are retained, within max-history-events; a watch that resumes from an older version gets 410",
	})
	MaxHistoryEvents = define(Limit{
		Name: "max-history-events", Default: 102_400, Unit: Count,
		Help: "changes retained per resource; the default grows with a longer history-window",
	})
)
