package watcher

import (
	"strconv"

	"github.com/watchglass/watchglass/core/api"
)

// Ending describes how a watch ended.
type Ending struct {
	Reason api.WatchEnd
	Status *api.Status // nil for a normal end
	// Input and Output are the numbers of undelivered events in the two queues at the
	// end.
	Input, Output int
}

// Counts are event counters of all watches of a collection.
type Counts struct {
	Terminated    int // ended because the queue of a slow consumer was full
	Overtaken     int // ended because the history moved past the watch
	Stalls        int // times that a consumer stopped accepting events
	Conflations   int // changes that were merged into later ones
	InitialEvents int // initial events that were delivered or filtered out
}

// Add adds the counts of another collection.
func (c *Counts) Add(other Counts) {
	c.Terminated += other.Terminated
	c.Overtaken += other.Overtaken
	c.Stalls += other.Stalls
	c.Conflations += other.Conflations
	c.InitialEvents += other.InitialEvents
}

func (c *Counts) end(reason api.WatchEnd) {
	switch reason {
	case api.WatchEndSlowConsumer:
		c.Terminated++
	case api.WatchEndOvertaken:
		c.Overtaken++
	}
}

// Ending returns how the watch ended, or the zero value if it is still open.
func (w *Watcher) Ending() Ending { return w.ending }

// Status returns the error that the watch ended with, or nil if the watch is open or ended
// normally.
func (w *Watcher) Status() *api.Status { return w.ending.Status }

// Fail ends the watch with the given status and the reason WatchEndHistoryLost.
//
//go:noinline
func (w *Watcher) Fail(status *api.Status) { w.End(api.WatchEndHistoryLost, status, false) }

// expire ends the watch with a 410.
func (w *Watcher) expire(reason api.WatchEnd, message string, drain bool) {
	w.End(reason, reason.Expired(message), drain)
}

// endOvertaken ends a watch whose next event was evicted from the history.
func (w *Watcher) endOvertaken() {
	window := w.initial.window
	if window == nil {
		window = w.cursor.Window()
	}
	oldest, _ := window.Oldest()
	w.expire(api.WatchEndOvertaken, "the history has moved past the watch, which is at resourceVersion "+
		max(w.begun, w.watermark).String()+": the oldest that it can continue from is "+oldest.String()+", and "+
		strconv.Itoa(window.End()-window.Start())+" events remain; list again and watch from the list's resourceVersion, "+
		"and take events faster or keep a longer history", false)
}

// endCrowded ends a watch that still has changes of one relist in its queue when
// the next relist arrives.
func (w *Watcher) endCrowded() {
	w.expire(api.WatchEndOvertaken, "the collection was listed twice before the consumer of the watch accepted the changes of the first list, "+
		strconv.Itoa(w.in.len())+" of which wait; list again and watch from the list's resourceVersion", false)
}

// endRelisted ends a watch because a relist found that one of its objects was deleted.
func (w *Watcher) endRelisted() {
	w.expire(api.WatchEndOvertaken, "the collection was listed again, and objects were deleted at unknown versions; "+
		"list again and watch from the list's resourceVersion", false)
}
