package kubewatch

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/objectjson"
	"github.com/watchglass/watchglass/core/reflector"
	"github.com/watchglass/watchglass/core/wire"
)

// Config configures a feed.
type Config struct {
	Resource      api.Resource
	Namespace     string
	LabelSelector string
	FieldSelector string
	MetadataOnly  bool
	// Columns are the columns of the objects; none means the defaults.
	Columns []api.Column
	// Cluster identifies a cluster whose identity is not readable.
	Cluster string
	// Describe receives the schema. It returns false if the collection has
	// objects with a different layout; the subscription has then ended.
	Describe func(*wire.Schema) bool
	// Fetch starts a GET of a path and returns a nonzero number for its response.
	// Cancel cancels it.
	Fetch  func(path string) (stream uint32)
	Cancel func(stream uint32)
}

// Feed serves the subscriptions of one collection, one at a time.
type Feed struct {
	cfg       Config
	reflector *reflector.Reflector
	now       int64
	scanner   *objectjson.Scanner
	schema    *api.Schema // nil until discovered

	// State of the current subscription:
	from    api.ResourceVersion // version to resume from; zero for a list
	source  string              // the history of that version
	floor   api.ResourceVersion // minimum version of a list
	at      api.ResourceVersion // newest version sent to the reflector
	whole   api.ResourceVersion // newest complete version; further objects of version at may follow
	request request             // the current list or watch
	probe   request             // the concurrent request for the newest version
	confirm request             // the concurrent request for the cluster's identity
	lines   splitter
	items   items
	// newestItems is the list in the response of probe.
	newestItems items
	listing     bool                // the list has started
	sure        bool                // target is known
	target      api.ResourceVersion // newest version of the server
	asked       api.ResourceVersion // our version when target was requested
	events      int                 // events of the current watch
	begun       int64               // when the watch was requested
	unconfirmed bool                // the watch may be from a different cluster
	held        []byte              // data of the watch until it is confirmed
	ended       bool                // the unconfirmed watch has ended normally
	state       api.ResourceVersion // version of a complete but unconfirmed list

	// State that outlives a subscription:
	classic  bool  // the server does not support watches with initial events
	unpaged  bool  // a continue token expired
	failing  int64 // start of an uninterrupted sequence of internal errors
	listedAt int64 // time of the last complete list
	envelope wire.Envelope

	// PassedOver counts skipped events of other resources (rule R6).
	PassedOver int
}

// New returns a feed without a subscription. objectjson.NewScanner must accept the
// columns.
func New(cfg Config) *Feed { return &Feed{cfg: cfg} }

// Subscribe starts a subscription of a reflector and ends the previous one.
func (f *Feed) Subscribe(r *reflector.Reflector, s *wire.Subscribe) {
	f.Unsubscribe()
	f.reflector = r
	f.from, f.source, f.floor = s.ResourceVersion, string([]byte(s.Source)), s.NotOlderThan
	if f.from == f.at && f.whole != 0 && f.from != 0 {
		f.from = f.whole
	}
	f.at, f.whole = f.from, f.from
	f.unconfirmed = true
	f.ask(identity, identityPath)
}

// Unsubscribe ends the subscription.
func (f *Feed) Unsubscribe() {
	if f.request.about == initialEvents && f.request.code == 200 {
		// The initial events took too long. A server that ignores the option
		// sends the state, or nothing, but never the end mark.
		f.classic = true
	}
	f.drop(&f.request)
	f.drop(&f.probe)
	f.drop(&f.confirm)
	f.listing, f.sure, f.reflector = false, false, nil
	f.held, f.ended, f.state = nil, false, 0
}

// Tick sets the time.
func (f *Feed) Tick(now int64) { f.now = now }

// end ends the subscription with a status.
func (f *Feed) end(status *api.Status) {
	r := f.reflector
	f.request.code = 0 // the outcome of the request is known
	f.Unsubscribe()
	r.Ended(f.judge(status))
}

// retryWindow is how long a watch is retried from the same version after internal
// errors (rules C4, R9).
const retryWindow = 30_000

// reasonStorageRead is the server's reason for stored data that it cannot decode.
const reasonStorageRead api.Reason = "StorageReadError"

// judge converts an error that requires a relist into a 410, and a 410 directly
// after a list into an error that is retried.
func (f *Feed) judge(status *api.Status) *api.Status {
	justListed := f.listedAt != 0 && f.now-f.listedAt < veryShort
	switch {
	case status.Code == api.CodeGone && justListed:
		return api.Unavailable("the server does not know the version of its own list any more: " + status.Message)
	case status.Code != api.CodeInternalError:
		return status
	}
	relist := status.Reason == reasonStorageRead
	switch {
	case f.failing == 0:
		f.failing = f.now
	case f.now-f.failing > retryWindow:
		relist, f.failing = true, 0
	}
	if !relist || f.at == 0 || justListed {
		return status
	}
	return api.Expired("list " + f.cfg.Resource.String() + " anew: " + status.Message)
}

// object is an object from a list or a watch.
type object struct {
	put     cacher.Put
	key     api.Key
	foreign bool // of another kind, such as Table
}

// read scans an object. The result is valid until the next call.
func (f *Feed) read(raw []byte) (object, error) {
	o, err := f.scanner.Scan(raw, objectjson.Options{Unchecked: true, Borrowed: true})
	if err != nil {
		return object{}, err
	}
	declared := len(f.schema.Fields)
	apiVersion, kind := o.Fields[declared], o.Fields[declared+1]
	o.Fields = o.Fields[:declared]
	switch {
	case apiVersion == "" && kind == "":
		f.complete(&o)
	case apiVersion != f.schema.Resource.APIVersion() || kind != f.schema.Kind:
		return object{foreign: true}, nil
	}
	if o.ResourceVersion == 0 {
		return object{}, broken("object " + lite.Quote(string(o.Key)) + " has no resourceVersion")
	}
	if f.cfg.MetadataOnly {
		o.Body = api.Body{}
	}
	f.envelope = wire.AppendEnvelope(f.envelope[:0], &o)
	return object{key: o.Key, put: cacher.Put{
		ResourceVersion: o.ResourceVersion, Flags: o.Flags, Labels: o.Labels, Envelope: f.envelope,
	}}, nil
}

// complete adds the kind and apiVersion that items of a typed list lack.
func (f *Feed) complete(o *api.Object) {
	head := `{"kind":"` + f.schema.Kind + `","apiVersion":"` + f.schema.Resource.APIVersion() + `",` // an object with a key has further members
	o.Body.Data = append([]byte(head), o.Body.Data[1:]...)
}
