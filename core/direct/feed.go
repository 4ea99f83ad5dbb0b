package direct

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/envelope"
	"github.com/watchglass/watchglass/core/reflector"
	"github.com/watchglass/watchglass/core/wire"
)

// Config says what to read, and how to ask for it.
type Config struct {
	Resource      api.Resource
	Namespace     string
	LabelSelector string
	FieldSelector string
	MetadataOnly  bool
	// Columns of the objects; none stand for the usual ones.
	Columns []api.Column
	// Cluster names the history of a cluster that does not say who it is.
	Cluster string
	// Describe hands the description of the objects on. False means that they
	// were described differently: the subscription has ended then.
	Describe func(*wire.Schema) bool
	// Fetch asks for a GET of a path and returns a number for its answer, never
	// zero. Cancel abandons it.
	Fetch  func(path string) (stream uint32)
	Cancel func(stream uint32)
}

// Feed answers the subscriptions of one collection, one at a time.
type Feed struct {
	cfg       Config
	reflector *reflector.Reflector
	now       int64
	scanner   *envelope.Scanner
	schema    *api.Schema // nil before the first subscription has got that far

	// Of the present subscription:
	from    api.ResourceVersion // where it goes on, zero for a new list
	source  string              // that version's history
	floor   api.ResourceVersion // no list may be older
	at      api.ResourceVersion // the newest version handed over
	whole   api.ResourceVersion // everything up to there was: of at there may be more
	request request             // the one under way
	probe   request             // the one beside it, for the newest version
	confirm request             // another, for who the cluster is
	lines   splitter
	items   items
	// newestItems are those of the probe.
	newestItems items
	listing     bool                // the list has begun
	sure        bool                // the server said how far it is
	target      api.ResourceVersion // and that is how far
	asked       api.ResourceVersion // how far we were when it was asked
	events      int                 // of the present watch
	begun       int64               // when that was asked for
	unconfirmed bool                // that may have gone to another cluster
	held        []byte              // of its answer, until that is known
	ended       bool                // and it has ended in order
	state       api.ResourceVersion // of a list that is complete and held likewise

	// What is remembered from one to the next:
	classic  bool  // the server does not begin watches with the state, or not with all of it
	unpaged  bool  // a continue token expired
	failing  int64 // since when there have been nothing but internal errors
	listedAt int64 // when the last list was complete
	envelope wire.Envelope

	// PassedOver counts the events that were not of the resource (rule R6).
	PassedOver int
}

// New returns a feed that is not subscribed to. The columns must be known to be
// such that envelope.NewScanner accepts them.
func New(cfg Config) *Feed { return &Feed{cfg: cfg} }

// Subscribe begins a subscription of a reflector, in place of the last.
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

// Unsubscribe ends it.
func (f *Feed) Unsubscribe() {
	if f.request.about == initialEvents && f.request.code == 200 {
		// It took too long: a server that does not know the option sends the
		// state, or nothing, and never the mark.
		f.classic = true
	}
	f.drop(&f.request)
	f.drop(&f.probe)
	f.drop(&f.confirm)
	f.listing, f.sure, f.reflector = false, false, nil
	f.held, f.ended, f.state = nil, false, 0
}

// Tick tells the time.
func (f *Feed) Tick(now int64) { f.now = now }

// end ends the subscription with a status.
func (f *Feed) end(status *api.Status) {
	r := f.reflector
	f.request.code = 0 // what became of it is known
	f.Unsubscribe()
	r.Ended(f.judge(status))
}

// retryWindow is how long internal errors are answered with another watch from
// the same version (rules C4, R9).
const retryWindow = 30_000

// reasonStorageRead is the server's word for stored bytes it cannot decode.
const reasonStorageRead api.Reason = "StorageReadError"

// judge makes a 410 of an error that only a new list can end, and of a 410 that
// no list can end an error to wait for.
func (f *Feed) judge(status *api.Status) *api.Status {
	justListed := f.listedAt != 0 && f.now-f.listedAt < veryShort
	switch {
	case status.Code == 410 && justListed:
		return api.Unavailable("the server does not know the version of its own list any more: " + status.Message)
	case status.Code != 500:
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

// object is one that a list or a watch brought.
type object struct {
	put     cacher.Put
	key     api.Key
	foreign bool // it is of another kind, such as a Table
}

// read scans an object. The result is good until the next one.
func (f *Feed) read(raw []byte) (object, error) {
	o, err := f.scanner.Scan(raw, envelope.Options{Unchecked: true, Borrowed: true})
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
		return object{}, broken("object " + api.Quote(string(o.Key)) + " has no resourceVersion")
	}
	if f.cfg.MetadataOnly {
		o.Body = api.Body{}
	}
	f.envelope = wire.AppendEnvelope(f.envelope[:0], &o)
	return object{key: o.Key, put: cacher.Put{
		ResourceVersion: o.ResourceVersion, Flags: o.Flags, Labels: o.Labels, Envelope: f.envelope,
	}}, nil
}

// complete puts in what the items of a typed list lack.
func (f *Feed) complete(o *api.Object) {
	head := `{"kind":"` + f.schema.Kind + `","apiVersion":"` + f.schema.Resource.APIVersion() + `",` // an object with a key has more members
	o.Body.Data = append([]byte(head), o.Body.Data[1:]...)
}
