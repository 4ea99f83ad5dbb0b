package kubewatch

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/objectjson"
)

// Config configures a client. Durations are in milliseconds.
type Config struct {
	Resource      api.Resource
	Namespace     string
	LabelSelector string
	FieldSelector string

	// Schema contains the kind of the objects, and the fields and columns that the
	// handler needs. A roaming client ignores this field and takes the schema from
	// package catalog or from the server's discovery.
	Schema *api.Schema
	// Columns, if set, replace the columns in the schema of a roaming client.
	Columns []api.Column
	// Validate enables full validation of the JSON of objects, and splits a watch at the
	// ends of JSON values instead of at line feeds. If Validate is false, the scanner
	// only matches brackets in the parts that the schema does not select.
	Validate bool

	// Server names the server in errors.
	Server string
	// Remedy is advice for the user. It is appended to the error for a server whose
	// newest version is older than a known version.
	Remedy string

	// Roaming means that the address may lead to another cluster, or to a server that
	// lags, from one request to the next. A roaming client requests the identity of the
	// cluster, and requests it again before using data that may be from another cluster.
	Roaming bool
	// ClusterID identifies the cluster if a roaming client cannot read the identity from
	// the server.
	ClusterID string
	// RestartsList means that the handler accepts another BeginList before the end of a
	// list. Without RestartsList, the client ends the run if it cannot continue a list.
	RestartsList bool
	// ListsAtOnce means that the caller starts a list immediately after a 410. To avoid a
	// loop of lists, the client then reports a 503 if a 410 arrives within a second after
	// a list. The caller retries after the 503 with backoff.
	ListsAtOnce bool

	// PageSize is the number of objects per page of a list.
	PageSize int
	// InitialSeconds is the timeoutSeconds of a watch with initial events.
	InitialSeconds int
	// WatchSeconds is the timeoutSeconds of other watches, except that FirstWatchSeconds
	// applies to the first watch after a resumption.
	WatchSeconds, FirstWatchSeconds int
	// RequestTimeout limits requests other than lists and watches.
	RequestTimeout int64
	// Patience limits the wait for the next byte of a list, and the time by which a watch
	// may exceed its timeoutSeconds. The client only copies Patience and RequestTimeout
	// to the limits of each [Request]; the driver enforces them.
	Patience int64

	// Memory is the result of [Client.Memory] of an earlier client of the collection, or
	// zero.
	Memory Memory
	// Handler receives the objects, the progress and the end of each run.
	Handler Handler
	// Fetch starts a request and returns a nonzero ID for its response. Cancel cancels
	// the request with that ID. Neither function may call the client.
	Fetch  func(Request) (stream uint32)
	Cancel func(stream uint32)
}

// Handler receives the objects and the progress of a collection. If a method returns an
// error, the client ends the run with that error.
type Handler interface {
	// Describe receives the schema and the cluster ID that a roaming client has
	// determined. Describe reports whether the run continues: it returns false if the
	// handler has ended the run.
	Describe(schema *api.Schema, clusterID string) bool
	// BeginList starts the delivery of the complete state, Object delivers one of its
	// objects, and EndList ends the delivery.
	BeginList() error
	Object(o *Object) error
	EndList(rv api.ResourceVersion) error
	// Change delivers a changed or deleted object.
	Change(o *Object, deleted bool) error
	// Progress reports the position after each change, and whenever the position advances
	// or the newest version of the server becomes known.
	Progress(p Progress) error
	// Lagging reports why there is no progress although the run continues.
	Lagging(why *api.Status)
	// Skipped reports an event that the client ignored because its type or the kind of
	// its object is unexpected (rule R6).
	Skipped(what string)
	// Ended reports the end of the run. After a 410, the next run must list. After other
	// errors, the next run can resume from the last version.
	Ended(why *api.Status)
}

// Progress is the position of a watch.
type Progress struct {
	// At is the newest delivered version. More objects with this version may follow.
	At api.ResourceVersion
	// Complete is the newest complete version, from which a watch can resume.
	Complete api.ResourceVersion
	// Newest is the newest version of the server, as of a time after the watch was
	// requested, or zero if it is not known yet.
	Newest api.ResourceVersion
	// Changed reports whether a change caused this report, rather than a bookmark, the
	// end of a watch, or the response with the newest version.
	Changed bool
}

// Current reports whether the newest version is known and the watch has reached it.
func (p Progress) Current() bool { return p.Newest != 0 && p.At >= p.Newest }

// Memory contains what a client has learned about its server. A later client with this
// Memory does not repeat the failed requests.
type Memory struct {
	// Pages means that the server does not support watches with initial events.
	Pages bool
	// FailingSince is the time of the first error in the current sequence of internal
	// errors, in milliseconds, or zero.
	FailingSince int64
}

// Start specifies whether a run resumes or lists, and from which version.
type Start struct {
	// From is the version to resume from. Zero requests a list.
	From api.ResourceVersion
	// ClusterID identifies the cluster that From belongs to.
	ClusterID string
	// NotOlderThan is the minimum version of a list.
	NotOlderThan api.ResourceVersion
}

