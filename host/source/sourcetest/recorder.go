package sourcetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchglass/watchglass/core/api"
	"github.com/watchglass/watchglass/host/source"
)

// patience is how long a test waits for an event. Only failing tests wait that long.
const patience = 30 * time.Second

// recorder is a sink that records all calls. If a call violates the contract, the recorder
// returns an error to the source and fails the test.
type recorder struct {
	t *testing.T
	// before, if set, runs before a call is checked, in the stream's goroutine. It may
	// block. The recorder returns an error of this function to the source.
	before func(call string) error
	// ended receives the error of the stream, so that await fails at once if the stream
	// ends.
	ended chan error

	mu         sync.Mutex
	changed    chan struct{}
	identified bool
	listing    bool
	lists      int
	listRV     api.ResourceVersion
	list       []record
	changes    []record
	calls      [][]record // arguments of Changes
	at         api.ResourceVersion
	progress   api.ResourceVersion
	reports    int
}

var _ source.Sink = (*recorder)(nil)

func newRecorder(t *testing.T, from api.ResourceVersion) *recorder {
	return &recorder{t: t, at: from, changed: make(chan struct{}), ended: make(chan error, 1)}
}

// call runs fn under the lock and converts its error to a test failure.
func (r *recorder) call(name string, fn func() error) error {
	if r.before != nil {
		if err := r.before(name); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	err := fn()
	if err != nil {
		r.t.Errorf("%s breaks the contract: %v", name, err)
	}
	close(r.changed)
	r.changed = make(chan struct{})
	return err
}

func (r *recorder) Identify(name string) error {
	return r.call("Identify", func() error {
		if name == "" || r.identified {
			return fmt.Errorf("the source identifies itself as %q, again: %v", name, r.identified)
		}
		r.identified = true
		return nil
	})
}

func (r *recorder) Wanted() <-chan struct{} { return nil }

func (r *recorder) BeginList() error {
	return r.call("BeginList", func() error {
		if r.lists > 0 || r.at != 0 || !r.identified {
			return fmt.Errorf("a list begins at an unexpected time")
		}
		r.listing, r.list = true, nil
		return nil
	})
}

func (r *recorder) Object(key api.Key, rv api.ResourceVersion, value []byte) error {
	return r.call("Object", func() error {
		switch {
		case !r.listing:
			return fmt.Errorf("object %q outside a list", key)
		case len(r.list) > 0 && r.list[len(r.list)-1].Key >= key:
			return fmt.Errorf("object %q after %q", key, r.list[len(r.list)-1].Key)
		case rv == 0:
			return fmt.Errorf("object %q has no revision", key)
		case value == nil:
			return fmt.Errorf("object %q without a value", key)
		}
		r.list = append(r.list, record{Key: key, RV: rv, Marker: marker(value)})
		return nil
	})
}

func (r *recorder) EndList(rv api.ResourceVersion) error {
	return r.call("EndList", func() error {
		if !r.listing || rv == 0 {
			return fmt.Errorf("end at %v of a list that did not begin, or without a revision", rv)
		}
		for _, o := range r.list {
			if o.RV > rv {
				return fmt.Errorf("object %q has revision %v in a list of %v", o.Key, o.RV, rv)
			}
		}
		r.listing, r.listRV, r.at = false, rv, rv
		r.lists++
		return nil
	})
}

func (r *recorder) Changes(changes []source.Change) error {
	return r.call("Changes", func() error {
		if r.listing || r.at == 0 || len(changes) == 0 {
			return fmt.Errorf("%d changes at an unexpected time", len(changes))
		}
		if first := changes[0].ResourceVersion; first <= r.at {
			return fmt.Errorf("revision %v after %v was complete", first, r.at)
		}
		call := make([]record, 0, len(changes))
		for _, c := range changes {
			if c.ResourceVersion < r.at {
				return fmt.Errorf("revision %v after %v", c.ResourceVersion, r.at)
			}
			r.at = c.ResourceVersion
			call = append(call, r.record(c))
		}
		r.calls = append(r.calls, call)
		r.changes = append(r.changes, call...)
		return nil
	})
}

func (r *recorder) record(c source.Change) record {
	if c.Value == nil {
		return record{Key: c.Key, RV: c.ResourceVersion, Deleted: true}
	}
	return record{Key: c.Key, RV: c.ResourceVersion, Marker: marker(c.Value)}
}

func (r *recorder) Progress(rv api.ResourceVersion) error {
	return r.call("Progress", func() error {
		if r.listing || rv < r.at {
			return fmt.Errorf("progress %v after %v", rv, r.at)
		}
		r.at, r.progress = rv, rv
		r.reports++
		return nil
	})
}

// await blocks until a condition, evaluated under the lock, is true.
func (r *recorder) await(what string, condition func() bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		r.mu.Lock()
		ok, changed := condition(), r.changed
		r.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case err := <-r.ended:
			require.FailNow(r.t, "the stream ended before "+what, "%v", err)
		case <-ctx.Done():
			require.FailNow(r.t, "did not occur in time: "+what)
		}
	}
}

// awaitList waits for the end of the list and returns its revision.
func (r *recorder) awaitList() api.ResourceVersion {
	r.t.Helper()
	r.await("the list", func() bool { return r.lists > 0 })
	return r.listRV
}

// awaitRevision waits until everything up to rv has arrived.
func (r *recorder) awaitRevision(rv api.ResourceVersion) {
	r.t.Helper()
	r.await("revision "+rv.String(), func() bool { return r.at >= rv && !r.listing })
}

// got returns the changes so far.
func (r *recorder) got() []record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.changes)
}

// listed returns the records of the objects in the list, in the order in which they arrived.
func (r *recorder) listed() []record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list)
}

// running is a Stream in a separate goroutine. The stream is canceled when the test ends.
type running struct {
	*recorder
	cancel context.CancelFunc
	done   chan struct{}
	err    error // valid after done
}

func stream(t *testing.T, h Harness, resource api.Resource, from api.ResourceVersion) *running {
	return streamTo(t, h, resource, from, newRecorder(t, from))
}

func streamTo(t *testing.T, h Harness, resource api.Resource, from api.ResourceVersion, rec *recorder) *running {
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{recorder: rec, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.err = h.Source.Stream(ctx, resource, from, rec)
		rec.ended <- r.err
	}()
	t.Cleanup(func() { r.stop() })
	return r
}

// stop cancels the stream and returns its error.
func (r *running) stop() error {
	r.cancel()
	return r.wait()
}

// wait waits for the end of the stream and returns its error.
func (r *running) wait() error {
	r.t.Helper()
	select {
	case <-r.done:
		return r.err
	case <-time.After(patience):
		require.FailNow(r.t, "Stream does not return")
		return nil
	}
}
