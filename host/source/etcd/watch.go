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

// maxUnanswered is how many requests for progress may go without any word from
// etcd before the stream is given up.
const maxUnanswered = 3

// watch hands over changes from the next revision on. It owns the gRPC stream
// and the goroutine that asks for progress, and ends both before it returns.
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
	asker := &asker{remote: remote, cancel: cancel, created: make(chan struct{})}
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

// causeOr prefers our own reason for ending a call to gRPC's "canceled".
func causeOr(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

func (st *stream) createRequest() *pb.WatchRequest {
	return &pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: &pb.WatchCreateRequest{
		Key:            []byte(st.place.prefix),
		RangeEnd:       []byte(clientv3.GetPrefixRangeEnd(st.place.prefix)),
		StartRevision:  int64(st.at) + 1,
		ProgressNotify: true,
	}}}
}

// handle passes one response on. Its events are whole revisions.
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
	changes, err := st.changes(ctx, resp.Events)
	if err != nil || len(changes) == 0 {
		return err
	}
	return st.sink.Changes(changes)
}

// progress ignores what lies behind: members of a cluster are not equally far.
func (st *stream) progress(rv api.ResourceVersion) error {
	if rv < st.at {
		return nil
	}
	st.at = rv
	return st.sink.Progress(rv)
}

func (st *stream) changes(ctx context.Context, events []*mvccpb.Event) ([]source.Change, error) {
	first, last := api.ResourceVersion(events[0].Kv.ModRevision), api.ResourceVersion(events[len(events)-1].Kv.ModRevision)
	if first <= st.at {
		return nil, st.explain(ctx, "watch", fmt.Errorf("etcd sent revision %v after %v", first, st.at))
	}
	st.at = last
	changes := make([]source.Change, 0, len(events))
	for _, ev := range events {
		key, ok := st.place.key(ev.Kv.Key)
		if !ok {
			st.strange.report(ev.Kv.Key)
			continue
		}
		change := source.Change{Key: key, ResourceVersion: api.ResourceVersion(ev.Kv.ModRevision)}
		if ev.Type != mvccpb.Event_DELETE {
			change.Value = value(ev.Kv)
		}
		changes = append(changes, change)
	}
	return changes, nil
}

// asker asks for progress and gives up on an etcd that stays silent. receive
// belongs to the stream's goroutine, run is a goroutine of its own.
type asker struct {
	remote     grpc.BidiStreamingClient[pb.WatchRequest, pb.WatchResponse]
	cancel     context.CancelCauseFunc
	created    chan struct{} // closed when the watch exists
	waiting    atomic.Bool   // for a response; false while the sink works
	unanswered atomic.Int32
}

func (a *asker) receive() (*pb.WatchResponse, error) {
	a.waiting.Store(true)
	resp, err := a.remote.Recv()
	a.waiting.Store(false)
	a.unanswered.Store(0)
	return resp, err
}

// run asks once when the watch exists and then at every interval in which the
// stream waits. It must not ask earlier: the answer would overtake events that
// the server holds back until it has announced the watch.
func (a *asker) run(ctx context.Context, interval time.Duration) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	created, open := a.created, false
	for {
		select {
		case <-ctx.Done():
			return
		case <-created:
			created, open = nil, true
		case <-ticker.C:
			if !a.waiting.Load() {
				continue
			}
			if a.unanswered.Add(1) > maxUnanswered {
				a.cancel(fmt.Errorf("no answer for %v", maxUnanswered*interval))
				return
			}
		}
		if open && a.remote.Send(progressRequest) != nil {
			return // the stream is over; Recv knows why
		}
	}
}

var progressRequest = &pb.WatchRequest{
	RequestUnion: &pb.WatchRequest_ProgressRequest{ProgressRequest: &pb.WatchProgressRequest{}},
}
