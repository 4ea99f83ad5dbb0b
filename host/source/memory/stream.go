package memory

import (
	"context"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/core/catalog"
	"github.com/watchglass/watchglass/host/source"
)

// Stream implements source.Source.
func (s *Source) Stream(ctx context.Context, resource api.Resource, from api.ResourceVersion, sink source.Sink) error {
	if _, err := catalog.Lookup(s.schemas, resource); err != nil {
		return err
	}
	if err := sink.Identify(s.name); err != nil {
		return err
	}
	st := stream{source: s, resource: resource, sink: sink, at: from}
	st.start()
	if from == 0 {
		if err := st.list(ctx); err != nil {
			return err
		}
	}
	for {
		if err := st.turn(ctx); err != nil {
			return err
		}
	}
}

// stream is the state of one call to Stream. It starts no goroutine.
type stream struct {
	source   *Source
	resource api.Resource
	sink     source.Sink
	at       api.ResourceVersion // everything up to this revision was delivered
	failures int                 // calls of Fail that this stream has handled
	progress int                 // calls of Progress that this stream has handled
	wanted   bool                // a reader waits for progress
}

// start records how often Fail and Progress have been called so far. The stream reacts
// only to later calls.
func (st *stream) start() {
	st.source.mu.Lock()
	defer st.source.mu.Unlock()
	st.failures, st.progress = st.source.failures, st.source.progress
}

func (st *stream) list(ctx context.Context) error {
	objects, rv := st.source.snapshot(st.resource)
	if err := st.sink.BeginList(); err != nil {
		return err
	}
	for _, o := range objects {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := st.sink.Object(o.Key, o.ResourceVersion, o.Value); err != nil {
			return err
		}
	}
	st.at = rv
	return st.sink.EndList(rv)
}

// turn delivers the next changes or, if there are none, the progress that is due.
// Otherwise it waits for a change, a call to Progress or Fail, or a reader that wants
// progress.
func (st *stream) turn(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	next, err := st.next()
	switch {
	case err != nil:
		return err
	case len(next.changes) > 0:
		st.at = next.changes[len(next.changes)-1].ResourceVersion
		return st.sink.Changes(next.changes)
	case next.progress > st.progress || st.wanted:
		st.at, st.progress, st.wanted = next.revision, next.progress, false
		return st.sink.Progress(next.revision)
	}
	select {
	case <-next.wake:
	case <-st.sink.Wanted():
		st.wanted = true
	case <-ctx.Done():
	}
	return nil
}

type next struct {
	changes  []source.Change
	revision api.ResourceVersion
	progress int
	wake     <-chan struct{}
}

// next returns the changes after st.at, and the revision to report as progress. It reads
// both under one lock, so that progress never overtakes a change.
func (st *stream) next() (next, error) {
	s := st.source
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failures > st.failures {
		return next{}, s.failure
	}
	if st.at > s.revision {
		return next{}, api.Expired("resource version " + st.at.String() + " is beyond the newest, " +
			s.revision.String() + ": list again")
	}
	if st.at+1 < s.compacted {
		return next{}, api.Expired("changes after resource version " + st.at.String() +
			" are gone, compacted at " + s.compacted.String() + ": list again")
	}
	log := s.log[st.resource]
	return next{
		changes:  wholeRevisions(log[after(log, st.at):]),
		revision: s.revision,
		progress: s.progress,
		wake:     s.wake,
	}, nil
}

// wholeRevisions returns the first changes of log. If the constant batch would split a
// revision, the result contains the rest of that revision as well. The caller may read
// the result without the lock, because the elements of log are never overwritten.
func wholeRevisions(log []source.Change) []source.Change {
	n := min(batch, len(log))
	for n > 0 && n < len(log) && log[n].ResourceVersion == log[n-1].ResourceVersion {
		n++
	}
	return log[:n:n]
}
