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

	// Schema has the kind of the objects, and the fields and columns that the
	// handler needs. A roaming client determines it itself, from package catalog or
	// from the server.
	Schema *api.Schema
	// Columns replace the columns of the schema that a roaming client determines.
	Columns []api.Column
	// Validate checks the JSON of objects completely, and splits a watch by value
	// instead of by line. Without it, the parts that the schema does not select are
	// skipped by their brackets.
	Validate bool

	// Server names the server in errors.
	Server string
	// Remedy is appended to the error for a server that has gone back in time.
	Remedy string

	// Roaming means that the address may lead to another cluster, or to a server
	// that lags, from one request to the next. The client then requests the
	// identity of the cluster itself, and confirms it before it uses a response.
	Roaming bool
	// ClusterID identifies a roaming cluster whose identity is not readable.
	ClusterID string
	// RestartsList means that the handler accepts another BeginList before the end
	// of a list. A client that cannot continue a list otherwise ends.
	RestartsList bool
	// ListsAtOnce means that the caller lists without delay after a 410. The
	// client then avoids a 410 directly after a list.
	ListsAtOnce bool

	// PageSize is the number of objects per page of a list.
	PageSize int
	// InitialSeconds is the duration of a watch that begins with the state.
	InitialSeconds int
	// WatchSeconds is the duration of a watch, and FirstWatchSeconds that of the
	// first watch after a resumption.
	WatchSeconds, FirstWatchSeconds int
	// RequestTimeout limits requests other than lists and watches.
	RequestTimeout int64
	// Patience limits the wait for the next byte of a list, and for the overdue end
	// of a watch. It and RequestTimeout only determine the limits of each [Request],
	// which the driver enforces.
	Patience int64

	// Memory is the state of an earlier client of the collection.
	Memory Memory
	// Handler receives the collection.
	Handler Handler
	// Fetch starts a request and returns a nonzero number for its response. Cancel
	// cancels it. Neither may call the client.
	Fetch  func(Request) (stream uint32)
	Cancel func(stream uint32)
}

// Handler receives a collection. An error that a method returns ends the client
// with that error.
type Handler interface {
	// Describe receives the schema and the ID of the cluster, if the client
	// determines them. It returns false if it has ended the client.
	Describe(schema *api.Schema, clusterID string) bool
	// BeginList begins the complete state. Object delivers one of its objects, and
	// EndList completes it.
	BeginList() error
	Object(o *Object) error
	EndList(rv api.ResourceVersion) error
	// Change delivers a changed or deleted object.
	Change(o *Object, deleted bool) error
	// Progress reports the position after each change, and at other points where
	// the position or the newest version of the server becomes known.
	Progress(p Progress) error
	// Lagging reports why there is no progress although the client has not ended.
	Lagging(why *api.Status)
	// Skipped reports an event of another resource (rule R6).
	Skipped(what string)
	// Ended reports the end of the client. A 410 requires a new list; other errors
	// can be retried from the last version.
	Ended(why *api.Status)
}

// Progress is the position of a watch.
type Progress struct {
	// At is the newest delivered version. Further objects of this version may follow.
	At api.ResourceVersion
	// Complete is the newest complete version, from which a watch can resume.
	Complete api.ResourceVersion
	// Newest is the version of the server after the watch was requested, or zero if
	// it is not known yet.
	Newest api.ResourceVersion
	// Changed reports that the position follows a change, and not a bookmark, the end
	// of a watch, or the response with the newest version.
	Changed bool
}

// Current reports whether the watch has reached the newest version.
func (p Progress) Current() bool { return p.Newest != 0 && p.At >= p.Newest }

// Memory contains the findings of a client about its server. Later clients of the
// server start with them.
type Memory struct {
	// Pages means that the server does not support watches with initial events.
	Pages bool
	// FailingSince is the start of an uninterrupted sequence of internal errors.
	FailingSince int64
}

// Start contains the version and the cluster at which a run starts.
type Start struct {
	// From is the version to resume from. Zero requests a list.
	From api.ResourceVersion
	// ClusterID identifies the cluster of that version.
	ClusterID string
	// NotOlderThan is the minimum version of a list.
	NotOlderThan api.ResourceVersion
}

// Client lists and watches one collection, in one run at a time.
type Client struct {
	cfg     Config
	now     int64
	scanner *objectjson.Scanner
	schema  *api.Schema // nil until known

	// State of the current run:
	phase     phase
	from      api.ResourceVersion // version to resume from; zero for a list
	clusterID string              // the cluster of that version
	minimum   api.ResourceVersion // minimum version of a list
	at        api.ResourceVersion // newest delivered version
	complete  api.ResourceVersion // newest complete version; further objects of version at may follow
	changed   api.ResourceVersion // version of the last change of this watch
	request   request             // of the phase
	probe     request             // the concurrent request for the newest version
	confirm   request             // the concurrent request for the cluster's identity
	lines     splitter
	items     items
	// newestItems is the list in the response of probe.
	newestItems items
	newest      api.ResourceVersion // newest version of the server; zero until known
	probedAt    api.ResourceVersion // our version when newest was requested
	events      int                 // events of the current watch
	begun       int64               // when the watch was requested
	held        []byte              // data of the watch until it is confirmed
	listed      api.ResourceVersion // version of a complete but unconfirmed list
	object      Object

	// State that outlives a run:
	method   listMethod
	failing  int64 // start of an uninterrupted sequence of internal errors
	listedAt int64 // time of the last complete list, if ListsAtOnce is set
}

// phase is the current activity of a client.
type phase uint8

const (
	idle                 phase = iota
	identifying                // requests the identity of the cluster
	discovering                // requests the kind of the resource
	checkingResume             // requests the newest version before it resumes
	raisingMinimum             // requests the newest version before it lists
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
	inOnePage                         // a list without pages, because a continue token expired
)

// New returns a client that is idle. catalog.NewScanner must accept the schema and the
// columns.
func New(cfg Config) *Client {
	c := &Client{cfg: cfg, failing: cfg.Memory.FailingSince}
	if cfg.Memory.Pages {
		c.method = byPages
	}
	return c
}

// Start begins a run and ends the previous one.
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

// begin resumes or lists.
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

// Stop ends the run without a report.
func (c *Client) Stop() {
	if c.request.purpose == initialEvents && (c.request.Code == api.CodeOK || c.cfg.Roaming) {
		// The initial events took too long. A server that ignores the option
		// sends the state, or nothing, but never the end mark. In Firefox, a server
		// that has sent no bytes has no status code yet.
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

// Tick sets the time.
func (c *Client) Tick(now int64) { c.now = now }

// Memory returns the state for a later client.
func (c *Client) Memory() Memory {
	return Memory{Pages: c.method != byInitialEvents, FailingSince: c.failing}
}

// End ends the run with a status. The caller may end it because of a failure of its
// own.
func (c *Client) End(status *api.Status) {
	c.request.purpose = none // the outcome of the request is known
	c.Stop()
	c.cfg.Handler.Ended(c.judge(status))
}

// retryWindow is how long a watch is retried from the same version after internal
// errors (rules C4, R9).
const retryWindow = 30_000

// reasonStorageRead is the server's reason for stored data that it cannot decode.
const reasonStorageRead api.Reason = "StorageReadError"

// judge converts an error that requires a new list into a 410, and a 410 directly
// after a list into an error that is retried.
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
