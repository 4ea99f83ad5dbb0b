package reflector

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// Scope selects the objects that a collection subscribes to.
type Scope struct {
	Resource      string
	Namespace     string
	LabelSelector string
	FieldSelector string
	MetadataOnly  bool
	// RowsFirst requests a first snapshot of rows without bodies, followed by the bodies.
	RowsFirst bool
	// Columns encodes the columns that the reader chose, so that scopes with
	// different columns differ. It is empty for the default columns.
	Columns string
}

// SameObjects reports whether two scopes select the same objects with the same contents,
// once all bodies have arrived.
func (s Scope) SameObjects(other Scope) bool {
	s.RowsFirst = other.RowsFirst
	return s == other
}

// Config configures a reflector.
type Config struct {
	Scope Scope
	// Columns are the columns that the reader chose; if empty, the collection has the
	// columns of the connector.
	Columns []api.Column
	// MinResourceVersion is the oldest acceptable version of the first state, or zero.
	// ClusterID identifies the cluster that MinResourceVersion belongs to.
	MinResourceVersion api.ResourceVersion
	ClusterID          string
	// Credit is the number of bytes that the connector may send before the reflector
	// grants more.
	Credit uint64
	Rand   *lite.Rand
	// NextSubscription returns a number that is unused on this connection.
	NextSubscription func() uint32
}

type phase uint8

const (
	idle       phase = iota // not connected
	opening                 // a connection is being opened
	waiting                 // waits before the next subscription
	subscribed              // no response yet
	listing                 // receiving a snapshot
	catchingUp              // receiving changes, without progress so far
	following               // up to date with the connector
	refused                 // given up permanently
)

// slowRetryMillis is the retry interval for errors that require an administrator,
// such as missing authorization.
const slowRetryMillis = 30_000

// stalePeriods is the number of progress periods without progress after which a
// collection is stale.
const stalePeriods = 3

// Reflector feeds the frames of a subscription to one cacher.
type Reflector struct {
	cfg        Config
	cacher     *cacher.Cacher
	phase      phase
	now        int64
	period     int64 // interval of progress that the connector promised, in milliseconds
	sub        uint32
	relist     bool  // the next subscription requests a snapshot
	retryAt    int64 // when to subscribe again, in phase waiting
	backoff    Backoff
	status     *api.Status // why the collection is not live
	missed     *api.Status // why there is no progress, for a stale collection
	total      uint64      // estimated objects of the snapshot in progress
	progressAt int64       // time of the last progress
	asked      int64       // time of the current subscription, or of its last frame
	received   uint64      // bytes of data frames since credit was last granted
	schema     bool        // the schema is known
	clusterID  string      // ID of the history of the resource versions, from the connector
	labels     *labelSets  // of the current subscription
	deltaEpoch uint64      // epoch of the versions above deltaEpochSince, from the connector
	// Versions up to deltaEpochSince have the bases of an earlier epoch.
	deltaEpochSince api.ResourceVersion
	// listed is the resource version of the list in progress: the list has all objects up
	// to its last key as of this version. The version is zero if the list cannot be
	// continued. Objects with versions up to listedSince have the bases of an earlier
	// epoch.
	listed, listedSince api.ResourceVersion

	head       []byte      // scratch
	block      *wire.Block // buffer for the blocks of a snapshot; nil between snapshots
	numbers    []uint32    // buffer for the label sets of a block
	prefetched []store.ID  // prefetched objects of the changes being applied
	out        []byte
	// requested means that progress was requested for a waiting read and has not
	// arrived since.
	requested bool
	bodies    Bodies
	restored  Restored

	// Counters for inspection.
	Relists, Resumes, Expired, Events uint64
	// Missing counts the subscriptions that started over after data that could not be
	// applied, such as a difference from a missing version.
	Missing uint64
	// CorruptBodies counts the blocks of bodies that could not be decoded.
	CorruptBodies uint64
	// OnSchema is called when the schema becomes known. OnFault is called for each object
	// that the connector cannot serve.
	OnSchema func()
	OnFault  func(*wire.ObjectError)
	// OnRefused is called when the connector or this engine gives up the collection
	// permanently. Readers of this engine then receive no more data.
	OnRefused func(why *api.Status)
	// OnBodies is called when no body is pending any longer. The argument why is nil, or
	// the reason why the collection continues without bodies.
	OnBodies func(why *api.Status)
}

// New returns an unconnected reflector that feeds c, which must be empty.
func New(cfg Config, c *cacher.Cacher) *Reflector {
	r := &Reflector{
		cfg: cfg, cacher: c, labels: &labelSets{}, clusterID: cfg.ClusterID, backoff: NewBackoff(cfg.Rand), period: 10_000,
		OnSchema: func() {}, OnFault: func(*wire.ObjectError) {}, OnRefused: func(*api.Status) {}, OnBodies: func(*api.Status) {},
	}
	r.bodies.reflector, r.restored.reflector = r, r
	return r
}

