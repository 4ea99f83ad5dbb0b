package reflector

import (
	"math"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// Receive processes a frame of the current subscription, except Schema. The argument
// bytes is the size of the frame, which reduces the remaining credit. An error means that
// the connector violated the protocol.
func (r *Reflector) Receive(f wire.Frame, bytes int) error {
	switch f := f.(type) {
	case *wire.LabelSet:
		r.labels.define(f)
	case *wire.SnapshotBegin:
		return r.snapshotBegin(f)
	case *wire.SnapshotPart:
		return r.snapshotPart(f, bytes)
	case *wire.SnapshotBlock:
		return r.snapshotBlock(f, bytes)
	case *wire.SnapshotBodies:
		return r.snapshotBodies(f, bytes)
	case *wire.SnapshotEnd:
		return r.snapshotEnd(f)
	case *wire.Events:
		return r.changes(f, bytes)
	case *wire.Progress:
		return r.progressed(f)
	case *wire.ObjectError:
		r.cacher.Fault(f.Key, f.ResourceVersion, f.Status, r.now)
		r.OnFault(f)
	case *wire.SourceError:
		r.sourceError(f)
	case *wire.SubscriptionStatus:
		r.ended(f.Status)
	}
	return nil
}

// Schema sets the schema of the objects and the dictionary of their bodies. It
// returns false if the collection has objects with a different layout or from a
// different cluster; the caller must then open a new collection.
func (r *Reflector) Schema(f *wire.Schema, dictionary []byte) bool {
	if r.schema && (f.ClusterID != r.clusterID || !sameLayout(r.cacher.Schema(), &f.Schema)) {
		return false
	}
	r.cacher.Bodies().SetDictionary(dictionary)
	if f.DeltaEpoch != r.deltaEpoch {
		// Versions that are already stored keep the bases of the previous epoch.
		r.deltaEpoch, r.deltaEpochSince, r.listedSince = f.DeltaEpoch, r.cacher.ResourceVersion(), r.listed
	}
	if !r.schema {
		r.schema, r.clusterID = true, f.ClusterID
		r.cacher.Upstream().SetSchema(f.Schema)
		r.cacher.Upstream().SetClusterID(f.ClusterID)
		r.OnSchema()
	}
	return true
}

// sameLayout reports whether envelopes for one schema can be read with the other.
func sameLayout(a, b *api.Schema) bool {
	if a.Namespaced != b.Namespaced || len(a.Fields) != len(b.Fields) || len(a.Columns) != len(b.Columns) || !HasColumns(b, a.Columns) {
		return false
	}
	for i := range a.Fields {
		if a.Fields[i] != b.Fields[i] {
			return false
		}
	}
	return true
}

// HasColumns reports whether a schema begins with the given columns.
func HasColumns(s *api.Schema, columns []api.Column) bool {
	for i := range columns {
		if i == len(s.Columns) || s.Columns[i] != columns[i] {
			return false
		}
	}
	return true
}

// UsedBytes returns the memory of the objects, dictionaries and label set definitions,
// and the memory that unloaded bodies would need.
func (r *Reflector) UsedBytes() int {
	return r.cacher.Arena().UsedBytes() + r.cacher.Bodies().UsedBytes() + r.labels.bytes + r.restored.unloaded
}

// label sets the label set of an object before the object is stored. It adds a reference,
// which done releases, or returns an error if the label set is undefined.
func (r *Reflector) label(p *cacher.Update, c *wire.Change) *api.Status {
	set := r.labels.find(c.LabelSet)
	if set == nil {
		return undefinedLabelSet(c)
	}
	p.LabelSet = r.number(set)
	return nil
}

func undefinedLabelSet(c *wire.Change) *api.Status {
	return api.Protocol("object " + string(c.Key) + " refers to an undefined label set")
}

// number adds a reference to a label set in the arena and returns the ID of the set.
func (r *Reflector) number(set *labelSet) uint32 {
	if sets := &r.cacher.Arena().Labels; !sets.RetainAgain(set.number, set.generation) {
		set.number = sets.Intern(set.labels)
		set.generation = sets.Generation(set.number)
	}
	return set.number
}

// setEnvelope sets the envelope of an object to be stored. It applies a patch to the
// previous version, with head as the buffer. The argument prefetched is usually the ID of
// the object, but that ID may have been reused for another object.
func (r *Reflector) setEnvelope(p *cacher.Update, c *wire.Change, state *store.Store, prefetched store.ID, head *[]byte) (status *api.Status) {
	if c.Patch == nil {
		p.Envelope = c.Envelope
		return nil
	}
	arena := r.cacher.Arena()
	object, previous := prefetched, state.Version(prefetched)
	if previous == 0 || !arena.Envelope(previous).IsOf(c.Key) {
		object = state.Find(c.Key)
		previous = state.Version(object)
	}
	if previous == 0 || arena.ResourceVersion(previous) != c.Previous {
		return missingVersion(c)
	}
	p.Object = object
	p.Envelope, p.Body, p.Unchanged, status = c.Patch.ApplyInParts(head, arena.Envelope(previous))
	return status
}

// missingVersion returns the error for a patch of a version other than the current one.
func missingVersion(c *wire.Change) *api.Status {
	return api.Protocol("version " + c.ResourceVersion.String() + " of " + string(c.Key) +
		" is a patch of version " + c.Previous.String() + ", which is missing")
}

// take stores an object in the list in progress or, without a list, in the state. If the
// object's base or previous version is missing, the subscription starts over.
func (r *Reflector) take(c *wire.Change, prefetched store.ID) error {
	p := cacher.Update{ResourceVersion: c.ResourceVersion, Flags: c.Flags, Base: c.Base}
	var status *api.Status
	if r.phase == listing && c.Patch != nil { // a snapshot has no patches
		status = missingVersion(c)
	} else {
		status = r.setEnvelope(&p, c, r.cacher.State(), prefetched, &r.head)
	}
	if status == nil {
		if status := r.label(&p, c); status != nil {
			return status
		}
		if r.phase == listing {
			status = r.cacher.Listing().Object(&p)
		} else {
			status = r.cacher.Apply(&p, r.now)
		}
		r.done(&p)
	}
	if status != nil {
		r.startOver(status)
	}
	return nil
}

// startOver ends the subscription after data that cannot be applied, such as a difference
// from a missing version. It requests a snapshot after a delay, and keeps the current
// state.
func (r *Reflector) startOver(why *api.Status) {
	r.Missing++
	r.relist = true
	r.Postpone(why)
}

// Postpone ends the subscription, and subscribes again after a delay.
func (r *Reflector) Postpone(why *api.Status) {
	r.out = (&wire.Unsubscribe{Subscription: r.sub}).Append(r.out)
	r.cacher.Listing().Abort()
	r.sub, r.status = 0, why
	r.wait(r.backoff.Next(r.now))
}

// Replace makes r, which is new, the successor of a reflector whose list had corrupt
// bodies. If there is a connection, r subscribes after a delay.
func (r *Reflector) Replace(corrupt *Reflector, why *api.Status, connected bool) {
	r.period, r.backoff, r.CorruptBodies = corrupt.period, corrupt.backoff, corrupt.CorruptBodies+1
	r.status = why
	if connected {
		r.wait(r.backoff.Next(r.now))
	}
}

func (r *Reflector) done(p *cacher.Update) { r.cacher.Arena().Labels.Release(p.LabelSet) }

// snapshotBegin starts a list, or continues it after an interruption.
func (r *Reflector) snapshotBegin(f *wire.SnapshotBegin) error {
	if r.phase != subscribed {
		return api.Protocol("received SnapshotBegin without a request for a snapshot")
	}
	switch {
	case !f.Continues:
		r.cacher.Listing().Begin()
		r.cacher.Listing().Expect(f.Total)
		r.listed, r.listedSince = f.ResourceVersion, 0
	case !r.continues() || f.ResourceVersion != r.listed:
		return api.Protocol("SnapshotBegin continues a snapshot that was not requested")
	}
	r.phase, r.asked = listing, r.now
	r.total = min(f.Total, math.MaxInt32) // an estimate; the limit is a number that JavaScript represents exactly
	return nil
}

// snapshotPart adds objects to the list.
func (r *Reflector) snapshotPart(f *wire.SnapshotPart, bytes int) error {
	if r.phase != listing {
		return api.Protocol("received SnapshotPart outside of a snapshot")
	}
	r.asked = r.now
	r.consumed(bytes)
	for i := range f.Objects {
		if err := r.take(&f.Objects[i], 0); err != nil || r.phase == waiting {
			return err
		}
	}
	return nil
}

// snapshotEnd replaces the state with the list.
func (r *Reflector) snapshotEnd(f *wire.SnapshotEnd) error {
	if r.phase != listing {
		return api.Protocol("received SnapshotEnd outside of a snapshot")
	}
	if f.ResourceVersion < r.cacher.ResourceVersion() {
		return api.Protocol("the snapshot is older than the current state: version " + f.ResourceVersion.String() +
			" after " + r.cacher.ResourceVersion().String())
	}
	r.block = nil
	r.cacher.Listing().End(f.ResourceVersion, r.now)
	r.deltaEpochSince = r.listedSince
	r.Relists++
	r.progress()
	r.bodies.findPending()
	return nil
}

// prefetchAtOnce is the number of changes whose objects are prefetched together. That
// many objects stay in the first-level processor cache until the changes are applied.
const prefetchAtOnce = 64

// changes applies events to the list in progress, or else to the state. Events are not
// progress, because the connector may have received them late.
func (r *Reflector) changes(f *wire.Events, bytes int) error {
	r.consumed(bytes)
	if r.phase == listing {
		return r.listChanges(f)
	}
	if err := r.answered("Events"); err != nil {
		return err
	}
	known, missing := r.cacher.ResourceVersion(), r.bodies.missing
	r.cacher.Waits().BeginRevision() // lasts until EndRevision, so that waiting reads see whole revisions
	for i := range f.Changes {
		if i%prefetchAtOnce == 0 {
			next := f.Changes[i:min(i+prefetchAtOnce, len(f.Changes))]
			r.prefetched = r.cacher.State().Prefetch(r.prefetched[:0], next)
			r.cacher.Window().Prefetch(len(next))
		}
		c := &f.Changes[i]
		if c.ResourceVersion <= known {
			continue // a repetition
		}
		r.Events++
		var pending store.ID
		if missing > 0 {
			pending = r.cacher.State().Find(c.Key)
		}
		if c.Type == api.Deleted {
			r.cacher.Delete(c.Key, c.ResourceVersion, r.now)
		} else if err := r.take(c, r.prefetched[i%prefetchAtOnce]); err != nil || r.phase == waiting {
			return err
		}
		if r.bodies.has(pending) {
			r.bodies.settleChanged(c.Key, pending)
		}
	}
	r.cacher.EndRevision(f.ResourceVersion, r.now)
	r.changed()
	if missing > 0 {
		r.bodies.completed()
	}
	return nil
}

func (r *Reflector) listChanges(f *wire.Events) error {
	r.asked = r.now
	for i := range f.Changes {
		c := &f.Changes[i]
		if c.Type == api.Deleted {
			r.cacher.Listing().Delete(c.Key, c.ResourceVersion)
			continue
		}
		if err := r.take(c, 0); err != nil || r.phase == waiting {
			return err
		}
	}
	if r.listed > 0 {
		r.listed = f.ResourceVersion
	}
	return nil
}

// answered records that a subscription resumed without a snapshot. It returns an error if
// the subscription must not resume now.
func (r *Reflector) answered(what string) error {
	err := r.expected(what)
	if err == nil && r.phase == subscribed {
		r.Resumes++
	}
	return err
}

// expected returns an error if changes are not allowed now: before a subscription, or
// after a request for a snapshot. Accepting changes then would leave a permanent gap.
func (r *Reflector) expected(what string) error {
	switch {
	case r.follows():
		return nil
	case r.phase != subscribed:
		return api.Protocol(what + " arrived before the response to the subscription")
	case !r.resumes():
		return api.Protocol(what + " arrived instead of the requested snapshot")
	}
	return nil
}

// progressed handles Progress, which reports that the connector has sent all changes up
// to a version.
func (r *Reflector) progressed(f *wire.Progress) error {
	if err := r.answered("Progress"); err != nil {
		return err
	}
	r.cacher.Progress(f.ResourceVersion, r.now)
	r.progress()
	return nil
}

// sourceError records why the source makes no progress, and reports the reason to readers
// of this engine. The connection works, so the subscription continues. The time of the
// last progress does not change.
func (r *Reflector) sourceError(f *wire.SourceError) {
	r.asked = r.now
	if f.Status == nil {
		return
	}
	r.status = f.Status
	if known := r.cacher.Upstream().Failure(); known == nil || *known != *f.Status {
		r.cacher.Upstream().Fail(f.Status)
	}
}

// ended handles the end of the subscription. It relists after a 410, and retries slowly
// while authorization is missing. It gives up after a 400, 413 or 422. After any other
// status it retries with backoff, and waits at least for the pause that the status requests.
func (r *Reflector) ended(status *api.Status) {
	if status == nil {
		status = api.Internal("the connector ended the subscription without a reason")
	}
	r.sub, r.status, r.missed = 0, status, nil
	r.cacher.Listing().Abort()
	switch status.Code {
	case api.CodeGone:
		r.Expired++
		first := !r.relist
		r.relist = true
		if first {
			r.subscribe()
			return
		}
		r.wait(r.backoff.Next(r.now))
	case api.CodeUnauthorized, api.CodeForbidden:
		r.wait(r.now + slowRetryMillis)
		r.cacher.Waits().Fail(status)
	case api.CodeNotFound:
		r.wait(r.backoff.Next(r.now))
		r.cacher.Waits().Fail(status)
	case api.CodeBadRequest, api.CodeTooLarge, api.CodeInvalid:
		r.giveUp()
	default:
		at := r.backoff.Next(r.now)
		r.wait(max(at, r.now+int64(status.RetryAfterSeconds)*1000))
	}
}

func (r *Reflector) wait(at int64) { r.phase, r.retryAt = waiting, at }

// consumed grants the connector more credit when half of the credit is used.
func (r *Reflector) consumed(bytes int) {
	r.received += uint64(bytes)
	if r.received >= r.cfg.Credit/2 {
		r.out = (&wire.Credit{Subscription: r.sub, Bytes: r.received}).Append(r.out)
		r.received = 0
	}
}
