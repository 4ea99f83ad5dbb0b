package core

import (
	"maps"
	"slices"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/objcache"
	"github.com/watchglass/watchglass/core/reflector"
	"github.com/watchglass/watchglass/core/session"
	"github.com/watchglass/watchglass/core/wire"
)

const (
	// readerMessageBytes is the approximate maximum size of a message to an attached
	// reader.
	readerMessageBytes    = 64 << 10
	defaultProgressMillis = 10_000
	// comeAgainMillis is how long a collection is retained for a reader that was asked to
	// retry. It exceeds the longest backoff of a reader.
	comeAgainMillis = 90_000
)

// attached is a reader that the engine serves. It costs no processing time until an event
// matches one of its subscriptions or its wake-up time arrives.
type attached struct {
	engine  *Engine
	id      uint32
	allowed []wire.ReaderScope
	session *session.Session
	room    int64
	due     bool
	wakeAt  int64
	stalled bool // as reported to the program; see wire.ReaderStalled
	spoke   bool // sent a message or accepted data since it stalled
	serving []serving
}

// serving pairs a subscription of an attached reader with the shared collection that
// serves it.
type serving struct {
	subscription uint32
	shared       *sharedCollection
}

func (e *Engine) attachReader(f *wire.AttachReader) {
	if e.findReader(f.Reader) != nil {
		e.reject(wire.ObjectReader, f.Reader, api.BadRequest("a reader with this number is attached"))
		return
	}
	r := &attached{engine: e, id: f.Reader, stalled: f.Stalled}
	for _, s := range f.Allowed {
		r.allowed = append(r.allowed, wire.ReaderScope{Resource: lite.Clone(s.Resource), Namespace: lite.Clone(s.Namespace)})
	}
	progress := int64(f.ProgressMillis)
	if progress == 0 {
		progress = defaultProgressMillis
	}
	// Readers cannot receive progress more often than the origin reports it.
	r.session = session.New(session.Config{
		Server: e.cfg.Client, Decode: e.decodeBody, ProgressMillis: max(progress, e.origin.period()), MaxSubscriptions: int(min(f.MaxSubscriptions, 1<<16)),
	}, r)
	r.grant(f.Room)
	e.readers = append(e.readers, r)
	if err := r.session.Resume(f.Saved, e.now); err != nil {
		e.closeReader(r, err)
		return
	}
	// A restored reader without subscriptions has accepted all data, and may never send
	// the message that would end its stall. The engine therefore treats such a reader
	// as responsive.
	r.spoke = len(f.Saved) > 0 && !r.session.Subscribed()
}

// saveReader reports the state of a reader's session, so that another engine can continue
// the session.
func (e *Engine) saveReader(f *wire.SaveReader) {
	if r := e.findReader(f.Reader); r != nil {
		e.out = (&wire.SavedReader{Reader: r.id, Data: r.session.Save()}).Append(e.out)
	}
}

func (e *Engine) findReader(id uint32) *attached {
	for _, r := range e.readers {
		if r.id == id {
			return r
		}
	}
	return nil
}

func (e *Engine) readerMessage(f *wire.ReaderMessage) {
	r := e.findReader(f.Reader)
	if r == nil {
		return
	}
	r.due, r.spoke = true, true
	err := r.session.Receive(f.Data, e.now)
	r.reconcile()
	if err != nil {
		e.closeReader(r, err)
	}
}

// closeReader sends the session's last message to a reader that violated the protocol,
// reports the violation to the program, and detaches the reader.
func (e *Engine) closeReader(r *attached, err error) {
	if last := r.session.Next(readerMessageBytes, e.now); last != nil {
		e.out = (&wire.SendReader{Reader: r.id, Data: last}).Append(e.out)
	}
	e.out = (&wire.CloseReader{Reader: r.id, Status: api.AsStatus(err)}).Append(e.out)
	r.detach()
}

func (e *Engine) grantReader(f *wire.GrantReader) {
	if r := e.findReader(f.Reader); r != nil {
		r.grant(f.Bytes)
		r.spoke = true
	}
}

func (e *Engine) detachReader(f *wire.DetachReader) {
	if r := e.findReader(f.Reader); r != nil {
		r.detach()
	}
}

func (r *attached) detach() {
	r.session.Close()
	r.reconcile()
	r.engine.readers = lite.Remove(r.engine.readers, r)
}

func (r *attached) grant(bytes uint64) {
	const most = 1 << 62
	r.room = min(r.room+int64(min(bytes, most)), most)
	r.due = true
}

