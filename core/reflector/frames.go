package reflector

import (
	"math"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/wire"
)

// The methods below take one frame each, of the present subscription. An error
// means that the connector broke the protocol.

// Schema takes the description of the objects and what their bodies are
// compressed with. It reports false when the collection holds objects that were
// described differently or come from another source: it must then be opened
// anew.
func (r *Reflector) Schema(f *wire.Schema, dictionary []byte) bool {
	if r.schema && (f.Source != r.source || !sameLayout(r.cacher.Schema(), &f.Schema)) {
		return false
	}
	r.cacher.SetDictionary(dictionary)
	if f.Bases != r.bases {
		// What is here keeps the bases it has.
		r.bases, r.basesSince = f.Bases, r.cacher.ResourceVersion()
	}
	if !r.schema {
		r.schema, r.source = true, f.Source
		r.cacher.SetSchema(f.Schema)
		r.cacher.SetSource(f.Source)
		r.OnSchema()
	}
	return true
}

// sameLayout: envelopes made for one schema can be read by the other.
func sameLayout(a, b *api.Schema) bool {
	if a.Namespaced != b.Namespaced || len(a.Fields) != len(b.Fields) || len(a.Columns) != len(b.Columns) {
		return false
	}
	for i := range a.Fields {
		if a.Fields[i] != b.Fields[i] {
			return false
		}
	}
	for i := range a.Columns {
		if a.Columns[i] != b.Columns[i] {
			return false
		}
	}
	return true
}

// LabelSet takes the definition of a label set.
func (r *Reflector) LabelSet(f *wire.LabelSet) { r.labels.define(f) }

// UsedBytes is what its objects take with their dictionaries, the label sets that
// were defined, and what waits.
func (r *Reflector) UsedBytes() int {
	return r.cacher.Heap().UsedBytes() + r.cacher.DictionaryBytes() + r.labels.bytes + r.later.bytes
}

// label gives an object for the cacher its label set. It holds a count of that,
// which done takes back.
func (r *Reflector) label(p *cacher.Put, c *wire.Change) *api.Status {
	set := r.labels.find(c.LabelSet)
	if set == nil {
		return notDefined(c)
	}
	p.LabelSet = r.number(set)
	return nil
}

func notDefined(c *wire.Change) *api.Status {
	return api.Protocol("object " + string(c.Key) + " has a label set that was not defined")
}

// number counts one more use of a label set in the heap, and returns its number
// there.
func (r *Reflector) number(set *labelSet) uint32 {
	if sets := &r.cacher.Heap().Labels; !sets.RetainAgain(set.number, set.generation) {
		set.number = sets.Intern(set.labels)
		set.generation = sets.Generation(set.number)
	}
	return set.number
}

// envelop gives an object for the cacher its envelope, which a patch makes out of
// the one before. That is most likely of the object that was sought, and was so
// before the changes that came since. What it makes lies in head.
func (r *Reflector) envelop(p *cacher.Put, c *wire.Change, state *store.Store, sought store.ID, head *[]byte) (status *api.Status) {
	if c.Patch == nil {
		p.Envelope = c.Envelope
		return nil
	}
	heap := r.cacher.Heap()
	object, previous := sought, state.Version(sought)
	if previous == 0 || !heap.Envelope(previous).IsOf(c.Key) {
		object = state.Find(c.Key)
		previous = state.Version(object)
	}
	if previous == 0 || heap.ResourceVersion(previous) != c.Previous {
		return notHere(c)
	}
	p.Object = object
	p.Envelope, p.Body, p.Unchanged, status = c.Patch.ApplyInParts(head, heap.Envelope(previous))
	return status
}

// notHere: a patch is of a version that is not the one held.
func notHere(c *wire.Change) *api.Status {
	return api.Protocol("version " + c.ResourceVersion.String() + " of " + string(c.Key) +
		" is told by what changed since version " + c.Previous.String() + ", which is not here")
}

