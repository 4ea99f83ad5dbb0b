package objcache

import "github.com/watchglass/watchglass/core/api"

// item is a referenced object. It is stopped (without a source), loading (the
// source has no data yet), or synced.
type item struct {
	cache     *Cache
	id        ID
	refs      refs
	followers int
	accessed  int64 // when the item was last read

	source    Source // nil while stopped
	own       bool   // the source was opened for this item
	startedAt int64  // when the source was set
	loadedAt  int64  // when the item was synced; zero while loading
	// minimum is the newest version that was served. A later source must not be older
	// (rule K7).
	minimum Version

	// copy is an immutable object. It is served while there is no source, or
	// while the source that checks it is loading (rule K11).
	copy      *Object
	checkedAt int64

	waiting []waiter
}

// waiter is a Get that waits for the item to be synced.
type waiter struct {
	deadline int64
	done     func(*Object, *api.Status)
}

// start finds or opens a source for a stopped item (rules K2, K7).
func (it *item) start() {
	if it.source != nil || it.cache.down {
		return
	}
	it.use(it.cache.up.Covering(it.id, nil))
	if it.source == nil {
		it.use(it.cache.up.Open(it.id, it.minimum))
		it.own = true
		it.planSweep()
	}
	it.settle()
}

func (it *item) use(s Source) {
	it.source, it.own, it.startedAt, it.loadedAt = s, false, it.cache.now, 0
}

// stop releases the source. Only the copy of an immutable object remains (rule
// K10).
func (it *item) stop() {
	if it.own {
		it.cache.up.Close(it.source)
	}
	it.use(nil)
}

// settle updates the item after changes in its source.
func (it *item) settle() {
	it.cover()
	if it.source == nil {
		return
	}
	version, loaded := it.source.Version()
	if !loaded || version.behind(it.minimum) {
		it.loadedAt = 0 // a loaded source may also start over
		if state, why := it.source.State(); refused(state, why) {
			it.fail(why)
		}
		return
	}
	it.minimum = version
	if it.loadedAt == 0 {
		it.loadedAt = max(it.cache.now, 1)
		it.checked()
	}
	for len(it.waiting) > 0 {
		w := it.waiting[0]
		it.waiting = it.waiting[1:]
		w.done(it.serve())
	}
}

// cover switches to an open collection that includes the object, and away from a
// collection that was closed.
func (it *item) cover() {
	if it.cache.down || it.source == nil && it.copy == nil {
		return
	}
	covering := it.cache.up.Covering(it.id, it.source)
	switch {
	case covering == nil && it.source != nil && !it.own:
		idle := it.idle()
		it.use(nil)
		if !idle {
			it.start()
		}
	case covering != nil && covering != it.source:
		if version, _ := covering.Version(); it.own && version.behind(it.minimum) {
			return // the collection will catch up
		}
		it.stop()
		it.use(covering)
	}
}

// checked replaces or drops the copy of an immutable object after the source of the item
// has loaded. If the object is still immutable, checked copies it again and closes the
// source.
func (it *item) checked() {
	if it.copy == nil {
		return
	}
	it.copy = nil
	if o, ok := it.source.Find(it.id.Key); ok {
		it.copyImmutable(&o)
	}
}

// copyImmutable copies an immutable object and stops its watch (rule K11), unless the
// item is followed or a covering collection serves it. It returns the object to serve.
func (it *item) copyImmutable(o *Object) *Object {
	if o.Flags&api.Immutable == 0 || !it.own || it.followers > 0 {
		return o
	}
	it.copy, it.checkedAt = o.clone(), it.cache.now
	it.stop()
	return it.copy
}

// get passes the object or an error to done. If the item is still loading, get adds a
// waiter.
func (it *item) get(done func(*Object, *api.Status)) {
	if it.source != nil && it.own {
		if state, _ := it.source.State(); state == api.StateClosed {
			it.stop() // permanently failed; retry
		}
	}
	if it.copy == nil || it.cache.now > it.checkedAt+it.cache.maxIdle {
		it.start()
	}
	it.settle()
	if it.loadedAt != 0 || it.source == nil && it.copy != nil {
		done(it.serve())
		return
	}
	deadline := it.cache.now + waitMillis
	if it.copy != nil {
		deadline = it.startedAt + waitMillis // only the Gets in the first second of a check wait
	}
	it.waiting = append(it.waiting, waiter{deadline, done})
	it.settle()
	it.expire()
}

// serve returns the result for an item that is synced or has a copy.
func (it *item) serve() (*Object, *api.Status) {
	if it.loadedAt == 0 {
		return it.copy, nil
	}
	if o, ok := it.source.Find(it.id.Key); ok {
		return it.copyImmutable(&o), nil
	}
	if fault := it.source.Fault(it.id.Key); fault != nil {
		return nil, fault // the object exists but cannot be read
	}
	return nil, notFound(it.id)
}

// expire completes the Gets whose wait has expired.
func (it *item) expire() {
	kept := it.waiting[:0]
	for _, w := range it.waiting {
		switch {
		case it.cache.now < w.deadline:
			kept = append(kept, w)
		case it.copy != nil:
			w.done(it.copy, nil)
		default:
			var why *api.Status
			if it.source != nil {
				_, why = it.source.State()
			}
			w.done(nil, notSynced(it.id, why))
		}
	}
	it.waiting = kept
}

// fail completes all waiting Gets with an error.
func (it *item) fail(status *api.Status) {
	waiting := it.waiting
	it.waiting = nil
	for _, w := range waiting {
		w.done(nil, status)
	}
}

// idle reports whether the item has not been read for MaxIdleMillis. A loading item is
// never idle (rule K12).
func (it *item) idle() bool {
	return it.loadedAt != 0 && it.followers == 0 &&
		it.cache.now > max(it.accessed, it.loadedAt)+it.cache.maxIdle
}

// planSweep schedules a sweep if the item can become idle and no sweep is scheduled.
func (it *item) planSweep() {
	if c := it.cache; it.own && it.followers == 0 && c.sweepAt == 0 {
		c.sweepAt = c.now + sweepMillis
	}
}

// refused reports whether the object cannot arrive in this state of its source: the
// source was closed permanently, access is forbidden, or the resource is not installed.
func refused(s api.State, why *api.Status) bool {
	absent := s == api.StateConnecting && why != nil && why.Code == api.CodeNotFound
	return absent || s == api.StateClosed || s == api.StateForbidden
}

// Look is the known state of an object.
type Look struct {
	// State describes how current the other fields are. Status is the reason, if
	// there is one.
	State  api.State
	Status *api.Status
	// Known is false until the object has been loaded. While Known is false, callers keep the
	// data of an earlier Look, and State describes how current that data is.
	Known           bool
	ResourceVersion api.ResourceVersion // the object is known as of this version
	Object          *Object             // nil if the object does not exist; valid until the next call
}

func (it *item) look() Look {
	if it.source == nil {
		return Look{State: api.StateClosed}
	}
	l := Look{}
	l.State, l.Status = it.source.State()
	if it.loadedAt == 0 {
		switch {
		case l.State == api.StateConnecting && it.minimum.ResourceVersion != 0:
			l.State = api.StateReconnecting
		case l.State == api.StateLive:
			l.State = api.StateSyncing // the source is older than the last known version
		}
		return l
	}
	l.Known, l.ResourceVersion = true, it.minimum.ResourceVersion
	if o, ok := it.source.Find(it.id.Key); ok {
		l.Object = &o
	}
	if fault := it.source.Fault(it.id.Key); fault != nil {
		l.Status = fault
		l.Known = l.Object != nil // the object exists but cannot be read
	}
	return l
}