// Collection implements session.Backend. It returns an open collection that contains all
// requested objects. If there is none, it opens a collection of the whole resource or
// namespace. Until the schema is known and all bodies have arrived, it returns a status
// that asks the reader to retry.
func (r *attached) Collection(asked *session.Request) (*session.Collection, *api.Status) {
	f := asked.Frame
	if !r.mayRead(f) {
		where := ""
		if f.Namespace != "" {
			where = " in the namespace " + f.Namespace
		}
		return nil, api.Forbidden("this reader may not read " + asked.Resource.String() + where)
	}
	e := r.engine
	b := e.serves(asked)
	if b == nil {
		b, _ = e.acquire(reflector.Scope{Resource: lite.Clone(f.Resource), Namespace: lite.Clone(f.Namespace)}, nil, objcache.Version{})
		b.connect(e)
		e.origin.need()
	}
	why := b.reflector.Denied()
	if refused := b.reflector.Refused(); refused != nil {
		why = refused // the remaining objects are no longer updated
	}
	if why == nil {
		why = b.reflector.Bodies().Left()
	}
	if why != nil {
		clear(b.awaited) // do not retain it for a retry
		return nil, why
	}
	if !b.reflector.SchemaKnown() || !b.reflector.Bodies().Complete() {
		b.await(r.id, e.now)
		status := api.Unavailable("the collection is being opened; subscribe again later")
		status.RetryAfterSeconds = 1
		return nil, status
	}
	delete(b.awaited, r.id)
	b.users++
	r.serving = append(r.serving, serving{f.Subscription, b})
	return b.serve(), nil
}

// await retains the collection for an attached reader that was asked to retry.
func (b *sharedCollection) await(reader uint32, now int64) {
	if b.awaited == nil {
		b.awaited = map[uint32]int64{}
	}
	maps.DeleteFunc(b.awaited, func(_ uint32, until int64) bool { return until <= now })
	b.awaited[reader] = now + comeAgainMillis
}

// idleUntil returns the time at which a collection without users is closed, and whether it is
// retained at the given time for a reader that was asked to retry.
func (b *sharedCollection) idleUntil(now int64) (until int64, awaited bool) {
	until = b.idleSince + lingerMillis
	for _, at := range b.awaited {
		until, awaited = max(until, at), awaited || now < at
	}
	return until, awaited
}

func (r *attached) mayRead(f *wire.Subscribe) bool {
	return slices.ContainsFunc(r.allowed, func(s wire.ReaderScope) bool {
		return (s.Resource == "*" || s.Resource == f.Resource) && (s.Namespace == "" || s.Namespace == f.Namespace)
	})
}

// serves returns a shared collection that contains all objects of the requested
// subscription, or nil if there is none.
func (e *Engine) serves(asked *session.Request) *sharedCollection {
	f := asked.Frame
	for _, b := range e.sharedCollections {
		s := &b.scope
		if s.Resource == f.Resource && (s.Namespace == "" || s.Namespace == f.Namespace) && s.Columns == "" &&
			s.LabelSelector == "" && s.FieldSelector == "" && (!s.MetadataOnly || f.MetadataOnly && len(asked.Columns) == 0) && !b.refusedForOthers() {
			return b
		}
	}
	return nil
}

// Release implements session.Backend. It does nothing: reconcile releases shared
// collections after the session has returned.
func (r *attached) Release(api.Resource) {}

// Wake implements session.Backend.
func (r *attached) Wake() { r.due = true }

// reconcile releases the shared collections whose subscriptions have ended.
func (r *attached) reconcile() {
	r.serving = slices.DeleteFunc(r.serving, func(s serving) bool {
		if r.session.Has(s.subscription) {
			return false
		}
		s.shared.unuse(r.engine)
		return true
	})
}

// expireReaders ends the subscriptions that the cacher serves, with the given status.
// The engine calls it when it stops updating the cacher.
func (e *Engine) expireReaders(c *cacher.Cacher, status *api.Status) {
	for _, r := range e.readers {
		r.session.End(status, func(_ uint32, served *cacher.Cacher) bool { return served == c })
		r.reconcile()
		r.due = true
	}
}

// report appends the messages that the reader's connection has room for.
func (r *attached) report(e *Engine, out []byte) []byte {
	if r.wakeAt != 0 && e.now >= r.wakeAt {
		r.due = true
	}
	looked := r.due
	for r.due && r.room > 0 && len(out) < readyBytes {
		limit := int(min(r.room, readerMessageBytes))
		e.message = r.session.AppendNext(e.message[:0], limit, e.now)
		if len(e.message) > 0 {
			r.room -= int64(len(e.message))
			out = r.send(e.message, out)
		}
		r.due = r.session.More()
	}
	if !r.due {
		r.wakeAt = r.session.Wake()
	}
	r.reconcile()
	if looked {
		out = r.reportStall(out)
	}
	return out
}

// send splits a session's message into pieces of at most readerMessageBytes, and appends
// them.
func (r *attached) send(message, out []byte) []byte {
	_ = wire.Split(message, readerMessageBytes, func(piece []byte) error { // the callback never fails
		out = (&wire.SendReader{Reader: r.id, Data: piece}).Append(out)
		return nil
	})
	return out
}

// reportStall reports when the reader stops accepting data and when it resumes.
// Only a message from the reader, or a grant to it, ends a stall.
func (r *attached) reportStall(out []byte) []byte {
	stalled := r.due && r.room <= 0 || r.session.Starved()
	if stalled == r.stalled || !stalled && !r.spoke {
		return out
	}
	r.stalled, r.spoke = stalled, false
	return (&wire.ReaderStalled{Reader: r.id, Stalled: stalled}).Append(out)
}
