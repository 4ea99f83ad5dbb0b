package client

import (
	"context"
	"iter"
)

// snapshots stores the latest snapshot of a view or an object handle for its readers.
type snapshots[S any] struct{ latest[state[S]] }

// state contains the latest snapshot. If it is closed, no further snapshot follows.
type state[S any] struct {
	snapshot *S // nil before the first
	closed   bool
	err      error // why the state is closed
}

// replace sets the snapshot.
func (s *snapshots[S]) replace(snapshot *S) {
	s.update(func(current *state[S]) { current.snapshot = snapshot })
}

// finish closes the state with an error, unless it is already closed.
func (s *snapshots[S]) finish(err error) {
	s.update(func(current *state[S]) {
		if !current.closed {
			current.closed, current.err = true, err
		}
	})
}

// all yields the latest snapshot and then a new one for every change. A slow consumer
// skips intermediate snapshots. The sequence ends with the error of finish or of ctx.
func (s *snapshots[S]) all(ctx context.Context) iter.Seq2[*S, error] {
	return func(yield func(*S, error) bool) {
		var last *S
		for {
			state, changed := s.get()
			if state.snapshot != last {
				last = state.snapshot
				if !yield(last, nil) {
					return
				}
				continue
			}
			if state.closed {
				yield(nil, state.err)
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				yield(nil, ctx.Err())
				return
			}
		}
	}
}
