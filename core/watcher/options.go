package watcher

import (
	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/history"
)

// Options configure a watch at registration.
type Options struct {
	Filter *Filter
	// QueueSize is the maximum number of events in the input queue, and also in the
	// output queue (rules W1, H16). A queue may exceed this size to complete a revision.
	// A stalling watch ignores QueueSize.
	QueueSize int
	Policy    api.Policy
	// Kubernetes means that the client requested [api.PolicyTerminate], even if the watch
	// has PolicyStall because of a meter.
	Kubernetes bool
	Initial    Initial
	// Cursor is where a stalling watch starts to read the history. A stalling watch requires an
	// Initial that is empty or comes from FromState or FromCollection.
	Cursor history.Cursor
	// Watermark is the requested version. Live events and bookmarks must be newer than
	// the watermark and every initial event (rules W34, W35).
	Watermark api.ResourceVersion
	// Previous adds the previous version of the object to MODIFIED events. A conflating
	// watch adds the last version of the object that it delivered.
	Previous bool
	// Bookmarks enables periodic bookmarks (rule W25).
	Bookmarks bool
	// BookmarkAfter is the version that the end-of-initial-events bookmark must
	// reach, or zero for no such bookmark (rule W17).
	BookmarkAfter api.ResourceVersion
	// EndBookmark, if not zero, is the version of a bookmark sent directly after
	// the initial events (rule W36).
	EndBookmark api.ResourceVersion
	// DeadlineMillis is when the watch ends, or zero for no deadline (rule P9).
	DeadlineMillis int64
	// Sink receives a delivery, and reports whether it accepts the delivery and takes
	// ownership of the references. A declined delivery is offered again at the next Run.
	// Without a Sink, the consumer calls Take.
	Sink func(Delivery) bool
	// Initialized, if not nil, is called once after the initial events and their
	// bookmark, with the number of initial events (rule W39).
	Initialized func(events int)
	// Closed, if not nil, is called once when no further deliveries will be added
	// to the output.
	Closed func()
	// Exhausted, if not nil, is called when the watch must wait for its filter's meter.
	// The caller must call Run after the next grant to the meter. A watch with a meter
	// must have the policy stall.
	Exhausted func()
	// Counts, if not nil, are the counters of the collection, which the watch increments.
	Counts *Counts
}