// Client lists and watches one collection, in one run at a time. A run lasts from Start
// to Stop or Ended.
type Client struct {
	cfg     Config
	now     int64
	scanner *objectjson.Scanner
	schema  *api.Schema // nil until known

	// State of the current run:
	phase     phase
	from      api.ResourceVersion // version to resume from; zero for a list
	clusterID string              // the cluster that the version in from belongs to
	minimum   api.ResourceVersion // minimum version of a list
	at        api.ResourceVersion // newest delivered version
	complete  api.ResourceVersion // newest complete version; more objects may follow with the version in at
	changed   api.ResourceVersion // version of the last change of this watch
	request   request             // the request of the current phase
	probe     request             // the concurrent request for the newest version
	confirm   request             // the concurrent request for the cluster's identity
	lines     splitter
	items     items
	// newestItems parses the response with the newest version.
	newestItems items
	newest      api.ResourceVersion // newest version of the server; zero until known
	probedAt    api.ResourceVersion // value of at when newest was requested
	events      int                 // number of events of the current watch
	begun       int64               // when the watch was requested
	held        []byte              // data of a watch that waits for the confirmation of the cluster
	listed      api.ResourceVersion // version of a complete but unconfirmed list
	object      Object

	// State that outlives a run:
	method   listMethod
	failing  int64 // when the current sequence of internal errors began, or zero
	listedAt int64 // time of the last complete list, if ListsAtOnce is set
}

// phase is the current activity of a client.
type phase uint8

const (
	idle                 phase = iota
	identifying                // requests the identity of the cluster
	discovering                // requests the kind of the resource
	checkingResume             // requests the newest version before a resumption
	raisingMinimum             // requests the newest version before a list
	requestingList             // awaits the first response of a list
	receivingList              // receives a list
	confirmingList             // holds the end of a list until the cluster is confirmed
	confirmingWatch            // holds the data of a watch until the cluster is confirmed
	confirmingEndedWatch       // like confirmingWatch, after the regular end of the watch
	watching
)

// listMethod selects the requests that read the complete state.
type listMethod uint8

const (
	byInitialEvents listMethod = iota // a watch that begins with the state
	byPages                           // a list in pages
	inOnePage                         // a list without pages, after a continue token has expired
)

// New returns an idle client. The schema and the columns must be valid for
// catalog.NewScanner.
func New(cfg Config) *Client {
	c := &Client{cfg: cfg, failing: cfg.Memory.FailingSince}
	if cfg.Memory.Pages {
		c.method = byPages
	}
	return c
}

// Start ends the current run, if any, and begins a new one.
func (c *Client) Start(s Start) {
	c.Stop()
	c.from, c.clusterID, c.minimum = s.From, s.ClusterID, s.NotOlderThan
	if c.from == c.at && c.complete != 0 && c.from != 0 {
		c.from = c.complete
	}
	c.at, c.complete = c.from, c.from
	if c.cfg.Roaming {
		c.phase = identifying
		c.fetchIdentity(&c.request, identity)
		return
	}
	if c.schema != nil || c.compile(c.cfg.Schema) {
		c.begin()
	}
}

// begin resumes from c.from if that version is set, and otherwise lists. It may request
// the newest version first.
func (c *Client) begin() {
	switch {
	case c.from != 0 && c.cfg.Roaming:
		c.watch(c.cfg.FirstWatchSeconds, confirmingWatch)
	case c.from != 0:
		c.phase = checkingResume
		c.fetchNewest(&c.request, resume)
	case c.minimum > 0 && c.cfg.Roaming:
		c.phase = raisingMinimum
		c.fetchNewest(&c.request, minimum)
	default:
		c.list()
	}
}

// Stop ends the run without calling Ended of the handler.
func (c *Client) Stop() {
	if c.request.purpose == initialEvents && (c.request.Code == api.CodeOK || c.cfg.Roaming) {
		// The caller gave up on the initial events, so the next run lists in pages. A
		// server that ignores sendInitialEvents sends the state, or nothing, but never
		// the end mark. A roaming client may have no status code yet, because Firefox
		// reports none before the first byte of the body.
		c.method = byPages
	}
	c.drop(&c.request)
	c.drop(&c.probe)
	c.drop(&c.confirm)
	c.phase = idle
	c.held, c.listed, c.newest = nil, 0, 0
}

// Running reports whether a run has begun and not ended.
func (c *Client) Running() bool { return c.phase != idle }

// Tick sets the current time, in milliseconds.
func (c *Client) Tick(now int64) { c.now = now }

// Memory returns the state to pass to a later client.
func (c *Client) Memory() Memory {
	return Memory{Pages: c.method != byInitialEvents, FailingSince: c.failing}
}

// End ends the run and passes the status to Ended of the handler. Callers use End to
// report their own failures.
func (c *Client) End(status *api.Status) {
	c.request.purpose = none // so that Stop does not switch to paged lists
	c.Stop()
	c.cfg.Handler.Ended(c.judge(status))
}

// retryWindow is how long the client retries a watch from the same version after internal errors,
// in milliseconds (rules C4, R9). After this time, the client requires a new list.
const retryWindow = 30_000

// reasonStorageRead is the reason in the Status of a server that cannot decode its stored data.
const reasonStorageRead api.Reason = "StorageReadError"

// judge converts an error that requires a new list into a 410, and a 410 directly after a
// list into an error that the caller retries.
func (c *Client) judge(status *api.Status) *api.Status {
	justListed := c.listedAt != 0 && c.now-c.listedAt < veryShort
	switch {
	case status.Code == api.CodeGone && justListed:
		return api.Unavailable("the server has already expired the version of its list: " + status.Message)
	case status.Code != api.CodeInternalError:
		return status
	}
	relist := status.Reason == reasonStorageRead
	switch {
	case c.failing == 0:
		c.failing = c.now
	case c.now-c.failing > retryWindow:
		relist, c.failing = true, 0
	}
	if !relist || c.at == 0 || justListed {
		return status
	}
	return api.Expired("list " + c.cfg.Resource.String() + " again: " + status.Message)
}
