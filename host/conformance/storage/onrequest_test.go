package storage

import (
	"context"
	"sync/atomic"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/source"
)

// onRequest is a source that reports progress only on request, like the storage under the
// cache of kube-apiserver. One suite asserts that the cache has not reached a revision
// that no client has requested.
type onRequest struct{ source.Source }

// Stream implements source.Source.
func (r onRequest) Stream(ctx context.Context, resource api.Resource, from api.ResourceVersion, sink source.Sink) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &onRequestSink{Sink: sink, wanted: make(chan struct{})}
	go s.listen(ctx) // ends with the stream
	return r.Source.Stream(ctx, resource, from, s)
}

type onRequestSink struct {
	source.Sink
	wanted chan struct{}
	asked  atomic.Bool
}

func (s *onRequestSink) listen(ctx context.Context) {
	for {
		select {
		case <-s.Sink.Wanted():
		case <-ctx.Done():
			return
		}
		s.asked.Store(true)
		select {
		case s.wanted <- struct{}{}:
		case <-ctx.Done():
			return
		}
	}
}

// Wanted implements source.Sink.
func (s *onRequestSink) Wanted() <-chan struct{} { return s.wanted }

// Progress implements source.Sink.
func (s *onRequestSink) Progress(rv api.ResourceVersion) error {
	if !s.asked.Swap(false) {
		return nil
	}
	return s.Sink.Progress(rv)
}
