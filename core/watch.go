package core

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/cacher"
	"github.com/watchglass/watchglass/core/internal/lite"
	"github.com/watchglass/watchglass/core/selector"
	"github.com/watchglass/watchglass/core/watcher"
	"github.com/watchglass/watchglass/core/wire"
)

// maxPending limits the undelivered events of a watch, even if its credit is unlimited.
const maxPending = 1 << 16

// watch is a watch that the program opened with OpenWatch.
type watch struct {
	id         uint32
	collection *collection
	cacher     *cacher.Cacher   // the cacher at which the watcher is registered
	watcher    *watcher.Watcher // nil until started
	bodies     bool
	limited    bool
	credit     uint32
	pending    []watcher.Delivery
	closed     *wire.WatchClosed // the frame to send after the pending events; nil until the watch ends
	finished   bool
	order      int // position in the order of opening
	due        bool
}

// watches contains the open watches of an engine.
type watches struct {
	byID   map[uint32]*watch
	opened int
	// active is the number of watches that have started and not ended.
	active int
	// due are the watches that may have something to report. Ready spends no time on
	// the other watches.
	due []*watch
}

func (s *watches) add(w *watch) {
	if s.byID == nil {
		s.byID = map[uint32]*watch{}
	}
	w.order = s.opened
	s.opened++
	s.byID[w.id] = w
}

// list returns all watches in the order in which they were opened.
func (s *watches) list() []*watch {
	list := make([]*watch, 0, len(s.byID))
	for _, w := range s.byID {
		list = append(list, w)
	}
	inOrder(list)
	return list
}

func inOrder(list []*watch) {
	lite.Sort(list, func(a, b **watch) bool { return (*a).order < (*b).order })
}

// look adds the watch to those that the next Ready examines.
func (s *watches) look(w *watch) {
	if !w.due {
		w.due = true
		s.due = append(s.due, w)
	}
}

// takeDue returns and clears the due watches, in the order in which they were
// opened.
func (s *watches) takeDue() []*watch {
	due := s.due
	s.due = nil
	inOrder(due)
	for _, w := range due {
		w.due = false
	}
	return due
}

func (e *Engine) openWatch(f *wire.OpenWatch) {
	c := e.findCollection(f.Collection)
	if c == nil {
		e.reject(wire.ObjectWatch, f.Watch, api.NotFound("the collection of this watch is not open"))
		return
	}
	if e.findWatch(f.Watch) != nil {
		e.reject(wire.ObjectWatch, f.Watch, api.BadRequest("a watch with this number is open"))
		return
	}
	selection, refused := selector.Limits{}.Parse(lite.Clone(f.LabelSelector), lite.Clone(f.FieldSelector))
	w := &watch{id: f.Watch, collection: c, bodies: f.Bodies, limited: f.Credit > 0, credit: f.Credit}
	e.watches.add(w)
	opt := cacher.WatchOptions{
		Namespace: lite.Clone(f.Namespace), Selection: selection, ResourceVersion: lite.Clone(f.ResourceVersion),
		Match: f.Match, SendInitialEvents: f.SendInitialEvents, Bookmarks: f.Bookmarks,
		TimeoutSeconds: f.TimeoutSeconds, Policy: f.Policy, Previous: f.Previous,
		Sink: func(d watcher.Delivery) bool { return w.take(e, d) },
		Closed: func() {
			e.watches.active--
			e.watches.look(w)
		},
	}
	c.shared.whenDescribed(func(status *api.Status) {
		if status == nil {
			status = refused
		}
		if status != nil {
			w.start(e, opt, status)
			return
		}
		c.shared.whenComplete(func(status *api.Status) {
			if !w.bodies && c.shared.reflector.Bodies().Left() != nil {
				status = nil // this watch needs no bodies
			}
			w.start(e, opt, status)
		})
	})
}

// start registers the watch, unless it was closed while it waited.
func (w *watch) start(e *Engine, opt cacher.WatchOptions, status *api.Status) {
	if !e.isOpen(w) {
		return
	}
	w.cacher = w.collection.shared.cacher
	if status == nil {
		status = w.cacher.Watch(opt, func(started *watcher.Watcher, status *api.Status) {
			switch {
			case !e.isOpen(w):
				if started != nil {
					w.cacher.Watches().Stop(started)
				}
			case status != nil:
				w.end(e, api.WatchEndRefused, status)
			default:
				w.watcher = started
			}
			if started != nil {
				e.watches.active++
			}
		})
	}
	if status != nil {
		e.reject(wire.ObjectWatch, w.id, status)
		e.removeWatch(w)
	}
}

