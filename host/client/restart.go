package client

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/wire"
)

const (
	firstPause = 100 * time.Millisecond
	maxPause   = 30 * time.Second
	// healthy is the lifetime after which the failure of an instance counts as the first
	// failure again.
	healthy = time.Minute
)

// restart decides when a failed instance is replaced: immediately the first time,
// then after pauses that double. Input that crashes every instance therefore does
// not cause a busy loop.
type restart struct {
	at       time.Time // when to start the next instance
	born     time.Time
	failures int // consecutive failures
}

func (r *restart) started(now time.Time) { r.born = now }

func (r *restart) failed(now time.Time) {
	if !r.born.IsZero() && now.Sub(r.born) > healthy {
		r.failures = 0
	}
	r.at = now
	if r.failures > 0 {
		r.at = now.Add(min(firstPause<<min(r.failures-1, 16), maxPause))
	}
	r.failures++
}

// failed discards the instance and notifies all open resources.
func (l *loop) failed(err error) {
	l.config.Logger.Error("the engine failed; restarting it", "error", err)
	if l.instance != nil {
		_ = l.instance.Close(context.WithoutCancel(l.ctx))
		l.instance = nil
	}
	l.restart.failed(l.now())
	for _, s := range l.streams {
		s.end(errors.New("engine failed"))
	}
	clear(l.streams)
	l.grants = l.grants[:0]
	for _, p := range l.requests {
		p.done <- restarting()
	}
	clear(l.requests)
	for _, c := range l.collections {
		c.restarting(err)
	}
	for _, h := range l.handles {
		h.restarting(err)
	}
	for id, w := range l.watches {
		if w.delivered {
			delete(l.watches, id)
			end := api.WatchEndEngineReplaced
			w.finish(end, end.Expired("the cache failed and lost its history: list and watch again"))
		}
	}
}

// reopen opens the program's resources in a new instance: collections first, and
// resources of one kind in their original order. If the instance fails meanwhile, the
// next start tries again.
func (l *loop) reopen() {
	for _, id := range ids(l.collections) {
		if c := l.collections[id]; c != nil {
			l.again(wire.ObjectCollection, id, c.command(false))
		}
	}
	for _, id := range ids(l.views) {
		if v := l.views[id]; v != nil {
			l.again(wire.ObjectView, id, v.command())
		}
	}
	for _, id := range ids(l.handles) {
		if h := l.handles[id]; h != nil {
			l.again(wire.ObjectHandle, id, h.command())
		}
	}
	for _, id := range ids(l.watches) {
		if w := l.watches[id]; w != nil {
			l.again(wire.ObjectWatch, id, w.command())
		}
	}
}

// again repeats a command that was accepted before. If the engine refuses the command
// now, the resource ends with the refusal.
func (l *loop) again(object wire.Object, id uint32, command []byte) {
	if err := l.step(command); err != nil {
		l.rejected(&wire.Rejected{Object: object, ID: id, Status: api.AsStatus(err)})
	}
}

func ids[T any](table map[uint32]T) []uint32 { return slices.Sorted(maps.Keys(table)) }
