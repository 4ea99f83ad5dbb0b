package etcd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/source"
)

const (
	// maxUnanswered is the number of consecutive requests for progress that etcd may
	// leave unanswered before the stream ends.
	maxUnanswered = 3
	// firstRequestDelay is the time between the creation of a watch and the first request
	// for progress. etcd needs about that time to bring a new watch up to date.
	firstRequestDelay = 100 * time.Millisecond
)

// watch delivers the changes after st.at. It owns the gRPC stream and the goroutine
// that requests progress, and ends both before it returns.
func (st *stream) watch(ctx context.Context) error {
	inner, cancel := context.WithCancelCause(clientv3.WithRequireLeader(ctx))
	defer cancel(nil)
	remote, err := pb.NewWatchClient(st.client.ActiveConnection()).Watch(inner, grpc.MaxCallRecvMsgSize(math.MaxInt32))
	if err != nil {
		return st.explain(ctx, "watch", err)
	}
	if err := remote.Send(st.createRequest()); err != nil {
		return st.explain(ctx, "watch", err)
	}
	asker := &asker{remote: remote, cancel: cancel, created: make(chan struct{}), wanted: st.sink.Wanted()}
	if interval := st.config.ProgressInterval; interval > 0 {
		done := make(chan struct{})
		go func() { defer close(done); asker.run(inner, interval) }()
		defer func() { cancel(nil); <-done }()
	}
	for {
		resp, err := asker.receive()
		if err != nil {
			return st.explain(ctx, "watch", causeOr(inner, err))
		}
		if err := st.handle(ctx, resp); err != nil {
			return err
		}
		if resp.Created {
			close(asker.created)
		}
	}
}

// causeOr returns the cause of ctx if ctx is done, because gRPC's own error would be
// "canceled". Otherwise it returns err.
func causeOr(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// createRequest returns the request for a watch from the last delivered revision, not the
// one after it. On an idle cluster the next revision does not exist yet, and etcd reports
// no progress on a watch of a future revision (rule E28). stream.changes drops the
// repeated revision.
func (st *stream) createRequest() *pb.WatchRequest {
	return &pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: &pb.WatchCreateRequest{
		Key:            []byte(st.keyspace.prefix),
		RangeEnd:       []byte(clientv3.GetPrefixRangeEnd(st.keyspace.prefix)),
		StartRevision:  int64(st.at),
		ProgressNotify: true,
	}}}
}

// handle passes one response to the sink, or returns the error that the response reports.
// Each response contains complete revisions.
func (st *stream) handle(ctx context.Context, resp *pb.WatchResponse) error {
	switch {
	case resp.CompactRevision != 0:
		return st.expired(resp.CompactRevision)
	case resp.Canceled:
		return st.explain(ctx, "watch", errors.New(resp.CancelReason))
	case resp.Created:
		return nil
	case len(resp.Events) == 0:
		return st.progress(api.ResourceVersion(resp.Header.GetRevision()))
	}
	if changes := st.changes(resp.Events); len(changes) > 0 {
		return st.sink.Changes(changes)
	}
	return nil
}

// progress reports to the sink that all changes up to rv were delivered. It ignores a
// revision that is older than the last delivered one. A lagging member may report such a
// revision.
func (st *stream) progress(rv api.ResourceVersion) error {
	if rv < st.at {
		return nil
	}
	st.at = rv
	return st.sink.Progress(rv)
}

// changes converts events to changes. It omits events that were already delivered, and
// keys that do not belong to an object.
func (st *stream) changes(events []*mvccpb.Event) []source.Change {
	changes := make([]source.Change, 0, len(events))
	done := st.at
	for _, ev := range events {
		rv := api.ResourceVersion(ev.Kv.ModRevision)
		if rv <= done {
			continue
		}
		st.at = rv
		key, ok := st.keyspace.key(ev.Kv.Key)
		if !ok {
			st.strange.report(ev.Kv.Key)
			continue
		}
		change := source.Change{Key: key, ResourceVersion: rv}
		if ev.Type != mvccpb.Event_DELETE {
			change.Value = value(ev.Kv)
		}
		changes = append(changes, change)
	}
	return changes
}

// asker requests progress, and ends the stream if etcd does not respond. The stream's
// goroutine calls receive, and a separate goroutine calls run.
type asker struct {
	remote  grpc.BidiStreamingClient[pb.WatchRequest, pb.WatchResponse]
	cancel  context.CancelCauseFunc
	created chan struct{}             // closed when the watch exists
	wanted  <-chan struct{}           // delivers values while a reader waits for progress
	waiting atomic.Pointer[time.Time] // start of the wait for a response; nil while the sink works
}

func (a *asker) receive() (*pb.WatchResponse, error) {
	now := time.Now()
	a.waiting.Store(&now)
	defer a.waiting.Store(nil)
	return a.remote.Recv()
}

// run requests progress a short time after the watch exists, because etcd does not
// respond while the watch catches up. It then requests progress at increasing intervals
// up to the given one, and whenever a reader waits for progress. It sends no request
// before the watch exists, because the response would overtake events that etcd holds
// back until the watch exists.
func (a *asker) run(ctx context.Context, interval time.Duration) {
	delay, silence := min(firstRequestDelay, interval), (maxUnanswered+1)*interval
	timer := time.NewTimer(interval)
	defer timer.Stop()
	created, open := a.created, false
	for {
		select {
		case <-ctx.Done():
			return
		case <-created:
			created, open = nil, true
			timer.Reset(delay)
			continue
		case <-a.wanted:
		case <-timer.C:
		}
		since := a.waiting.Load()
		if since != nil && time.Since(*since) > silence {
			a.cancel(fmt.Errorf("no response to requests for progress within %v", silence))
			return
		}
		if since != nil && open && a.remote.Send(progressRequest) != nil {
			return // the stream has ended; Recv returns the reason
		}
		delay = min(2*delay, interval)
		timer.Reset(delay)
	}
}

var progressRequest = &pb.WatchRequest{
	RequestUnion: &pb.WatchRequest_ProgressRequest{ProgressRequest: &pb.WatchProgressRequest{}},
}
