package kubeapi

import (
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/internal/accept"
	"github.com/watchglass/watchglass/host/limit"
)

// watch responds with a stream of the events of a collection or of one object. It returns
// a status if it fails before the stream begins (rule P7), and nil otherwise.
func (h *Handler) watch(out *output, r *http.Request, req *request) *api.Status {
	if req.kind == object {
		if status := req.pin(req.name); status != nil {
			return status
		}
	}
	chosen, status := negotiate(r.Header, table(), metadata())
	if status != nil {
		return status
	}
	timeout := h.timeout(req.timeoutSeconds)
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	defer context.AfterFunc(h.stopping, cancel)()
	client := clientOf(r, req.user)
	defer h.open.add(client, cancel)()
	watch, err := h.config.Backend.Watch(ctx, req.resource, WatchOptions{
		Client: client, Namespace: req.namespace, Selection: req.selection,
		ResourceVersion: req.resourceVersion, Match: req.match, SendInitialEvents: req.sendInitialEvents,
		Bookmarks: req.bookmarks, TimeoutSeconds: uint32(min(timeout/time.Second, math.MaxUint32)),
	})
	if err != nil {
		return asStatus(err)
	}
	defer watch.Close()
	s := &stream{out: out, gzip: req.wantsWatchList() && accept.Gzip(r.Header)}
	s.begin()
	if r.Method != http.MethodHead {
		enc := req.encoder(chosen)
		s.run(ctx, h.reviewed(watch, req), &enc)
	}
	return nil
}

// timeout returns the duration of a watch: the requested seconds or, if zero, a random
// value from min-watch-timeout to twice that (rule P9).
func (h *Handler) timeout(seconds uint32) time.Duration {
	if seconds > 0 {
		return time.Duration(seconds) * time.Second
	}
	least := h.config.Limits.Duration(limit.MinWatchTimeout)
	return least + rand.N(least)
}

// maxIdleBytes is the capacity of the largest buffer that a watch retains while it waits
// for events.
const maxIdleBytes = 8 << 10

// run sends events until the watch ends for any reason (rule P10).
func (s *stream) run(ctx context.Context, watch Watch, enc *encoder) {
	var frames []byte
	for {
		events, err := watch.Next(ctx)
		if errors.Is(err, io.EOF) || ctx.Err() != nil {
			return
		}
		if err != nil {
			events = []Event{{Type: api.Error, Status: asStatus(err)}}
		}
		enc.now = time.Now().UnixMilli()
		last := false
		frames = frames[:0]
		for i := range events {
			frames = enc.appendEvent(frames, &events[i])
			last = events[i].Type == api.Error
			if len(frames) >= chunkBytes && i < len(events)-1 {
				if s.send(frames) != nil {
					return
				}
				frames = frames[:0]
			}
		}
		if s.send(frames) != nil || last {
			return
		}
		if cap(frames) > maxIdleBytes {
			frames = nil // the watch may now wait for hours
		}
	}
}