// take is the watcher's sink. It returns false, so that the watcher waits, if the watch
// is closed, has no credit, or has maxPending undelivered events.
func (w *watch) take(e *Engine, d watcher.Delivery) bool {
	if w.finished || w.limited && w.credit == 0 || len(w.pending) >= maxPending {
		return false
	}
	if w.limited {
		w.credit--
	}
	w.pending = append(w.pending, d)
	e.watches.look(w)
	return true
}

// end ends the watch after its pending events. Only the first call determines the
// reported reason.
func (w *watch) end(e *Engine, reason api.WatchEnd, status *api.Status) {
	if w.watcher != nil {
		w.cacher.Watches().Stop(w.watcher)
		w.watcher = nil
	}
	if w.closed == nil {
		w.closed = &wire.WatchClosed{Watch: w.id, End: reason, Status: status}
	}
	e.watches.look(w)
}

func (e *Engine) grantWatch(f *wire.GrantWatch) {
	w := e.findWatch(f.Watch)
	if w == nil {
		return
	}
	w.credit += min(f.Events, ^uint32(0)-w.credit)
	w.run()
}

// run delivers more events of the watcher after credit was granted or pending events were
// reported.
func (w *watch) run() {
	if w.watcher != nil {
		w.watcher.Run()
		w.cacher.Watches().Resume()
	}
}

func (e *Engine) closeWatch(f *wire.CloseWatch) {
	if w := e.findWatch(f.Watch); w != nil {
		e.dropWatch(w)
	}
}

// dropWatch ends a watch whose consumer is gone.
func (e *Engine) dropWatch(w *watch) {
	w.finished = true
	if w.watcher != nil {
		w.cacher.Watches().Stop(w.watcher)
	}
	w.discard()
	e.removeWatch(w)
}

// discard drops the pending events.
func (w *watch) discard() {
	w.release(w.pending)
	w.pending = nil
}

func (w *watch) release(deliveries []watcher.Delivery) {
	for _, d := range deliveries {
		arena := w.cacher.Arena()
		arena.Release(d.Content)
		arena.Release(d.Previous)
	}
}

func (e *Engine) removeWatch(w *watch) { delete(e.watches.byID, w.id) }

func (e *Engine) findWatch(id uint32) *watch { return e.watches.byID[id] }

// isOpen reports whether the watch has neither been closed nor ended.
func (e *Engine) isOpen(w *watch) bool { return e.watches.byID[w.id] == w && !w.finished }

// reportWatches appends the deliveries of due watches, up to about readyBytes,
// and removes the watches that it reports as closed.
func (e *Engine) reportWatches(out []byte) []byte {
	for _, w := range e.watches.takeDue() {
		if e.findWatch(w.id) != w {
			continue
		}
		if len(out) < readyBytes {
			out = w.report(e, out)
		}
		switch {
		case w.finished:
			e.removeWatch(w)
		case len(w.pending) > 0 || w.closed != nil || w.watcher != nil && w.watcher.Finished():
			e.watches.look(w)
		}
	}
	return out
}

// report appends the deliveries of the watch, up to about readyBytes. If the watch has
// ended, report appends its WatchClosed frame after the last delivery.
func (w *watch) report(e *Engine, out []byte) []byte {
	for len(w.pending) > 0 && len(out) < readyBytes {
		out = w.reportPending(e, out)
		w.run()
	}
	if len(w.pending) > 0 {
		return out
	}
	if w.watcher != nil && w.watcher.Finished() {
		ending := w.watcher.Ending()
		w.end(e, ending.Reason, ending.Status)
	}
	if w.closed != nil {
		w.finished = true
		out = w.closed.Append(out)
	}
	return out
}

// reportPending appends one frame of deliveries with at most about readyBytes of
// objects.
func (w *watch) reportPending(e *Engine, out []byte) []byte {
	frame := wire.WatchEvents{Watch: w.id}
	e.plain = e.plain[:0]
	n := 0
	for n < len(w.pending) && len(e.plain) < readyBytes {
		d := &w.pending[n]
		event := wire.WatchEvent{Type: d.Type, Item: wire.Item{ResourceVersion: d.ResourceVersion, Flags: d.Flags}}
		if d.Content != 0 {
			event.Item = e.item(w.collection, w.cacher, d.Content, d.ResourceVersion, w.bodies)
			event.Item.Flags = d.Flags
		}
		if d.Previous != 0 {
			previous := e.item(w.collection, w.cacher, d.Previous, w.cacher.Arena().ResourceVersion(d.Previous), w.bodies)
			event.Previous = &previous
		}
		frame.Events = append(frame.Events, event)
		n++
	}
	if w.cacher.Restored().Corrupt() != nil {
		w.discard()
		return out
	}
	out = frame.Append(out)
	w.release(w.pending[:n])
	w.pending = w.pending[:copy(w.pending, w.pending[n:])]
	return out
}
