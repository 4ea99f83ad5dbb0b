package reflector

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// Scope is what a collection subscribes to.
type Scope struct {
	Resource      string
	Namespace     string
	LabelSelector string
	FieldSelector string
	MetadataOnly  bool
	// Columns tells scopes of other columns apart, where the reader chooses them.
	Columns string
}

// Config of a reflector.
type Config struct {
	Scope Scope
	// Floor is the oldest version that the first state may have, zero for any,
	// and Source the history that it belongs to.
	Floor  api.ResourceVersion
	Source string
	// Credit is how many bytes may be on their way.
	Credit uint64
	Rand   *api.Rand
	// NextSubscription returns a number not used before on this connection.
	NextSubscription func() uint32
}

type phase uint8

const (
	idle       phase = iota // not connected
	waiting                 // for the time to subscribe again
	subscribed              // asked, not answered yet
	listing                 // a snapshot is under way
	catchingUp              // changes come, and no word yet that they are all
	following               // in step with the connector
	refused                 // for good
)

// slowRetryMillis spaces attempts that a person has to make possible, such as
// those refused for lack of rights.
const slowRetryMillis = 30_000

// stalePeriods without progress make a collection stale.
const stalePeriods = 3

// Reflector feeds one cacher.
type Reflector struct {
	cfg      Config
	cacher   *cacher.Cacher
	phase    phase
	now      int64
	period   int64 // of progress, as the connector promised
	sub      uint32
	relist   bool  // the next subscription starts with a snapshot
	retryAt  int64 // in phase waiting
	backoff  Backoff
	status   *api.Status // why it is not live
	missed   *api.Status // why there is no progress, once that makes it stale
	total    uint64      // of the snapshot under way, roughly
	heard    int64       // when progress was last heard of
	asked    int64       // when the present subscription was made, or last said anything
	received uint64      // bytes of data frames since the last grant
	schema   bool        // the schema is known
	source   string      // of the resource versions, as the connector names it
	labels   *labelSets  // of the present subscription
	bases    uint64      // of the versions above basesSince, as the connector names them
	// basesSince: versions up to there have other bases.
	basesSince api.ResourceVersion
	head       []byte     // scratch
	sought     []store.ID // of the changes that are being applied
	out        []byte
	// requested: progress was asked for, because a read waits for a version, and
	// has not come since.
	requested bool
	replayed  []wire.Dictionary // while kept state is replayed
	parts     []wire.Change     // of which each part is parsed meanwhile
	// later is what was replayed and not looked at yet.
	later later

	// Counters for inspection.
	Relists, Resumes, Expired, Events uint64
	// Missing counts the subscriptions that started over because they were told
	// differences from what is not here.
	Missing uint64
	// OnSchema is called when the schema is known, and OnFault for each object
	// that could not be brought up to date.
	OnSchema func()
	OnFault  func(*wire.ObjectError)
	// OnRefused is called when the collection is given up for good, from either
	// side: nothing more comes, for those either who are served from here.
	OnRefused func(why *api.Status)
}

// New returns a reflector that is not connected. It feeds c, which must be
// empty.
func New(cfg Config, c *cacher.Cacher) *Reflector {
	return &Reflector{
		cfg: cfg, cacher: c, labels: &labelSets{}, source: cfg.Source, backoff: NewBackoff(cfg.Rand), period: 10_000,
		OnSchema: func() {}, OnFault: func(*wire.ObjectError) {}, OnRefused: func(*api.Status) {},
	}
}

// Cacher is what it feeds.
func (r *Reflector) Cacher() *cacher.Cacher { return r.cacher }

// Outgoing returns the frames to send and forgets them.
func (r *Reflector) Outgoing() []byte {
	if r.follows() && !r.requested && r.cacher.Awaiting() {
		r.requested = true
		r.out = (&wire.RequestProgress{Subscription: r.sub}).Append(r.out)
	}
	out := r.out
	r.out = nil
	return out
}

// Subscription is the number that frames must carry to be meant for this
// reflector; zero when none is.
func (r *Reflector) Subscription() uint32 { return r.sub }

// Source names the history that resource versions belong to, once it is known.
func (r *Reflector) Source() string { return r.source }

// Asked is when the present subscription was made, or last said anything.
func (r *Reflector) Asked() int64 { return r.asked }

// Delayed notes that the connection is busy with a message for another
// subscription or for this one: silence does not mean that this one is stuck.
func (r *Reflector) Delayed() {
	if r.sub != 0 {
		r.asked = r.now
	}
}

// SchemaKnown reports whether the collection's objects have been described.
func (r *Reflector) SchemaKnown() bool { return r.schema }

// Connected subscribes on a new connection, whose connector promised progress
// every progressMillis.
func (r *Reflector) Connected(progressMillis int64) {
	r.period = max(progressMillis, 1)
	if r.phase != refused {
		r.subscribe()
	}
}

// Disconnected keeps everything as it is and waits for the next connection. The
// state says why there is none.
func (r *Reflector) Disconnected(why *api.Status) {
	r.sub = 0
	r.cacher.AbortList()
	if r.phase != refused {
		r.phase, r.status = idle, why
	}
}

// Close ends the subscription.
func (r *Reflector) Close() {
	if r.sub != 0 {
		r.out = (&wire.Unsubscribe{Subscription: r.sub}).Append(r.out)
	}
	r.sub, r.phase = 0, refused
	r.labels = &labelSets{}
}