// Cacher returns the cacher that the reflector feeds.
func (r *Reflector) Cacher() *cacher.Cacher { return r.cacher }

// Outgoing returns the frames to send and clears the output. If a read waits for
// progress, Outgoing adds a request for progress.
func (r *Reflector) Outgoing() []byte {
	if r.follows() && !r.requested && r.cacher.Waits().Any() {
		r.requested = true
		r.out = (&wire.RequestProgress{Subscription: r.sub}).Append(r.out)
	}
	out := r.out
	r.out = nil
	return out
}

// Subscription returns the number of the current subscription, or zero. Frames for this
// reflector carry that number.
func (r *Reflector) Subscription() uint32 { return r.sub }

// Asked returns when the last frame of the current subscription arrived or, before the
// first frame, when the reflector subscribed. It returns zero without a subscription.
func (r *Reflector) Asked() int64 {
	if r.sub == 0 {
		return 0
	}
	return r.asked
}

// Delayed records that a large message keeps the connection busy. Tick then does not
// replace the silent subscription.
func (r *Reflector) Delayed() {
	if r.sub != 0 {
		r.asked = r.now
	}
}

// SchemaKnown reports whether the schema has arrived.
func (r *Reflector) SchemaKnown() bool { return r.schema }

// Opening records that a connection is being opened.
func (r *Reflector) Opening() {
	if r.phase == idle {
		r.phase = opening
	}
}

// Connected subscribes on a new connection, whose connector promised progress every
// progressMillis milliseconds.
func (r *Reflector) Connected(progressMillis int64) {
	r.period = max(progressMillis, 1)
	if r.phase != refused {
		r.subscribe()
	}
}

// Disconnected records that the connection is lost, for a reason that State reports. It
// keeps the state and the list in progress for the next connection.
func (r *Reflector) Disconnected(why *api.Status) {
	r.sub = 0
	if r.phase != refused {
		r.phase, r.status = idle, why
	}
}

// Close ends the subscription. The reflector does not subscribe again.
func (r *Reflector) Close() {
	if r.sub != 0 {
		r.out = (&wire.Unsubscribe{Subscription: r.sub}).Append(r.out)
	}
	r.sub, r.phase = 0, refused
	r.labels = &labelSets{}
}

// subscribe requests the rest of the list in progress, the changes after the current
// state, or a snapshot that is not older than the state.
func (r *Reflector) subscribe() {
	last := r.cacher.Listing().Last()
	if last == 0 || r.listed == 0 {
		r.cacher.Listing().Abort()
	}
	r.sub = r.cfg.NextSubscription()
	r.phase, r.asked, r.received = subscribed, r.now, 0
	r.labels = &labelSets{}
	f := wire.Subscribe{
		Subscription: r.sub, Resource: r.cfg.Scope.Resource, Namespace: r.cfg.Scope.Namespace,
		LabelSelector: r.cfg.Scope.LabelSelector, FieldSelector: r.cfg.Scope.FieldSelector,
		MetadataOnly: r.cfg.Scope.MetadataOnly, Credit: r.cfg.Credit,
		ClusterID: r.clusterID, NotOlderThan: r.cacher.ResourceVersion(), DeltaEpoch: r.deltaEpoch, DeltaEpochSince: r.deltaEpochSince,
	}
	if r.clusterID == r.cfg.ClusterID {
		f.NotOlderThan = max(f.NotOlderThan, r.cfg.MinResourceVersion)
	}
	if r.resumes() {
		f.ResourceVersion = r.cacher.ResourceVersion()
	}
	requests := r.bodies.subscribe(&f)
	if r.continues() {
		f.ResourceVersion, f.DeltaEpochSince = r.listed, r.listedSince
		f.SnapshotFrom = r.cacher.Arena().Key(last) + "\x00"
		// A connector may have sent the bodies with the rows.
		f.RowsFirst = f.RowsFirst && r.cacher.Arena().Envelope(last).Body().Codec == api.NoBody
	}
	if len(r.cfg.Columns) > 0 {
		r.out = (&wire.ChooseColumns{Subscription: r.sub, Columns: r.cfg.Columns}).Append(r.out)
	}
	r.out = append(f.Append(r.out), requests...)
}

// resumes reports whether a subscription resumes from the current state. The subscription
// is the next one, or the current one if its response has not arrived yet.
func (r *Reflector) resumes() bool { return r.cacher.Ready() && !r.relist && !r.continues() }

// continues reports whether a list is in progress, which the next subscription continues.
func (r *Reflector) continues() bool {
	_, ok := r.cacher.Listing().Len()
	return ok
}

// follows reports whether changes are arriving, with or without progress.
func (r *Reflector) follows() bool { return r.phase == catchingUp || r.phase == following }

// resubscribe ends the current subscription and subscribes again.
func (r *Reflector) resubscribe() {
	r.out = (&wire.Unsubscribe{Subscription: r.sub}).Append(r.out)
	r.subscribe()
}

