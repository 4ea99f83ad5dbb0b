package cacher

import (
	"strings"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/history"
	"github.com/watchglass/watchglass/core/selector"
	"github.com/watchglass/watchglass/core/store"
	"github.com/watchglass/watchglass/core/watcher"
)

// WatchOptions are the options of a Kubernetes watch request.
type WatchOptions struct {
	Namespace         string
	Selection         selector.Selection
	ResourceVersion   string
	Match             api.Match
	SendInitialEvents api.Tristate
	Bookmarks         bool
	TimeoutSeconds    uint32
	Policy            api.Policy
	Previous          bool // see watcher.Options
	Sink              func(watcher.Delivery) bool
	Initialized       func(events int)
	Closed            func()
	// Meter, if not nil, is charged for the evaluation of selectors. A watch with
	// selectors then has PolicyStall, regardless of Policy. The watch falls behind
	// while the meter is exhausted. Exhausted is called when the watch must wait; see
	// watcher.Options.
	Meter      *watcher.Meter
	Exhausted  func()
	kubernetes bool // the request has PolicyTerminate
}

// Watch validates the options and starts a watch when the collection is fresh enough
// (rules C8 to C19). For an invalid request, Watch returns an error immediately and does
// not call started. Otherwise it calls started once, possibly later, with the watch or
// with a status that is the watch's only event.
func (c *Cacher) Watch(opt WatchOptions, started func(*watcher.Watcher, *api.Status)) *api.Status {
	rv, status := opt.normalise()
	if status != nil {
		return status
	}
	filter, status := c.newFilter(opt.Namespace, opt.Selection)
	if status != nil {
		return status
	}
	opt.kubernetes = opt.Policy == api.PolicyTerminate
	if opt.Meter != nil && filter.Selective() {
		filter.Meter(opt.Meter)
		opt.Policy = api.PolicyStall
	} else {
		opt.Meter = nil
	}
	var required api.ResourceVersion
	if opt.SendInitialEvents == api.True {
		required = rv
	}
	c.waits.WhenFresh(required, func(status *api.Status) {
		var w *watcher.Watcher
		if status == nil {
			w, status = c.startWatch(&opt, rv, filter)
		}
		started(w, status)
	})
	return nil
}

// normalise applies the defaults of a watch request (rule C10) and rejects
// contradictory options (rule C11).
func (o *WatchOptions) normalise() (api.ResourceVersion, *api.Status) {
	rv, err := api.ParseResourceVersion(o.ResourceVersion)
	if err != nil {
		return 0, api.AsStatus(err)
	}
	if rv == 0 && o.SendInitialEvents == api.Unset && o.Match == api.MatchUnset {
		o.SendInitialEvents, o.Match = api.True, api.MatchNotOlderThan
	}
	switch {
	case o.SendInitialEvents != api.Unset && o.Match != api.MatchNotOlderThan:
		return 0, api.Invalid("sendInitialEvents requires resourceVersionMatch to be NotOlderThan")
	case o.Match != api.MatchUnset && o.SendInitialEvents == api.Unset:
		return 0, api.Invalid("resourceVersionMatch is forbidden for a watch unless sendInitialEvents is given")
	}
	return rv, nil
}

// startWatch captures the initial events and registers the watch in one step, so
// no event is lost between them (rule C19).
func (c *Cacher) startWatch(o *WatchOptions, rv api.ResourceVersion, filter *watcher.Filter) (*watcher.Watcher, *api.Status) {
	opt := watcher.Options{
		Filter: filter, QueueSize: c.queueSize(), Policy: o.Policy, Sink: o.Sink, Initialized: o.Initialized, Closed: o.Closed,
		Exhausted: o.Exhausted, Bookmarks: o.Bookmarks, Previous: o.Previous, Kubernetes: o.kubernetes,
	}
	if status := c.begin(&opt, o, rv); status != nil {
		return nil, status
	}
	if o.SendInitialEvents == api.True && o.Bookmarks {
		opt.EndBookmark = c.at.Version
		if opt.BookmarkAfter = rv; o.ResourceVersion == "" || rv == 0 {
			opt.BookmarkAfter = c.at.Version
		}
	}
	if o.TimeoutSeconds > 0 {
		opt.DeadlineMillis = c.at.Now + int64(o.TimeoutSeconds)*1000
	}
	return c.watches.Start(opt), nil
}

// begin chooses between the state and the history (rule C14), and sets the
// initial events and the watermark.
func (c *Cacher) begin(opt *watcher.Options, o *WatchOptions, rv api.ResourceVersion) *api.Status {
	opt.Cursor = history.NewCursor(c.window)
	switch {
	case o.SendInitialEvents != api.True:
		return c.beginHistory(opt, rv)
	case o.Meter != nil:
		opt.Initial, opt.Watermark = watcher.FromCollection(c.arena, c.collector(opt.Filter), c.at.Version), c.at.Version
	default:
		refs := c.capture(o.Namespace, opt.Filter)
		opt.Initial, opt.Watermark = watcher.FromState(c.arena, refs, c.at.Version), c.at.Version
	}
	return c.restored.corruption
}

// beginHistory makes a watch start with the events after a version.
func (c *Cacher) beginHistory(opt *watcher.Options, rv api.ResourceVersion) *api.Status {
	if rv == 0 {
		rv = c.at.Version
	}
	position, status := c.window.After(rv)
	if status != nil {
		return status
	}
	opt.Watermark = rv
	if opt.Policy == api.PolicyStall {
		opt.Cursor.MoveTo(position)
	} else {
		opt.Initial = watcher.FromHistory(c.arena, c.window, position)
	}
	return nil
}

// capture returns the current matching versions, and adds a reference to each.
func (c *Cacher) capture(namespace string, filter *watcher.Filter) []store.Ref {
	var refs []store.Ref
	prefix := namespacePrefix(namespace)
	c.state.Ascend(api.Key(prefix), func(ref store.Ref) bool {
		if !strings.HasPrefix(string(c.arena.Key(ref)), prefix) {
			return false
		}
		if filter.Matches(ref) {
			refs = append(refs, c.arena.Retain(ref))
		}
		return true
	})
	return refs
}

// collector returns a function that collects the current matching versions.
func (c *Cacher) collector(filter *watcher.Filter) watcher.Collect {
	var plan listPlan
	plan.from, plan.to = c.span(filter.Scope())
	pages, _ := c.open(&plan, filter) // cannot fail: it reads the latest state
	return func(add func(store.Ref)) (done bool, status *api.Status) {
		return pages.Next(func(_ *Cacher, ref store.Ref) bool { add(ref); return true })
	}
}

// queueSize returns the number of events that a watch may lag behind. It is about the
// number of events in one second (rule H16, for resources without an index).
func (c *Cacher) queueSize() int {
	seconds := max(c.window.WindowMillis()/1000, 1)
	perSecond := (int64(c.window.Capacity()) + seconds - 1) / seconds
	return int(min(max(perSecond, 10), 100))
}