// take stores an object, in the list while one is under way. When what it builds
// on is not here the subscription starts over.
func (r *Reflector) take(c *wire.Change, sought store.ID) error {
	p := cacher.Put{ResourceVersion: c.ResourceVersion, Flags: c.Flags, Base: c.Base}
	var status *api.Status
	if r.phase == listing && c.Patch != nil { // in a snapshot nothing is told by what changed
		status = notHere(c)
	} else {
		status = r.envelop(&p, c, r.cacher.State(), sought, &r.head)
	}
	if status == nil {
		if status := r.label(&p, c); status != nil {
			return status
		}
		if r.phase == listing {
			status = r.cacher.ListObject(&p)
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

// startOver gives up a subscription that tells differences from what is not
// here, and asks for a snapshot after a while. What it told so far stays.
func (r *Reflector) startOver(why *api.Status) {
	r.Missing++
	r.out = (&wire.Unsubscribe{Subscription: r.sub}).Append(r.out)
	r.cacher.AbortList()
	r.sub, r.status, r.relist = 0, why, true
	r.wait(r.backoff.Next(r.now))
}

func (r *Reflector) done(p *cacher.Put) { r.cacher.Heap().Labels.Release(p.LabelSet) }

// SnapshotBegin starts a new state.
func (r *Reflector) SnapshotBegin(f *wire.SnapshotBegin) error {
	if r.phase != subscribed {
		return api.Protocol("SnapshotBegin came when no snapshot was asked for")
	}
	r.phase, r.asked = listing, r.now
	r.total = min(f.Total, math.MaxInt32) // an estimate; JavaScript's numbers end at 53 bits
	r.cacher.BeginList()
	r.cacher.Expect(f.Total)
	return nil
}

// SnapshotPart takes some of its objects.
func (r *Reflector) SnapshotPart(f *wire.SnapshotPart, bytes int) error {
	if r.phase != listing {
		return api.Protocol("SnapshotPart came outside of a snapshot")
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

// SnapshotEnd makes it the state.
func (r *Reflector) SnapshotEnd(f *wire.SnapshotEnd) error {
	if r.phase != listing {
		return api.Protocol("SnapshotEnd came outside of a snapshot")
	}
	if f.ResourceVersion < r.cacher.ResourceVersion() {
		return api.Protocol("the snapshot is older than what is here already: version " + f.ResourceVersion.String() +
			" after " + r.cacher.ResourceVersion().String())
	}
	r.cacher.EndList(f.ResourceVersion, r.now)
	r.basesSince = 0
	r.Relists++
	r.progress()
	return nil
}

// soughtAtOnce is how many changes' objects are sought together: what is read of
// them stays in the processor's nearest cache until they are applied.
const soughtAtOnce = 64

// Changes takes events: into the snapshot while one is under way, otherwise
// into the state. They are no progress: the connector may have them late.
func (r *Reflector) Changes(f *wire.Events, bytes int) error {
	r.consumed(bytes)
	if r.phase == listing {
		return r.listChanges(f)
	}
	if err := r.answered("Events"); err != nil {
		return err
	}
	known := r.cacher.ResourceVersion()
	r.cacher.Hold() // until Release: who waits for a version gets all of it
	for i := range f.Changes {
		if i%soughtAtOnce == 0 {
			next := f.Changes[i:min(i+soughtAtOnce, len(f.Changes))]
			r.sought = r.cacher.State().Seek(r.sought[:0], next)
			r.cacher.Window().Seek(len(next))
		}
		c := &f.Changes[i]
		if c.ResourceVersion <= known {
			continue // a repetition: everything up to there is in
		}
		r.Events++
		if c.Type == api.Deleted {
			r.cacher.Delete(c.Key, c.ResourceVersion, r.now)
			continue
		}
		if err := r.take(c, r.sought[i%soughtAtOnce]); err != nil || r.phase == waiting {
			return err
		}
	}
	r.cacher.Release(f.ResourceVersion, r.now)
	r.changed()
	return nil
}

func (r *Reflector) listChanges(f *wire.Events) error {
	r.asked = r.now
	for i := range f.Changes {
		c := &f.Changes[i]
		if c.Type == api.Deleted {
			r.cacher.ListDelete(c.Key, c.ResourceVersion)
			continue
		}
		if err := r.take(c, 0); err != nil || r.phase == waiting {
			return err
		}
	}
	return nil
}

// answered notes that a subscription is answered without a snapshot.
func (r *Reflector) answered(what string) error {
	err := r.expected(what)
	if err == nil && r.phase == subscribed {
		r.Resumes++
	}
	return err
}

// expected is an error where changes must not come: before a subscription, or when
// there is nothing that it goes on from, since what lies between would be missing for
// ever.
func (r *Reflector) expected(what string) error {
	switch {
	case r.follows():
		return nil
	case r.phase != subscribed:
		return api.Protocol(what + " came before the subscription was answered")
	case !r.resumes():
		return api.Protocol(what + " came where a snapshot was asked for")
	}
	return nil
}

// Progress takes the connector's word that nothing is missing.
func (r *Reflector) Progress(f *wire.Progress) error {
	if err := r.answered("Progress"); err != nil {
		return err
	}
	r.cacher.Progress(f.ResourceVersion, r.now)
	r.progress()
	return nil
}

// Fault takes note of an object that cannot be brought up to date.
func (r *Reflector) Fault(f *wire.ObjectError) {
	r.cacher.Fault(f.Key, f.ResourceVersion, f.Status, r.now)
	r.OnFault(f)
}

// SourceError takes the reason why there is no news, for those who are served from
// here, too. The connector is there, so the subscription is not given up; how old
// the data is stays what it is.
func (r *Reflector) SourceError(f *wire.SourceError) {
	r.asked = r.now
	if f.Status == nil {
		return
	}
	r.status = f.Status
	if known := r.cacher.Failure(); known == nil || *known != *f.Status {
		r.cacher.Fail(f.Status)
	}
}

// Ended takes the end of the subscription: expired versions start over, rights
// and overload are waited for, everything else that cannot change is final.
func (r *Reflector) Ended(status *api.Status) {
	if status == nil {
		status = api.Internal("the connector ended the subscription and gave no reason")
	}
	r.sub, r.status, r.missed = 0, status, nil
	r.cacher.AbortList()
	switch status.Code {
	case 410:
		r.Expired++
		first := !r.relist
		r.relist = true
		if first {
			r.subscribe()
			return
		}
		r.wait(r.backoff.Next(r.now))
	case 401, 403:
		r.wait(r.now + slowRetryMillis)
		r.cacher.FailWaits(status)
	case 400, 404, 413, 422:
		r.giveUp()
	default:
		at := r.backoff.Next(r.now)
		r.wait(max(at, r.now+int64(status.RetryAfterSeconds)*1000))
	}
}

func (r *Reflector) wait(at int64) { r.phase, r.retryAt = waiting, at }

// consumed grants the connector more once half of the credit is used up.
func (r *Reflector) consumed(bytes int) {
	r.received += uint64(bytes)
	if r.received >= r.cfg.Credit/2 {
		r.out = (&wire.Credit{Subscription: r.sub, Bytes: r.received}).Append(r.out)
		r.received = 0
	}
}