// Tick sets the time and performs the work that is due. If the collection is stale for a
// known reason, Tick also reports the reason to readers of this engine.
func (r *Reflector) Tick(now int64) {
	r.now = now
	if why := r.why(); why != nil && r.phase != refused && r.stale() && r.cacher.Upstream().Failure() == nil {
		r.cacher.Upstream().Fail(why)
	}
	switch {
	case r.phase == waiting && now >= r.retryAt:
		r.subscribe()
	case r.phase > waiting && r.phase < refused && now >= r.silentAt():
		// Only this subscription may be stuck; the connection may work.
		r.resubscribe()
	}
}

// Retry ends the delay before the next subscription.
func (r *Reflector) Retry() {
	if r.phase == waiting {
		r.subscribe()
	}
}

// silentAt returns the time at which a silent subscription is replaced.
func (r *Reflector) silentAt() int64 { return max(r.progressAt, r.asked) + stalePeriods*r.period }

// NextTick returns the time at which Tick has work to do, or zero if there is none.
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

func (r *Reflector) staleAt() int64 { return r.progressAt + stalePeriods*r.period }

func (r *Reflector) stale() bool {
	return r.now >= r.staleAt()
}

// State returns how current and how complete the collection is.
func (r *Reflector) State() wire.CollectionState {
	s := wire.CollectionState{
		State: r.state(), ResourceVersion: r.cacher.ResourceVersion(), LastProgressMillis: r.progressAt,
		Objects: uint64(r.cacher.State().Len()),
	}
	if s.State != api.StateLive {
		s.Status = r.why()
	}
	if !r.cfg.Scope.MetadataOnly && r.bodies.left == nil {
		s.Bodies = s.Objects - uint64(r.bodies.missing)
	}
	if s.Status == nil {
		s.Status = r.bodies.left
	}
	if r.phase == waiting {
		s.NextAttemptMillis = r.retryAt
	}
	if loaded, ok := r.cacher.Listing().Len(); ok {
		s.Loaded, s.Total = uint64(loaded), r.total
	}
	return s
}

// why returns the reason for the state, or nil if the reason is unknown.
func (r *Reflector) why() *api.Status {
	switch {
	case !r.stale():
	case r.missed != nil:
		return r.missed
	case r.status == nil && r.follows() && r.asked > r.progressAt:
		return lagging
	}
	return r.status
}

// lagging is the status of a stale collection that receives events.
var lagging = api.Unavailable("events are arriving but progress has not advanced for three periods: the connector's source is lagging")

func (r *Reflector) state() api.State {
	switch {
	case r.phase == refused:
		return api.StateClosed
	case r.forbidden():
		return api.StateForbidden
	case !r.cacher.Ready() && r.phase == listing:
		return api.StateSyncing
	case !r.cacher.Ready():
		return api.StateConnecting
	case r.stale():
		return api.StateStale
	case r.phase == following && r.status == nil:
		return api.StateLive
	case r.phase == listing, r.phase == subscribed && r.relist:
		return api.StateSyncing
	}
	return api.StateReconnecting
}

// progress records that the collection is up to date.
func (r *Reflector) progress() {
	r.progressAt = r.now
	r.phase, r.status, r.missed = following, nil, nil
	r.relist, r.requested = false, false
}

// changed records that the subscription has resumed and that changes are arriving.
func (r *Reflector) changed() {
	r.asked = r.now
	if r.phase == subscribed {
		r.phase = catchingUp
	}
	r.relist, r.requested = false, false
}

// Refuse gives up the collection permanently. The state remains readable, and
// State reports the reason.
func (r *Reflector) Refuse(status *api.Status) {
	r.Close()
	r.cacher.Listing().Abort()
	r.status, r.missed = status, nil
	r.giveUp()
}

func (r *Reflector) giveUp() {
	r.phase = refused
	r.cacher.Waits().Fail(r.status)
	r.OnRefused(r.status)
}

// Denied returns why a read that waits for the first state cannot succeed: the collection
// was given up, authorization is missing, or the resource is absent. It returns nil if
// there is a state, or while the outcome of an attempt is unknown.
func (r *Reflector) Denied() *api.Status {
	if r.cacher.Ready() {
		return nil
	}
	switch r.phase {
	case refused:
		return r.status
	case idle, waiting:
		if r.forbidden() || r.Absent() {
			return r.status
		}
	}
	return nil
}

// Absent reports whether the last attempt failed because the connector does not know the
// resource. The resource may be installed later.
func (r *Reflector) Absent() bool { return r.status != nil && r.status.Code == api.CodeNotFound }

// forbidden reports whether authorization is missing.
func (r *Reflector) forbidden() bool {
	return r.status != nil && (r.status.Code == api.CodeUnauthorized || r.status.Code == api.CodeForbidden)
}

// Refused returns why the collection was given up, or nil.
func (r *Reflector) Refused() *api.Status {
	if r.phase != refused {
		return nil
	}
	return r.status
}