// subscribe asks to resume from what is here, or for a snapshot that is not
// older.
func (r *Reflector) subscribe() {
	r.cacher.AbortList()
	r.sub = r.cfg.NextSubscription()
	r.phase, r.asked, r.received = subscribed, r.now, 0
	r.labels = &labelSets{}
	f := wire.Subscribe{
		Subscription: r.sub, Resource: r.cfg.Scope.Resource, Namespace: r.cfg.Scope.Namespace,
		LabelSelector: r.cfg.Scope.LabelSelector, FieldSelector: r.cfg.Scope.FieldSelector,
		MetadataOnly: r.cfg.Scope.MetadataOnly, Credit: r.cfg.Credit,
		Source: r.source, NotOlderThan: r.cacher.ResourceVersion(), Bases: r.bases, BasesSince: r.basesSince,
	}
	if r.source == r.cfg.Source {
		f.NotOlderThan = max(f.NotOlderThan, r.cfg.Floor)
	}
	if r.resumes() {
		f.ResourceVersion = r.cacher.ResourceVersion()
	}
	r.out = f.Append(r.out)
}

// resumes reports whether the next subscription, or the present one while it is
// not answered, goes on from what is here.
func (r *Reflector) resumes() bool { return r.cacher.Ready() && !r.relist }

// follows reports whether changes come, be they all or not.
func (r *Reflector) follows() bool { return r.phase == catchingUp || r.phase == following }

// resubscribe gives up the present subscription and subscribes again at once.
func (r *Reflector) resubscribe() {
	r.out = (&wire.Unsubscribe{Subscription: r.sub}).Append(r.out)
	r.subscribe()
}

// Tick tells the time and does what has become due. Once it is stale for a reason
// that it knows, those who are served from here are told that, too.
func (r *Reflector) Tick(now int64) {
	r.now = now
	if why := r.why(); why != nil && r.phase != refused && r.stale() && r.cacher.Failure() == nil {
		r.cacher.Fail(why)
	}
	switch {
	case r.phase == waiting && now >= r.retryAt:
		r.subscribe()
	case r.phase > waiting && r.phase < refused && now >= r.silentAt():
		// The connection may be fine and only this subscription stuck.
		r.resubscribe()
	}
}

// silentAt is when a subscription that says nothing is given up.
func (r *Reflector) silentAt() int64 { return max(r.heard, r.asked) + stalePeriods*r.period }

// NextTick is when Tick has something to do, or zero.
func (r *Reflector) NextTick() int64 {
	var next int64
	switch r.phase {
	case waiting:
		next = r.retryAt
	case subscribed, listing, catchingUp, following:
		next = r.silentAt()
	}
	if r.phase != refused && r.cacher.Ready() && !r.stale() && (next == 0 || r.staleAt() < next) {
		return r.staleAt()
	}
	return next
}

func (r *Reflector) staleAt() int64 { return r.heard + stalePeriods*r.period }

func (r *Reflector) stale() bool {
	return r.now >= r.staleAt()
}

// State says how current the collection is.
func (r *Reflector) State() wire.CollectionState {
	s := wire.CollectionState{
		State: r.state(), ResourceVersion: r.cacher.ResourceVersion(), LastProgressMillis: r.heard,
		Objects: uint64(r.cacher.Len()),
	}
	if s.State != wire.Live {
		s.Status = r.why()
	}
	if r.phase == waiting {
		s.NextAttemptMillis = r.retryAt
	}
	if loaded, ok := r.cacher.Listing(); ok {
		s.Loaded, s.Total = uint64(loaded), r.total
	}
	return s
}

// why is the reason for what state says, as far as it is known.
func (r *Reflector) why() *api.Status {
	switch {
	case !r.stale():
	case r.missed != nil:
		return r.missed
	case r.status == nil && r.follows() && r.asked > r.heard:
		return lagging
	}
	return r.status
}

// lagging is why a connector's changes are no progress.
var lagging = api.Unavailable("changes come, and the connector has not said for too long that they are all: what it reads from lags behind")

func (r *Reflector) state() wire.State {
	switch {
	case r.phase == refused:
		return wire.Closed
	case r.forbidden():
		return wire.Forbidden
	case !r.cacher.Ready() && r.phase == listing:
		return wire.Syncing
	case !r.cacher.Ready():
		return wire.Connecting
	case r.stale():
		return wire.Stale
	case r.phase == following && r.status == nil:
		return wire.Live
	case r.phase == listing, r.phase == subscribed && r.relist:
		return wire.Syncing
	}
	return wire.Reconnecting
}

// progress notes that the connector vouches for everything up to now.
func (r *Reflector) progress() {
	r.heard = r.now
	r.phase, r.status, r.missed = following, nil, nil
	r.relist, r.requested = false, false
}

// changed notes that the subscription goes on from what is here.
func (r *Reflector) changed() {
	r.asked = r.now
	if r.phase == subscribed {
		r.phase = catchingUp
	}
	r.relist, r.requested = false, false
}

// Refuse gives the collection up for good: what is here stays, and the state
// says why nothing follows.
func (r *Reflector) Refuse(status *api.Status) {
	r.Close()
	r.cacher.AbortList()
	r.status, r.missed = status, nil
	r.giveUp()
}

func (r *Reflector) giveUp() {
	r.phase = refused
	r.cacher.FailWaits(r.status)
	r.OnRefused(r.status)
}

// Denied is why a read that has to wait for the first state would wait for ever:
// the collection was given up, or there is no right to it. It is nil when there
// is a state to read, or hope for one.
func (r *Reflector) Denied() *api.Status {
	if r.cacher.Ready() || r.phase != refused && !r.forbidden() {
		return nil
	}
	return r.status
}

// forbidden reports that rights are what is missing.
func (r *Reflector) forbidden() bool {
	return r.status != nil && (r.status.Code == 401 || r.status.Code == 403)
}

// Refused is why the collection was given up, or nil.
func (r *Reflector) Refused() *api.Status {
	if r.phase != refused {
		return nil
	}
	return r.status
}
