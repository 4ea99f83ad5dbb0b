package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/kubewatch"
	"github.com/watchglass/watchglass/host/source"
)

// stream is the state of one call to Stream. It sends the requests of a kubewatch.Client
// and passes the resulting objects to the sink. Only the goroutine of run uses the fields,
// except for received, done and running.
type stream struct {
	*Source
	resource *resource
	memory   *memory // guarded by Source.mu
	client   *kubewatch.Client
	sink     source.Sink
	err      error // error that ends the stream

	changes []source.Change // output that the sink has not received
	values  []byte          // buffer of the values in changes
	at      kubewatch.Progress
	passed  bool // flush has reported progress in the current watch

	last     uint32 // number of the last request
	pending  []pending
	watches  int
	cancels  map[uint32]context.CancelCauseFunc
	running  sync.WaitGroup
	received chan received
	done     <-chan struct{} // closed when run no longer receives responses
}

// pending is a request that has not started yet.
type pending struct {
	kubewatch.Request
	query  url.Values
	stream uint32
}

// received is the status code, a piece, or the end of a response.
type received struct {
	stream     uint32
	code       int
	retryAfter int
	piece      []byte
	err        error // io.EOF for a regular end
}

// pieceSize is the maximum size of one piece of a response.
const pieceSize = 32 << 10

// errSilent reports that a server has exceeded a time limit of a request.
var errSilent = errors.New("the server does not respond")

func (s *Source) newStream(found *resource, sink source.Sink, cluster string) *stream {
	m, learned := s.remember(found.Resource, cluster)
	st := &stream{
		Source: s, resource: found, memory: m, sink: sink,
		cancels: map[uint32]context.CancelCauseFunc{}, received: make(chan received),
	}
	watchSeconds := int(s.config.WatchTimeout / time.Second)
	st.client = kubewatch.New(kubewatch.Config{
		Resource: found.Resource, Schema: &api.Schema{Resource: found.Resource, Kind: found.Kind}, Validate: true,
		Server: "kube-apiserver " + s.base.Host, Remedy: " and watchglass must be restarted", RestartsList: true,
		PageSize: s.config.PageSize, InitialSeconds: 300 + rand.IntN(300), // rule R5
		WatchSeconds: watchSeconds, FirstWatchSeconds: watchSeconds,
		RequestTimeout: s.config.RequestTimeout.Milliseconds(), Patience: s.config.Patience.Milliseconds(),
		Memory: learned, Handler: st, Fetch: st.fetch, Cancel: st.cancel,
	})
	return st
}

// run delivers the collection until ctx is done or the stream fails.
func (st *stream) run(ctx context.Context, from api.ResourceVersion) error {
	ctx, cancel := context.WithCancel(ctx)
	defer st.running.Wait()
	defer cancel()
	st.done = ctx.Done()
	st.client.Tick(time.Now().UnixMilli())
	st.client.Start(kubewatch.Start{From: from, NotOlderThan: st.newestDelivered()})
	for {
		st.startPending(ctx)
		if st.err != nil {
			return st.err
		}
		select {
		case r := <-st.received:
			st.take(r)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (st *stream) fetch(r kubewatch.Request) uint32 {
	st.last++
	query, err := url.ParseQuery(r.Query)
	st.note(err)
	st.pending = append(st.pending, pending{r, query, st.last})
	return st.last
}

func (st *stream) cancel(number uint32) {
	st.pending = slices.DeleteFunc(st.pending, func(p pending) bool { return p.stream == number })
	if cancel := st.cancels[number]; cancel != nil {
		cancel(nil)
		delete(st.cancels, number)
	}
}

// startPending starts the pending requests of the client. Before every watch except the
// first, it checks that the schema of the resource has not changed.
func (st *stream) startPending(ctx context.Context) {
	for st.err == nil && len(st.pending) > 0 {
		p := st.pending[0]
		st.pending = st.pending[1:]
		if p.query.Has("watch") && p.query.Has("resourceVersion") {
			st.passed = false
			if st.watches++; st.watches > 1 && !st.sameSchema(ctx) {
				return
			}
		}
		ctx, cancel := context.WithCancelCause(ctx)
		st.cancels[p.stream] = cancel
		st.running.Go(func() {
			defer cancel(nil)
			st.exchange(ctx, cancel, p)
		})
	}
}

// sameSchema reports whether the schema is unchanged. If the schema has changed or cannot
// be read, sameSchema ends the stream.
func (st *stream) sameSchema(ctx context.Context) bool {
	changed, err := st.catalog.changed(ctx, st.resource)
	var status *api.Status
	switch {
	case errors.As(err, &status):
		st.client.End(status)
	case err != nil:
		st.err = err
	case changed:
		st.err = &source.SchemaChangedError{Resource: st.resource.Resource}
	}
	return st.err == nil
}

// take passes a part of a response to the client, and the resulting changes to the sink.
func (st *stream) take(r received) {
	if r.err != nil {
		delete(st.cancels, r.stream)
	}
	st.client.Tick(time.Now().UnixMilli())
	switch {
	case r.code != 0:
		st.client.Responded(r.stream, r.code, r.retryAfter)
	case r.err == nil:
		st.client.Data(r.stream, r.piece)
	case r.err == io.EOF:
		st.client.Closed(r.stream, "")
	case errors.Is(r.err, errSilent):
		st.client.TimedOut(r.stream, r.err.Error())
	default:
		st.client.Closed(r.stream, r.err.Error())
	}
	st.flush()
}

// exchange sends a request and passes the pieces of the response to run. Each call runs
// in its own goroutine. While the sink blocks, exchange does not read, which slows the
// server down (rule E11).
func (st *stream) exchange(ctx context.Context, cancel context.CancelCauseFunc, p pending) {
	total := timeLimit(cancel, p.Timeout, "the response has not ended after %v")
	defer total.Stop()
	idle := timeLimit(cancel, p.Idle, "nothing came for %v")
	defer idle.Stop()
	resp, err := st.get(ctx, p.Path, p.query)
	if err != nil {
		st.pass(received{stream: p.stream, err: transportError(ctx, err)})
		return
	}
	defer resp.Body.Close()
	st.pass(received{stream: p.stream, code: resp.StatusCode, retryAfter: retryAfter(resp)})
	var buffers [2][pieceSize]byte // the client uses one buffer while the next piece fills the other
	for i := 0; err == nil; i++ {
		if p.Idle > 0 {
			idle.Reset(time.Duration(p.Idle) * time.Millisecond)
		}
		var n int
		n, err = resp.Body.Read(buffers[i%2][:])
		idle.Stop()
		if n > 0 {
			st.pass(received{stream: p.stream, piece: buffers[i%2][:n]})
		}
	}
	if err != io.EOF {
		err = transportError(ctx, err)
	}
	st.pass(received{stream: p.stream, err: err})
}

// timeLimit returns a timer that cancels a request after a number of milliseconds. Zero
// means no limit.
func timeLimit(cancel context.CancelCauseFunc, millis int64, format string) *time.Timer {
	after := time.Duration(millis) * time.Millisecond
	t := time.AfterFunc(max(after, time.Hour), func() { cancel(fmt.Errorf("%w: "+format, errSilent, after)) })
	if millis > 0 {
		t.Reset(after)
	} else {
		t.Stop()
	}
	return t
}

func (st *stream) pass(r received) {
	select {
	case st.received <- r:
	case <-st.done:
	}
}
